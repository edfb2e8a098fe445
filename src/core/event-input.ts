/** From what users hand in to what is stored, and back. */

import { describeValue, invalid, SessionError } from './errors.ts'
import { checkId } from './identifiers.ts'
import { checkInstant } from './instant.ts'
import { type JsonObject, parseStoredJson, toStoredObject, utf8Length } from './json.ts'
import { type Message, messageText, toStoredMessage } from './message.ts'
import type { EventInput, SessionEvent } from './session.ts'
import type { EventView, NewEventRecord } from './session-repository.ts'

/** The largest event: 8 MiB of UTF-8 (a Durable Object's RPC stops at 32 MiB for all together). */
export const MAX_EVENT_BYTES = 8 << 20
/** The largest batch: 24 MiB of UTF-8. */
export const MAX_BATCH_BYTES = 24 << 20
/** The same with ids, branches and 32 bytes an event: a batch of tiny events has to end somewhere too. */
const MAX_TRANSFER_BYTES = 28 << 20
const ENVELOPE_BYTES = 32

/** The longest branch, in UTF-16 code units: it is stored beside the event, not split like its body. */
export const MAX_BRANCH_LENGTH = 4096

/** How metadata tells a summary. */
export const METADATA_SYNTHETIC = 'synthetic'

/** An event ready to be stored. */
export interface PreparedEvent {
  readonly record: NewEventRecord
  /** The size of its body in UTF-8. */
  readonly bodyBytes: number
  /** The size with its id, branch and numbers. */
  readonly bytes: number
}

/**
 * Takes a snapshot of an event in its stored form.
 *
 * @throws SessionError `INVALID_EVENT` naming the path, `EVENT_TOO_LARGE` with size and limit.
 */
export function prepareEvent(
  input: EventInput,
  options: {
    readonly sessionId: string
    readonly id: string
    readonly now: number
    readonly path: string
  },
): PreparedEvent {
  const { sessionId, now, path } = options
  const field = (name: string) => (path === '' ? name : `${path}.${name}`)
  if (input.sessionId !== undefined && input.sessionId !== null && input.sessionId !== sessionId) {
    throw invalid(
      'INVALID_EVENT',
      field('sessionId'),
      `is not the session "${sessionId}" that it is appended to`,
    )
  }
  const id = checkId(options.id, field('id'), 'INVALID_EVENT')
  const timestamp =
    input.timestamp === undefined || input.timestamp === null
      ? now
      : checkInstant(input.timestamp, field('timestamp'), 'INVALID_EVENT')
  const { branch = null, synthetic } = input
  if (branch !== null && typeof branch !== 'string') {
    throw invalid(
      'INVALID_EVENT',
      field('branch'),
      `must be a string or null, not ${describeValue(branch)}`,
    )
  }
  if (branch !== null && branch.length > MAX_BRANCH_LENGTH) {
    throw invalid(
      'INVALID_EVENT',
      field('branch'),
      `is ${branch.length} characters long; ${MAX_BRANCH_LENGTH} is the limit`,
    )
  }
  if (synthetic !== undefined && synthetic !== null && typeof synthetic !== 'boolean') {
    throw invalid(
      'INVALID_EVENT',
      field('synthetic'),
      `must be a boolean, not ${describeValue(synthetic)}`,
    )
  }
  const message = toStoredMessage(input.message, field('message'))
  const given = toStoredObject(input.metadata ?? {}, field('metadata'))
  const isSynthetic = synthetic === true || given[METADATA_SYNTHETIC] === true
  const metadata = isSynthetic ? { ...given, [METADATA_SYNTHETIC]: true } : given
  const body = encodeBody(message, metadata)
  const bodyBytes = utf8Length(body)
  if (bodyBytes > MAX_EVENT_BYTES)
    throw tooLarge(path === '' ? 'the event' : path, bodyBytes, MAX_EVENT_BYTES)
  const record: NewEventRecord = {
    id,
    timestamp,
    role: message.role,
    branch: branch?.toWellFormed() ?? null,
    synthetic: isSynthetic,
    body,
  }
  const envelope = utf8Length(id) + utf8Length(record.branch ?? '') + ENVELOPE_BYTES
  return { record, bodyBytes, bytes: bodyBytes + envelope }
}

/** @throws SessionError `EVENT_TOO_LARGE` */
export function checkBatchSize(events: readonly PreparedEvent[]): void {
  const bodyBytes = events.reduce((sum, event) => sum + event.bodyBytes, 0)
  if (bodyBytes > MAX_BATCH_BYTES) throw tooLarge('the batch', bodyBytes, MAX_BATCH_BYTES)
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0)
  if (bytes > MAX_TRANSFER_BYTES) {
    throw tooLarge('the batch, ids and branches included,', bytes, MAX_TRANSFER_BYTES)
  }
}

/** The stored body of an event. */
export function encodeBody(message: Message, metadata: JsonObject): string {
  return JSON.stringify({ message, metadata })
}

/**
 * What is left of an erased event: its place in the conversation, without content. Its metadata is
 * `{ erased: true }`, so that everybody can tell.
 */
export function erasedBody(event: EventView): string {
  return encodeBody(
    { role: event.role, content: '' },
    { erased: true, ...(event.synthetic ? { [METADATA_SYNTHETIC]: true } : {}) },
  )
}

/** An event as users see it; `null` when its body is damaged. */
export function decodeEvent<M extends Message>(
  sessionId: string,
  event: EventView,
): SessionEvent<M> | null {
  const { id, seq, timestamp, branch, synthetic, archived, rewound } = event
  try {
    const { message, metadata } = parseStoredJson(event.body) as {
      message: M
      metadata: JsonObject
    }
    messageText(message) // fails unless it is a message
    return {
      id,
      sessionId,
      seq,
      timestamp: new Date(timestamp),
      message,
      metadata,
      branch,
      synthetic,
      archived,
      rewound,
    }
  } catch {
    return null // damage, which the caller reports
  }
}

function tooLarge(what: string, bytes: number, limit: number): SessionError {
  return new SessionError(
    'EVENT_TOO_LARGE',
    `${what} is ${bytes} bytes as JSON; ${limit} is the limit`,
    {
      details: { size: bytes, limit },
    },
  )
}
