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
  NewEventRecord,
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
  /** What finds matches without reading every event, where there is such a thing. */
  readonly index?: LogIndex | undefined
}

/** An index over the older part of a log. */
export interface LogIndex {
  /** It is asked when at least this many of the events to look at are in it. */
  readonly worthwhile: number
  /** Events up to this `seq` are in it. */
  readonly through: number
  /**
   * Where `filter` may match within `ranges`, which ascend: portion by portion in their order, or from
   * the end. Whether an event is archived or rewound is not for the index to say. `wanted` is how many
   * matches will do, `null` all.
   */
  match(
    filter: EventFilter,
    ranges: SeqRanges,
    backwards: boolean,
    wanted: number | null,
  ): AsyncIterable<IndexPortion>
}

/** What an index found in a part of a log. */
export interface IndexPortion {
  /** In ascending order, also when looking backwards. */
  readonly seqs: readonly number[]
  /** `false`: an event may be among them that does not match. */
  readonly certain: boolean
  /** The part that was looked at, up to here (backwards: down to here) included. */
  readonly covered: number
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

/** Visits every match of `filter` within a range, in order, without `lastN` and paging; gives the damage met on the way. */
export async function visitMatches(
  source: LogSource,
  session: SessionRecord,
  filter: EventFilter,
  visit: (event: EventView) => void,
  range: SeqRange,
): Promise<readonly Damage[]> {
  const walk: Walk = { source, filter, boundary: session.boundary, damage: [] }
  const candidates = await candidateRanges(source, session, filter, range)
  for await (const portion of portionsOf(walk, candidates, false, () => null)) {
    for await (const event of readMatches(walk, portion.candidates)) visit(event)
  }
  return walk.damage
}

async function startReading(walk: Walk, session: SessionRecord, afterSeq: number): Promise<Found> {
  const { filter } = walk
  const range: SeqRange = [afterSeq + 1, session.lastSeq]
  const candidates = await candidateRanges(walk.source, session, filter, range)
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
interface Found {
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
  [first, last]: SeqRange,
): Promise<readonly SeqRange[]> {
  let ranges = filter.excludeArchived
    ? viewRanges(session.boundary, session.lastSeq)
    : viewRanges(null, session.lastSeq)
  if (filter.excludeRewound && !filter.excludeArchived) {
    ranges = [...subtractRanges(ranges, session.boundary?.rewound ?? [])]
  }
  ranges = intersectInOrder(ranges, [[first, last]])
  // A few events are looked at sooner than a time is found.
  if ((filter.from !== null || filter.to !== null) && countRanges(ranges) > FIRST_BATCH) {
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
  const from = filter.from?.getTime() ?? -Infinity
  const to = filter.to?.getTime() ?? Infinity
  if (from > to || session.lastSeq === 0) return []
  // An unreadable record says nothing: then the lowest and the highest that it can be.
  const firstAbove = async (isAbove: (timestamp: number) => boolean): Promise<SeqRange> => {
    let low = 1
    let high = session.lastSeq + 1
    while (low < high) {
      const middle = (low + high) >> 1
      const timestamp = await source.latestTimestampAt(middle)
      if (timestamp === null) break
      if (isAbove(timestamp)) high = middle
      else low = middle + 1
    }
    return [low, high]
  }
  const [first] = from === -Infinity ? [1] : await firstAbove((time) => time >= from)
  const [, end] = to === Infinity ? [0, session.lastSeq + 1] : await firstAbove((time) => time > to)
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
): Promise<Found> {
  let events: EventView[] = []
  let units = 0
  const missing = () => count - events.length
  for await (const portion of joinCertain(
    portionsOf(walk, candidates, true, missing),
    true,
    missing,
  )) {
    let unread = countRanges(portion.candidates)
    while (unread > 0 && missing() > 0) {
      // Of those that match for certain no more than are missing; some may be damaged, then the ones before.
      const start = portion.certain ? Math.max(0, unread - missing()) : 0
      const batch: EventView[] = []
      for await (const event of readMatches(walk, sliceRanges(portion.candidates, start, unread))) {
        units += unitsOf(event)
        // Once the answer is over-full, only the places are kept, and read again portion by portion.
        batch.push(units > ANSWER_UNITS ? { ...event, body: '' } : event)
      }
      events = [...batch, ...events].slice(-count)
      unread = start
    }
    if (missing() === 0) break
  }
  if (units <= ANSWER_UNITS) return { events, next: null }
  const remaining = events.map(({ seq }): SeqRange => [seq, seq])
  return collect(walk, { remaining, skip: 0, take: null })
}

/** About how much of an answer an event takes. Tiny events with long ids count as well. */
export function unitsOf({ body, id, branch }: NewEventRecord): number {
  return body.length + id.length + (branch?.length ?? 0) + ENVELOPE_UNITS
}

/** Reads on from `rest` until it is done or the answer is full. */
async function collect(walk: Walk, rest: Rest): Promise<Found> {
  const events: EventView[] = []
  let { skip, take } = rest
  // A cursor comes from outside.
  if (take === 0) return { events, next: null }
  let units = 0
  const missing = () => (take === null ? null : skip + take)
  const portions = portionsOf(walk, rest.remaining, false, missing)
  for await (const { candidates, certain, end } of joinCertain(portions, false, missing)) {
    const skipped = certain ? Math.min(skip, countRanges(candidates)) : 0
    skip -= skipped
    const wanted = sliceRanges(candidates, skipped, Infinity)
    for await (const event of readMatches(walk, wanted, certain ? take : null)) {
      if (skip > 0) {
        skip--
        continue
      }
      if (units > 0 && units + unitsOf(event) > ANSWER_UNITS) {
        const unread = from(wanted, event.seq)
        return {
          events,
          next: {
            remaining: [...unread, ...sliceRanges(rest.remaining, end, Infinity)],
            skip,
            take,
          },
        }
      }
      events.push(event)
      units += unitsOf(event)
      if (take !== null && --take === 0) return { events, next: null }
    }
  }
  return { events, next: null }
}

/** The part of `ranges` that begins with `seq`. */
function from(ranges: readonly SeqRange[], seq: number): readonly SeqRange[] {
  const index = ranges.findIndex(([first, last]) => first <= seq && seq <= last)
  return ranges
    .slice(index)
    .map(([first, last], place) => (place === 0 ? [seq, last] : [first, last]))
}

/** Events to look at next. */
interface Portion {
  /** In order, also when looking backwards. */
  readonly candidates: readonly SeqRange[]
  /** Whether all of them are known to match. */
  readonly certain: boolean
  /** How many of all events to look at are done with after this portion. */
  readonly end: number
}

/** How many more matches will do, `null` all. */
type Missing = () => number | null

/** Joins portions that match for certain until they hold what is missing: one read instead of several. */
async function* joinCertain(
  portions: AsyncIterable<Portion>,
  backwards: boolean,
  missing: Missing,
): AsyncGenerator<Portion> {
  let joined: Portion | null = null
  for await (const portion of portions) {
    if (joined !== null && !portion.certain) {
      yield joined
      joined = null
    }
    const before: readonly SeqRange[] = joined?.candidates ?? []
    const { candidates } = portion
    joined = {
      ...portion,
      candidates: backwards ? [...candidates, ...before] : [...before, ...candidates],
    }
    if (portion.certain && countRanges(joined.candidates) < (missing() ?? 0)) continue
    yield joined
    joined = null
  }
  if (joined !== null) yield joined
}

/**
 * Cuts the events to look at into portions: by the index where there is one and it helps, else by
 * number.
 */
async function* portionsOf(
  walk: Walk,
  ranges: readonly SeqRange[],
  backwards: boolean,
  missing: Missing,
): AsyncGenerator<Portion> {
  const { source, filter } = walk
  const total = countRanges(ranges)
  if (!hasPredicate(filter)) {
    yield { candidates: ranges, certain: true, end: total }
    return
  }
  const { index } = source
  const isIndexed =
    index !== undefined &&
    countRanges(intersectInOrder(ranges, [[1, index.through]])) >= index.worthwhile &&
    (filter.foldedTerms.length > 0 ||
      filter.messageTypes !== null ||
      filter.excludeSynthetic ||
      filter.branch !== null)
  let done = 0
  // What is too new for the index is looked at at once: mostly it is searched in vain.
  let size =
    isIndexed && filter.foldedTerms.length > 0
      ? LARGEST_BATCH
      : Math.max(FIRST_BATCH, missing() ?? 0)
  size = Math.min(LARGEST_BATCH, size)
  const slice = (start: number, end: number) =>
    backwards ? sliceRanges(ranges, total - end, total - start) : sliceRanges(ranges, start, end)
  // Without keywords the first events that are looked at often are the answer already.
  let scans = isIndexed ? (filter.foldedTerms.length > 0 ? 0 : 2) : Infinity
  while (done < total) {
    const ahead = slice(done, total)
    const sealed =
      scans > 0 || index === undefined ? [] : sealedPart(ahead, index.through, backwards)
    if (sealed.length > 0 && index !== undefined) {
      const before = done
      const count = countRanges(sealed)
      const portions = index.match(filter, sealed, backwards, missing())
      for await (const { seqs, certain, covered } of portions) {
        const rest = intersectRanges(
          sealed,
          backwards ? [[1, covered - 1]] : [[covered + 1, Infinity]],
        )
        done = before + count - countRanges(rest)
        yield { candidates: rangesOf(seqs), certain, end: done }
      }
      done = before + count
      continue
    }
    const end = Math.min(total, done + size)
    const batch = slice(done, end)
    // What is in the index is left to it.
    const scanned =
      scans > 0 || index === undefined ? batch : unsealedPart(batch, index.through, backwards)
    const candidates = scanned.length > 0 ? scanned : batch
    done += countRanges(candidates)
    yield { candidates, certain: false, end: done }
    scans--
    size = Math.min(LARGEST_BATCH, size * 2)
  }
}

/** The ranges that come first (backwards: last) and lie within the index, as long as they ascend. */
function sealedPart(ranges: readonly SeqRange[], through: number, backwards: boolean): SeqRanges {
  const part: SeqRange[] = []
  const ordered = backwards ? [...ranges].reverse() : ranges
  let edge = backwards ? Infinity : 0
  for (const [first, last] of ordered) {
    if (backwards ? last > through || last >= edge : first > through || first <= edge) break
    part.push([first, Math.min(last, through)])
    edge = backwards ? first : last
    if (last > through) break
  }
  return normalizeRanges(part)
}

/** What comes first (backwards: last) and lies outside the index. */
function unsealedPart(
  ranges: readonly SeqRange[],
  through: number,
  backwards: boolean,
): readonly SeqRange[] {
  const part: SeqRange[] = []
  for (const [first, last] of backwards ? [...ranges].reverse() : ranges) {
    if (backwards ? last <= through : first <= through) break
    part.push([Math.max(first, through + 1), last])
    if (first <= through) break
  }
  return backwards ? part.reverse() : part
}

/**
 * The events of `ranges` that match, in order; what cannot be read is noted as damage. Reads no further
 * than it is asked to, `atOnce` at a time.
 */
async function* readMatches(
  walk: Walk,
  ranges: readonly SeqRange[],
  atOnce: number | null = null,
): AsyncGenerator<EventView> {
  const size = Math.max(1, Math.min(LARGEST_BATCH, atOnce ?? LARGEST_BATCH))
  for (let remaining = ranges; remaining.length > 0; ) {
    const batch = sliceRanges(remaining, 0, size)
    const records = await walk.source.read(batch)
    let position = 0
    let index = 0
    const isOver = () => records.length > 0 && index >= records.length
    for (const [first, last] of batch) {
      for (let seq = first; seq <= last && !isOver(); seq++, position++) {
        const record = records[index]
        // A source may stop early after a record; with none at all, all are missing.
        if (record?.seq !== seq) {
          walk.damage.push({ seq, reason: 'the record is missing' })
          continue
        }
        index++
        if ('reason' in record) {
          walk.damage.push(record)
          continue
        }
        const event = matchRecord(walk, record)
        if (event !== null) yield event
      }
    }
    remaining = sliceRanges(remaining, position, Infinity)
  }
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
