/**
 * Export and import of a session as JSON Lines: a line for the session, then its events and boundaries
 * in the order in which they came about, then a line that counts them. Each line ends with a `check`
 * over itself and the lines before it, so that a damaged file is noticed and the place named. A file
 * that somebody wrote by hand may leave out all of them.
 */

import { describeThrown, describeValue, invalidArgument, reading, SessionError } from './errors.ts'
import { MAX_BATCH_BYTES, type PreparedEvent, prepareEvent } from './event-input.ts'
import { checkId } from './identifiers.ts'
import { toEpochMilliseconds } from './instant.ts'
import type { JsonObject } from './json.ts'
import { normalizeRanges, type SeqRanges } from './seq-ranges.ts'
import type { EventInput, SessionEvent } from './session.ts'
import { encodeMetadata } from './session-record.ts'
import type { Boundary, SessionRecord, SessionRepository } from './session-repository.ts'

const FORMAT = 1

/** Text in pieces of any size: a string, or what a file or a response is read as. */
export type TextInput = string | Iterable<string> | AsyncIterable<string>

/** As whose session, and under which id, a file is stored. */
export interface ImportOptions {
  /** Store the session under another id. Default: the id in the file. */
  readonly sessionId?: string | null | undefined
  /** Whose session it becomes. Default: the service's `defaultUserId`, else the user in the file. */
  readonly userId?: string | null | undefined
}

interface TransferContext {
  readonly repository: SessionRepository
  readonly now: () => number
}

/** The lines of a session, each with its line feed. */
export async function* exportLines(
  { repository, now }: TransferContext,
  sessionId: string,
  portions: AsyncIterable<{
    readonly session: SessionRecord
    readonly events: readonly SessionEvent[]
  }>,
): AsyncGenerator<string> {
  const line = checkedLines()
  let session: SessionRecord | undefined
  let boundaries: readonly Boundary[] = []
  let seq = 0
  let exported = 0
  function* boundariesBefore(next: number): Generator<string> {
    for (let boundary = boundaries[exported]; boundary && boundary.position < next; ) {
      yield line({ type: 'boundary', ...boundary })
      boundary = boundaries[++exported]
    }
  }
  function* until(next: number): Generator<string> {
    // What could not be read keeps its place: later events and the boundaries count on it.
    while (++seq < next) {
      yield* boundariesBefore(seq)
      yield line(placeholder(seq))
    }
    yield* boundariesBefore(seq)
  }
  for await (const { session: source, events } of portions) {
    if (session === undefined) {
      session = source
      const { lastSeq, boundary: newest } = session
      const all = await repository.readBoundaries(sessionId, { now: now() })
      // Only what the first answer saw: an edit that came after it may lie at the same place.
      const end = all.findIndex(({ id }) => id === newest?.id)
      boundaries = all.slice(0, end + 1).filter(({ position }) => position <= lastSeq)
      yield line({
        type: 'session',
        turnlog: FORMAT,
        id: session.id,
        userId: session.userId,
        createdAt: session.createdAt,
        expiresAt: session.expiresAt,
        slidingTimeToLive: session.slidingTimeToLive,
        metadata: JSON.parse(session.metadata),
      })
    }
    for (const { id, timestamp, branch, synthetic, message, metadata, ...event } of events) {
      yield* until(event.seq)
      yield line({
        type: 'event',
        seq,
        id,
        timestamp: timestamp.getTime(),
        branch,
        synthetic,
        message,
        metadata,
      })
    }
  }
  const lastSeq = session?.lastSeq ?? 0
  yield* until(lastSeq + 1)
  yield line({ type: 'end', events: lastSeq, boundaries: exported })
}

function placeholder(seq: number): object {
  const message = { role: 'user', content: '' }
  const metadata = { damaged: true, erased: true }
  return {
    type: 'event',
    seq,
    id: `damaged-${seq}`,
    timestamp: 0,
    branch: null,
    synthetic: false,
    message,
    metadata,
  }
}

/** Makes each value a line that checks itself and those before it. */
function checkedLines(): (value: object) => string {
  let sum = FIRST_SUM
  return (value) => {
    const text = JSON.stringify(value)
    sum = addToSum(sum, text)
    return `${text.slice(0, -1)},"check":"${formatSum(sum)}"}\n`
  }
}

const CHECK = /,"check":"([0-9a-f]{8})"\}$/
const FIRST_SUM = 0x811c9dc5

/** FNV-1a: any change of a single character changes the sum of its line and of all that follow. */
function addToSum(sum: number, text: string): number {
  let result = sum
  for (let index = 0; index < text.length; index++) {
    result = Math.imul(result ^ text.charCodeAt(index), 0x01000193)
  }
  return result
}

function formatSum(sum: number): string {
  return (sum >>> 0).toString(16).padStart(8, '0')
}

/** A file that was read to its end and found whole. */
export interface ParsedSession {
  readonly session: Omit<SessionRecord, 'number'>
  readonly steps: readonly ImportStep[]
}

/** Events, and the boundary that was committed with them, if it was one. */
export interface ImportStep {
  readonly events: readonly PreparedEvent[]
  readonly boundary: Boundary | null
}

/**
 * Reads a whole file, so that nothing is stored of one that breaks off.
 *
 * @throws SessionError `INVALID_IMPORT` naming the line; `INVALID_ARGUMENT` when there is nothing to read.
 */
export async function parseSession(input: TextInput): Promise<ParsedSession> {
  checkInput(input)
  let session: Omit<SessionRecord, 'number'> | null = null
  const steps: ImportStep[] = []
  const ids = new Set<string>()
  let pending: PreparedEvent[] = []
  let seq = 0
  let boundaries = 0
  let ended = false
  let sum: number | null = FIRST_SUM
  const parseLine = (content: string) => {
    const check = CHECK.exec(content)
    const unchecked = check === null ? content : `${content.slice(0, check.index)}}`
    if (session === null && check === null) sum = null
    if (check !== null && sum !== null) {
      sum = addToSum(sum, unchecked)
      expect(formatSum(sum) === check[1], 'is damaged, or a line before it is missing')
    }
    // A line that is cut off has lost its check as well: that it is no JSON says more.
    const record = readObject(JSON.parse(unchecked), 'it')
    expect((check === null) === (sum === null), 'differs from the first in having a check')
    expect(!ended, 'comes after the end')
    if (record['type'] === 'session') {
      expect(session === null, 'is a second session')
      session = parseHead(record)
    } else if (record['type'] === 'event') {
      expect(session !== null, 'comes before the session')
      const event = parseEvent(record)
      seq++
      expect(record['seq'] === seq, `has seq ${String(record['seq'])} in place of ${seq}`)
      expect(!ids.has(event.record.id), `repeats the id "${event.record.id}"`)
      ids.add(event.record.id)
      pending.push(event)
    } else if (record['type'] === 'boundary') {
      const boundary = parseBoundary(record)
      const before = pending.length - boundary.appended
      expect(session !== null && boundary.position === seq, 'is a boundary at another place')
      expect(before >= 0, 'is a boundary with more events than there are')
      boundaries++
      steps.push({ events: pending.slice(0, before), boundary: null })
      steps.push({ events: pending.slice(before), boundary })
      pending = []
    } else {
      expect(record['type'] === 'end', 'is of an unknown type')
      expect(record['events'] === seq, `counts ${String(record['events'])} events, not ${seq}`)
      expect(record['boundaries'] === boundaries, 'counts the boundaries otherwise')
      ended = true
    }
  }
  let line = 1
  try {
    for await (const text of linesOf(input)) {
      const content = text.trim()
      if (content !== '') parseLine(content)
      line++
    }
    expect(session !== null && ended, 'is missing: the file breaks off')
    steps.push({ events: pending, boundary: null })
  } catch (error) {
    throw new SessionError(
      'INVALID_IMPORT',
      `line ${line} ${error instanceof SessionError ? error.message : `is not readable: ${describeThrown(error)}`}`,
      { cause: error, details: { line } },
    )
  }
  return { session: session as Omit<SessionRecord, 'number'>, steps }
}

function checkInput(input: unknown): void {
  const isReadable = reading('INVALID_ARGUMENT', 'input', () => {
    if (typeof input !== 'object' || input === null) return typeof input === 'string'
    return Symbol.asyncIterator in input || Symbol.iterator in input
  })
  if (!isReadable) {
    throw invalidArgument('input', `must be text or pieces of it, not ${describeValue(input)}`)
  }
}

function readObject(value: unknown, what: string): JsonObject {
  expect(
    typeof value === 'object' && value !== null && !Array.isArray(value),
    `is no session's: ${what} must be an object`,
  )
  return value as JsonObject
}

function expect(condition: boolean, problem: string): asserts condition {
  if (!condition) throw new SessionError('INVALID_IMPORT', problem)
}

function parseHead(record: JsonObject): Omit<SessionRecord, 'number'> {
  const {
    type,
    turnlog,
    id,
    userId,
    createdAt,
    expiresAt,
    slidingTimeToLive,
    metadata,
    ...unknown
  } = record
  expect(turnlog === FORMAT, `is of format ${String(turnlog)}; this version reads ${FORMAT}`)
  expect(typeof id === 'string' && typeof userId === 'string', 'lacks an id or a user id')
  expect(isTime(createdAt) && (expiresAt === null || isTime(expiresAt)), 'has no valid times')
  const isLifetime = isTime(slidingTimeToLive) && slidingTimeToLive > 0
  expect(slidingTimeToLive === null || isLifetime, 'has no valid lifetime')
  expectNothing(unknown)
  return {
    id: checkId(id, 'id'),
    userId: checkId(userId, 'userId'),
    createdAt,
    expiresAt,
    slidingTimeToLive,
    metadata: encodeMetadata(readObject(metadata, 'metadata')),
    lastSeq: 0,
    version: 0,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
}

/** What this version does not know would be lost. */
function expectNothing(unknown: JsonObject): void {
  for (const key of Object.keys(unknown)) expect(false, `has the unknown field "${key}"`)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && toEpochMilliseconds(value) === value
}

function parseEvent(record: JsonObject): PreparedEvent {
  const { type, seq, id, timestamp, branch, synthetic, message, metadata, ...unknown } =
    record as JsonObject & EventInput
  expect(typeof id === 'string' && isTime(timestamp), 'lacks an id or a timestamp')
  expectNothing(unknown as JsonObject)
  return prepareEvent(
    { message, metadata, branch, synthetic, timestamp },
    { sessionId: '', id, now: 0, path: 'event' },
  )
}

function parseBoundary(record: JsonObject): Boundary {
  const { type, id, position, summaries, kept, rewound, appended, createdAt, ...unknown } = record
  expect(typeof id === 'string' && isTime(createdAt), 'lacks an id or a time')
  expectNothing(unknown)
  expect(Number.isSafeInteger(position) && (position as number) >= 0, 'has no valid position')
  expect(Number.isSafeInteger(appended) && (appended as number) >= 0, 'has no valid count')
  const isSeq = (seq: unknown) =>
    Number.isSafeInteger(seq) && (seq as number) >= 1 && (seq as number) <= (position as number)
  expect(Array.isArray(summaries) && summaries.every(isSeq), 'has no valid summaries')
  expect(new Set(summaries).size === summaries.length, 'has a summary twice')
  for (const ranges of [kept, rewound]) {
    expect(
      Array.isArray(ranges) &&
        ranges.every((range) => Array.isArray(range) && range.length === 2 && range.every(isSeq)) &&
        JSON.stringify(normalizeRanges(ranges as unknown as SeqRanges)) === JSON.stringify(ranges),
      'has no valid ranges',
    )
  }
  return {
    id: checkId(id, 'id'),
    position: position as number,
    summaries: summaries as number[],
    kept: kept as unknown as SeqRanges,
    rewound: rewound as unknown as SeqRanges,
    appended: appended as number,
    createdAt,
  }
}

async function* linesOf(input: TextInput): AsyncGenerator<string> {
  let pieces: string[] = []
  for await (const chunk of typeof input === 'string' ? [input] : input) {
    expect(typeof chunk === 'string', 'is not text: decode bytes first')
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      pieces.push(chunk.slice(start, end))
      yield pieces.join('')
      pieces = []
      start = end + 1
    }
    pieces.push(chunk.slice(start))
  }
  const rest = pieces.join('')
  if (rest !== '') yield rest
}

/** How many events go into one commit. */
const IMPORT_BATCH = 1000

/**
 * Replays a parsed session in the order in which it came about. Every step is idempotent by its ids, so
 * that an import that was interrupted can be repeated.
 */
export async function replaySession(
  { repository, now }: TransferContext,
  { id: sessionId, number: expectedSession }: SessionRecord,
  steps: readonly ImportStep[],
): Promise<void> {
  const ids = steps.flatMap(({ events }) => events.map(({ record }) => record.id))
  for (const { events, boundary } of steps) {
    if (boundary === null) {
      for (const batch of batches(events)) {
        await repository.commit(sessionId, {
          now: now(),
          expectedSession,
          events: batch.map(({ record }) => record),
        })
      }
      continue
    }
    await repository.commit(sessionId, {
      now: now(),
      expectedSession,
      operationId: boundary.id,
      events: events.map(({ record }) => record),
      boundary: {
        summaries: boundary.summaries.map((seq) => ids[seq - 1] as string),
        kept: boundary.kept,
        through: boundary.position - events.length,
        rewound: boundary.rewound,
      },
    })
  }
}

function* batches(events: readonly PreparedEvent[]): Generator<readonly PreparedEvent[]> {
  let batch: PreparedEvent[] = []
  let bytes = 0
  for (const event of events) {
    if (batch.length >= IMPORT_BATCH || bytes + event.bytes > MAX_BATCH_BYTES) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(event)
    bytes += event.bytes
  }
  if (batch.length > 0) yield batch
}

/** Whether the stored log and the file are the same up to the end of the shorter one. */
export async function isSameLog(
  { repository, now }: TransferContext,
  { id: sessionId, lastSeq }: SessionRecord,
  steps: readonly ImportStep[],
  portions: AsyncIterable<readonly SessionEvent[]>,
): Promise<boolean> {
  const ids = steps.flatMap(({ events }) => events.map(({ record }) => record.id))
  const boundaries = steps.flatMap(({ boundary }) => boundary ?? [])
  const stored = await repository.readBoundaries(sessionId, { now: now() })
  for (const [index, boundary] of boundaries.entries()) {
    const storedId = stored[index]?.id
    // One that is still to come must find the log as long as it was when it was written.
    const mayFollow = storedId === undefined && lastSeq <= boundary.position - boundary.appended
    if (storedId !== boundary.id && !mayFollow) return false
  }
  const [next] = stored.slice(boundaries.length)
  if (next !== undefined && next.position < ids.length) return false
  for await (const events of portions) {
    if (events.some(({ seq, id }) => seq <= ids.length && id !== ids[seq - 1])) return false
  }
  return true
}
