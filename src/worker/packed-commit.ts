/**
 * A commit as it travels to its object. A batch may have 24 MiB in UTF-8, RPC stops at 32 MiB, and it
 * takes two bytes for every character of a string that holds a single one above U+00FF: all texts go as
 * UTF-8 in one piece. The answer does not send back what the caller has.
 */

import { placeOf } from '../core/boundary.ts'
import { MESSAGE_TYPES, type MessageType } from '../core/message.ts'
import type {
  Commit,
  EventView,
  NewEventRecord,
  SessionRecord,
} from '../core/session-repository.ts'

/** `Commit` with its events packed. */
export interface PackedCommit extends Omit<Commit, 'events'> {
  readonly events: PackedEvents
}

/** Events as one piece of UTF-8 and a table of numbers. */
export interface PackedEvents {
  /** For each event its id, its branch and its body. */
  readonly texts: Uint8Array
  /** For each event {@link NUMBERS} numbers. */
  readonly numbers: readonly number[]
}

/** What a commit led to. */
export interface PackedCommitResult {
  readonly session: SessionRecord
  readonly changed: boolean
  /**
   * For each event of the answer, in its order, the index of the commit's event with its id: the first
   * one, where an id is there twice. There are fewer when the commit's operation was stored before.
   */
  readonly sources: readonly number[]
  /** For each event of the answer its `seq`. */
  readonly seqs: readonly number[]
  /** For each event of the answer its `latestTimestamp`. */
  readonly latestTimestamps: readonly number[]
  /** Positions in the answer of events that are stored otherwise than they were sent. */
  readonly differing: readonly number[]
}

/** Per event: bytes of id, branch (-1: `null`) and body, timestamp, role, synthetic. */
const NUMBERS = 6

export function packEvents(events: readonly NewEventRecord[]): PackedEvents {
  const encoder = new TextEncoder()
  const pieces: Uint8Array[] = []
  const numbers: number[] = []
  const add = (text: string): number => {
    const piece = encoder.encode(text)
    pieces.push(piece)
    return piece.length
  }
  for (const { id, branch, body, timestamp, role, synthetic } of events) {
    numbers.push(add(id), branch === null ? -1 : add(branch), add(body))
    numbers.push(timestamp, MESSAGE_TYPES.indexOf(role), synthetic ? 1 : 0)
  }
  const texts = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let offset = 0
  for (const piece of pieces) {
    texts.set(piece, offset)
    offset += piece.length
  }
  return { texts, numbers }
}

export function unpackEvents({ texts, numbers }: PackedEvents): NewEventRecord[] {
  // A text may begin with U+FEFF, which a decoder otherwise takes for a mark of the encoding.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let offset = 0
  const take = (length: number): string => {
    const text = decoder.decode(texts.subarray(offset, offset + length))
    offset += length
    return text
  }
  const events: NewEventRecord[] = []
  for (let index = 0; index < numbers.length; index += NUMBERS) {
    const [id, branch, body, timestamp, role, synthetic] = numbers.slice(
      index,
      index + NUMBERS,
    ) as [number, number, number, number, number, number]
    events.push({
      id: take(id),
      branch: branch === -1 ? null : take(branch),
      body: take(body),
      timestamp,
      role: MESSAGE_TYPES[role] as MessageType,
      synthetic: synthetic === 1,
    })
  }
  return events
}

/**
 * The answer to a commit.
 *
 * @param readBody gives the body of an event that was stored before.
 */
export function packResult(
  sent: readonly NewEventRecord[],
  result: {
    readonly session: SessionRecord
    readonly changed: boolean
    readonly events: readonly (Omit<EventView, 'body'> & { readonly body: string | null })[]
  },
  readBody: (seq: number) => string | null,
): PackedCommitResult {
  const { session, changed, events } = result
  const firstIndex = new Map<string, number>()
  for (const [index, { id }] of sent.entries()) {
    if (!firstIndex.has(id)) firstIndex.set(id, index)
  }
  const sources = events.map(({ id }) => firstIndex.get(id) as number)
  return {
    session,
    changed,
    sources,
    seqs: events.map(({ seq }) => seq),
    latestTimestamps: events.map(({ latestTimestamp }) => latestTimestamp),
    differing: events.flatMap((event, position) => {
      // One that has its body was just stored, as it was sent.
      if (event.body !== null) return []
      const source = sent[sources[position] as number] as NewEventRecord
      return isSame(source, event, readBody(event.seq)) ? [] : [position]
    }),
  }
}

function isSame(
  sent: NewEventRecord,
  stored: Omit<NewEventRecord, 'body'>,
  body: string | null,
): boolean {
  return (
    sent.body === body &&
    sent.timestamp === stored.timestamp &&
    sent.role === stored.role &&
    sent.branch === stored.branch &&
    sent.synthetic === stored.synthetic
  )
}

/** The events of the answer; those that the caller does not have as they are stored come as their id. */
export function unpackResult(
  sent: readonly NewEventRecord[],
  { session, sources, seqs, latestTimestamps, differing }: PackedCommitResult,
): readonly (EventView | { readonly differingId: string })[] {
  const toRead = new Set(differing)
  return sources.map((source, position) => {
    const event = sent[source] as NewEventRecord
    if (toRead.has(position)) return { differingId: event.id }
    const seq = seqs[position] as number
    const latestTimestamp = latestTimestamps[position] as number
    return { ...event, seq, latestTimestamp, ...placeOf(session.boundary, seq) }
  })
}
