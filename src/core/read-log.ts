/**
 * What a read returns: the rules of reading, shared by every store. A store only says how to fetch
 * records by `seq`; which of them, in which order and how many is decided here.
 */

import { placeOf, viewRanges } from './boundary.ts'
import { EventFilter } from './event-filter.ts'
import type { Message } from './message.ts'
import {
  countRanges,
  intersectRanges,
  normalizeRanges,
  rangesOf,
  type SeqRange,
  type SeqRanges,
  sliceRanges,
  subtractRanges,
} from './seq-ranges.ts'
import type {
  Boundary,
  Damage,
  EventRecord,
  EventView,
  ReadAnswer,
  ReadRequest,
  SessionRecord,
} from './session-repository.ts'

/** The log of one session, as a store offers it to {@link readLog}; all in one transaction where it can. */
export interface LogSource {
  /**
   * The records of `ranges`, in that order. May stop early to bound memory, after at least one record;
   * records that cannot be read are given as `Damage`, missing ones left out.
   */
  read(ranges: readonly SeqRange[]): Promise<readonly (EventRecord | Damage)[]>
  /** The `latestTimestamp` of the event at `seq`, `null` when that cannot be read. */
  latestTimestampAt(seq: number): Promise<number | null>
  /** The `seq`s of events whose timestamp is in the range and below their `latestTimestamp`. */
  lateSeqs(from: number, to: number): Promise<readonly number[]>
}

/** An answer ends at about this many UTF-16 units of events (Durable Object RPC stops at 32 MiB). */
export const ANSWER_UNITS = 4 << 20
/** What an event takes in an answer besides its texts: field names, numbers and flags. */
const ENVELOPE_UNITS = 128
const FIRST_BATCH = 32
const LARGEST_BATCH = 512

/** Reads a log by the rules of `EventFilter`; see `SessionRepository.readEvents`. */
export async function readLog(
  source: LogSource,
  session: SessionRecord,
  request: ReadRequest,
): Promise<ReadAnswer> {
  const filter = EventFilter.fromJSON(request.filter)
  const boundary = request.cursor === undefined ? session.boundary : request.cursor.boundary
  const walk: Walk = { source, filter, boundary, damage: [] }
  const { events, next } =
    request.cursor === undefined
      ? await startReading(walk, session, request.afterSeq ?? 0)
      : await collect(walk, request.cursor)
  return {
    session,
    events,
    damage: walk.damage,
    next: next === null ? null : { boundary, ...next },
  }
}

/** Visits every match of `filter` in order, without `lastN` and paging; gives the damage met on the way. */
export async function visitMatches(
  source: LogSource,
  session: SessionRecord,
  filter: EventFilter,
  visit: (event: EventView) => void,
): Promise<readonly Damage[]> {
  const walk: Walk = { source, filter, boundary: session.boundary, damage: [] }
  const candidates = await candidateRanges(source, session, filter, 0)
  await forEachMatch(walk, candidates, (event) => {
    visit(event)
    return true
  })
  return walk.damage
}

async function startReading(
  walk: Walk,
  session: SessionRecord,
  afterSeq: number,
): Promise<Portion> {
  const { filter } = walk
  const candidates = await candidateRanges(walk.source, session, filter, afterSeq)
  if (!hasPredicate(filter)) {
    return collect(walk, { remaining: sliceByPosition(filter, candidates), skip: 0, take: null })
  }
  if (filter.lastN !== null) return collectNewest(walk, candidates, filter.lastN)
  const { page, pageSize } = filter
  const skip = pageSize === null ? 0 : (page ?? 0) * pageSize
  return collect(walk, { remaining: candidates, skip, take: pageSize })
}

interface Walk {
  readonly source: LogSource
  readonly filter: EventFilter
  readonly boundary: Boundary | null
  readonly damage: Damage[]
}

interface Rest {
  readonly remaining: readonly SeqRange[]
  readonly skip: number
  readonly take: number | null
}

/** A part of an answer, and what is left. */
interface Portion {
  readonly events: readonly EventView[]
  readonly next: Rest | null
}

/** Whether single events have to be looked at to know whether they match. */
function hasPredicate(filter: EventFilter): boolean {
  return (
    filter.from !== null ||
    filter.to !== null ||
    filter.messageTypes !== null ||
    filter.excludeSynthetic ||
    filter.branch !== null ||
    filter.foldedTerms.length > 0
  )
}

async function candidateRanges(
  source: LogSource,
  session: SessionRecord,
  filter: EventFilter,
  afterSeq: number,
): Promise<readonly SeqRange[]> {
  let ranges = filter.excludeArchived
    ? viewRanges(session.boundary, session.lastSeq)
    : viewRanges(null, session.lastSeq)
  if (filter.excludeRewound && !filter.excludeArchived) {
    ranges = [...subtractRanges(ranges, session.boundary?.rewound ?? [])]
  }
  if (afterSeq > 0) ranges = intersectInOrder(ranges, [[afterSeq + 1, session.lastSeq]])
  if (ranges.length > 0 && (filter.from !== null || filter.to !== null)) {
    ranges = intersectInOrder(ranges, await timeRanges(source, session, filter))
  }
  return ranges
}

function intersectInOrder(ranges: readonly SeqRange[], others: SeqRanges): SeqRange[] {
  return ranges.flatMap((range) => intersectRanges([range], others))
}

/**
 * Where events of a time range can be. `latestTimestamp` never falls along the log, so the events that
 * came in order form one run, found by binary search; those that came late are listed by the store.
 */
async function timeRanges(
  source: LogSource,
  session: SessionRecord,
  filter: EventFilter,
): Promise<SeqRanges> {
  const from = filter.from?.getTime() ?? Number.NEGATIVE_INFINITY
  const to = filter.to?.getTime() ?? Number.POSITIVE_INFINITY
  if (from > to || session.lastSeq === 0) return []
  const firstAbove = async (isAbove: (timestamp: number) => boolean): Promise<number> => {
    let low = 1
    let high = session.lastSeq + 1
    while (low < high) {
      const middle = (low + high) >> 1
      const timestamp = await source.latestTimestampAt(middle)
      // An unreadable record says nothing: reading a little more than needed stays right.
      if (timestamp === null) return low
      if (isAbove(timestamp)) high = middle
      else low = middle + 1
    }
    return low
  }
  const first = from === Number.NEGATIVE_INFINITY ? 1 : await firstAbove((time) => time >= from)
  const end =
    to === Number.POSITIVE_INFINITY ? session.lastSeq + 1 : await firstAbove((time) => time > to)
  const late = await source.lateSeqs(from, to)
  return normalizeRanges([[first, end - 1], ...rangesOf(late)])
}

/** The part of `ranges` that `lastN` or a page keeps when every candidate matches. */
function sliceByPosition(filter: EventFilter, ranges: readonly SeqRange[]): readonly SeqRange[] {
  const count = countRanges(ranges)
  if (filter.lastN !== null) return sliceRanges(ranges, Math.max(0, count - filter.lastN), count)
  if (filter.pageSize === null) return ranges
  const start = (filter.page ?? 0) * filter.pageSize
  return sliceRanges(ranges, start, Math.min(count, start + filter.pageSize))
}

/** The last `count` matches of `candidates`, found from the end. */
async function collectNewest(
  walk: Walk,
  candidates: readonly SeqRange[],
  count: number,
): Promise<Portion> {
  let events: EventView[] = []
  const found: SeqRange[] = []
  let units = 0
  let end = countRanges(candidates)
  for (let size = firstBatch(count); end > 0 && found.length < count; size = nextBatch(size)) {
    const start = Math.max(0, end - size)
    const batch: EventView[] = []
    await forEachMatch(walk, sliceRanges(candidates, start, end), (event) => {
      units += unitsOf(event)
      // Once the answer is over-full, only the places are kept, and read again portion by portion.
      batch.push(units > ANSWER_UNITS ? { ...event, body: '' } : event)
      return true
    })
    events = [...batch, ...events]
    found.unshift(...batch.map(({ seq }): SeqRange => [seq, seq]))
    end = start
  }
  return units > ANSWER_UNITS
    ? collect(walk, { remaining: found.slice(-count), skip: 0, take: null })
    : { events: events.slice(-count), next: null }
}

/** About how much of an answer an event takes. Tiny events with long ids count as well. */
export function unitsOf({ body, id, branch }: EventView): number {
  return body.length + id.length + (branch?.length ?? 0) + ENVELOPE_UNITS
}

/** Reads on from `rest` until it is done or the answer is full. */
async function collect(walk: Walk, rest: Rest): Promise<Portion> {
  const events: EventView[] = []
  let { skip, take } = rest
  let units = 0
  const remaining = await forEachMatch(walk, rest.remaining, (event) => {
    if (skip > 0) {
      skip--
      return true
    }
    if (units > 0 && units + unitsOf(event) > ANSWER_UNITS) return false
    events.push(event)
    units += unitsOf(event)
    if (take !== null) take--
    return take !== 0
  })
  const done = remaining.length === 0 || take === 0
  return { events, next: done ? null : { remaining, skip, take } }
}

/**
 * Calls `visit` for each match in order until it returns `false`; gives what is left, starting with the
 * event that was not taken.
 */
async function forEachMatch(
  walk: Walk,
  ranges: readonly SeqRange[],
  visit: (event: EventView) => boolean,
): Promise<readonly SeqRange[]> {
  let remaining = ranges
  for (let size = FIRST_BATCH; remaining.length > 0; size = nextBatch(size)) {
    const batch = sliceRanges(remaining, 0, hasPredicate(walk.filter) ? size : LARGEST_BATCH)
    const records = await walk.source.read(batch)
    const lastSeq = records.at(-1)?.seq
    let position = 0
    let index = 0
    for (const [first, last] of batch) {
      for (let seq = first; seq <= last; seq++, position++) {
        const record = records[index]
        if (record?.seq !== seq) {
          // After the last record the source may only have stopped early; with none, all are missing.
          if (index >= records.length && lastSeq !== undefined) break
          walk.damage.push({ seq, reason: 'the record is missing' })
          continue
        }
        index++
        if ('reason' in record) {
          walk.damage.push(record)
          continue
        }
        const event = matchRecord(walk, record)
        if (event !== null && !visit(event)) return sliceRanges(remaining, position, Infinity)
      }
      if (index >= records.length && lastSeq !== undefined) break
    }
    remaining = sliceRanges(remaining, position, Infinity)
  }
  return remaining
}

function matchRecord(walk: Walk, record: EventRecord): EventView | null {
  const event = { ...record, ...placeOf(walk.boundary, record.seq) }
  if (!walk.filter.matchesEnvelope(event, record.role)) return null
  if (walk.filter.foldedTerms.length === 0) return event
  const message = parseMessage(record.body)
  if (message === null) {
    walk.damage.push({ seq: record.seq, reason: 'the message is not readable' })
    return null
  }
  return walk.filter.matchesText(message) ? event : null
}

/** The message of a stored body, `null` when it is damaged. */
export function parseMessage(body: string): Message | null {
  try {
    const { message } = JSON.parse(body) as { message: Message }
    return typeof message === 'object' && message !== null ? message : null
  } catch {
    return null // damage, which the caller reports
  }
}

function firstBatch(wanted: number): number {
  return Math.min(LARGEST_BATCH, Math.max(FIRST_BATCH, wanted))
}

function nextBatch(size: number): number {
  return Math.min(LARGEST_BATCH, size * 2)
}
