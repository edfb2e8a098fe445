/** From the records of the seam to those of the database, and back. */

import type { MessageType } from '../../core/message.ts'
import { listTime } from '../../core/session-record.ts'
import type { Damage, EventRecord, SessionRecord } from '../../core/session-repository.ts'
import type { StoredBlock } from '../../search/block.ts'
import type {
  StoredBlockRecord,
  StoredBody,
  StoredEvent,
  StoredHead,
  StoredSession,
} from './schema.ts'

/**
 * A longer body, in UTF-16 units, is kept in `bodies`. So a few hundred events can be read at once
 * without knowing how large they are, and an unreadable value of the browser's costs one body and not the
 * request for its neighbours: Chromium keeps values from 64 KiB on in files of their own, and a unit may
 * take two bytes.
 */
export const LONG_BODY = 24 << 10

/** Tells what is written now from what was there before. */
export function newStamp(): number {
  return Math.random()
}

/** The session's two records. */
export function toStoredSession(
  session: SessionRecord,
  sealedSeq: number,
  stamp = newStamp(),
): { readonly stored: StoredSession; readonly head: StoredHead } {
  const { lastSeq, version, lastEventAt, latestTimestamp, boundary, ...own } = session
  const { number, userId } = own
  return {
    stored: { ...own, stamp },
    head: {
      number,
      stamp,
      lastSeq,
      version,
      lastEventAt,
      latestTimestamp,
      boundary,
      ...(sealedSeq === 0 ? {} : { sealedSeq }),
      recency: [userId, -listTime(session, 'recent'), -number],
    },
  }
}

export function fromStoredSession(
  { stamp, ...stored }: StoredSession,
  { stamp: sameStamp, sealedSeq, recency, tail, ...head }: StoredHead,
): SessionRecord {
  return { ...stored, ...head }
}

/** Events up to this `seq` are in blocks. */
export function sealedSeqOf(head: Pick<StoredHead, 'sealedSeq'>): number {
  return head.sealedSeq ?? 0
}

/** Whether a head can be used: it is one record, and without it a session would be lost. */
export function isIntactHead(head: StoredHead | undefined): head is StoredHead {
  return (
    head !== undefined &&
    Number.isSafeInteger(head.lastSeq) &&
    Number.isSafeInteger(head.version) &&
    Number.isSafeInteger(sealedSeqOf(head)) &&
    Array.isArray(head.recency) &&
    (head.boundary === null ||
      (Array.isArray(head.boundary?.kept) &&
        Array.isArray(head.boundary.summaries) &&
        Array.isArray(head.boundary.rewound)))
  )
}

/**
 * The id of an event as it is stored, behind its session's number: an index over one field costs an
 * append much less than one over two.
 */
export function toStoredId(session: number, id: string): string {
  return `${session}:${id}`
}

/** The event's record, and its body's when that is long. */
export function toStoredEvent(
  session: number,
  event: EventRecord,
): { readonly stored: StoredEvent; readonly body: StoredBody | null } {
  const { seq, id, timestamp, role, branch, synthetic, latestTimestamp, body } = event
  const isLong = body.length > LONG_BODY
  return {
    stored: {
      session,
      seq,
      id: toStoredId(session, id),
      timestamp,
      role,
      ...(branch === null ? {} : { branch }),
      ...(synthetic ? { synthetic } : {}),
      ...(latestTimestamp === timestamp ? {} : { latestTimestamp }),
      ...(isLong ? { bodyLength: body.length } : { body }),
    },
    body: isLong ? { session, seq, body } : null,
  }
}

/** The record of a block, but for its number. */
export function toBlockRecord({ entries, text }: StoredBlock): Omit<StoredBlockRecord, 'number'> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is Latin-1 itself
  if (/^[\x00-\xff]*$/.test(text)) return { entries, text }
  const bytes = new TextEncoder().encode(text)
  return { entries, text: bytes.length < 2 * text.length ? bytes : text }
}

/** A text may begin with a byte order mark, which is a character like any other here. */
const UTF_8 = new TextDecoder('utf-8', { ignoreBOM: true })

export function fromBlockRecord({ entries, text }: StoredBlockRecord): StoredBlock {
  return { entries, text: typeof text === 'string' ? text : UTF_8.decode(text) }
}

/** Whether the body is in `bodies`. */
export function hasLongBody(stored: StoredEvent): stored is StoredEvent & { bodyLength: number } {
  return stored.body === undefined && Number.isSafeInteger(stored.bodyLength)
}

/** The event of a record, or what is wrong with it; `longBody` is what `bodies` holds, where it does. */
export function fromStoredEvent(stored: StoredEvent, longBody?: unknown): EventRecord | Damage {
  const field = findDamagedField(stored, longBody)
  return field === null
    ? salvageEvent(stored, longBody)
    : { seq: stored.seq, reason: `its field "${field}" is missing or damaged` }
}

/**
 * The event of a record that was asked for by its id, whatever is left of it: an id that is stored stays
 * stored, and a damaged event can still be erased. A body that is gone is `''`, which readers report.
 */
export function salvageEvent(stored: StoredEvent, longBody?: unknown): EventRecord {
  const body = bodyOf(stored, longBody)
  const timestamp = isTime(stored.timestamp) ? stored.timestamp : 0
  return {
    id: fromStoredId(stored) ?? '',
    timestamp,
    role: (typeof stored.role === 'string' ? stored.role : 'user') as MessageType,
    branch: typeof stored.branch === 'string' ? stored.branch : null,
    synthetic: stored.synthetic === true,
    body: typeof body === 'string' ? body : '',
    seq: stored.seq,
    latestTimestamp: isTime(stored.latestTimestamp) ? stored.latestTimestamp : timestamp,
  }
}

function findDamagedField(stored: StoredEvent, longBody: unknown): string | null {
  const { timestamp, latestTimestamp = timestamp, role, branch = '' } = stored
  if (fromStoredId(stored) === null) return 'id'
  if (!isTime(timestamp)) return 'timestamp'
  if (!isTime(latestTimestamp)) return 'latestTimestamp'
  if (typeof role !== 'string') return 'role'
  if (typeof branch !== 'string') return 'branch'
  return typeof bodyOf(stored, longBody) === 'string' ? null : 'body'
}

function fromStoredId({ session, id }: StoredEvent): string | null {
  const prefix = toStoredId(session, '')
  return typeof id === 'string' && id.startsWith(prefix) ? id.slice(prefix.length) : null
}

function bodyOf(stored: StoredEvent, longBody: unknown): unknown {
  return hasLongBody(stored) ? longBody : stored.body
}

function isTime(value: unknown): value is number {
  return Number.isFinite(value)
}
