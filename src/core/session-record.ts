/** Rules about the session record itself, shared by every store. */

import { describeValue, invalidArgument, reading, SessionError, sessionNotFound } from './errors.ts'
import { type JsonObject, toStoredObject, utf8Length } from './json.ts'
import type { TimeToLive } from './session.ts'
import type { ListRequest, SessionRecord } from './session-repository.ts'

/** The largest metadata of a session, in UTF-8 bytes of its JSON: it is read and written with every commit. */
export const MAX_SESSION_METADATA_BYTES = 256 << 10

/**
 * The metadata of a session, as JSON text, when it is not too large.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function checkMetadataSize(metadata: string): string {
  const bytes = utf8Length(metadata)
  if (bytes <= MAX_SESSION_METADATA_BYTES) return metadata
  throw invalidArgument(
    'metadata',
    `is ${bytes} bytes as JSON; ${MAX_SESSION_METADATA_BYTES} is the limit`,
  )
}

/**
 * The stored form of a session's metadata.
 *
 * @throws SessionError `INVALID_ARGUMENT` naming the path of what cannot be stored.
 */
export function encodeMetadata(
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string {
  try {
    return checkMetadataSize(JSON.stringify(toStoredObject(metadata ?? {}, 'metadata')))
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    throw new SessionError('INVALID_ARGUMENT', error.message, {
      cause: error,
      details: error.details,
    })
  }
}

/**
 * A lifetime in whole milliseconds; `fallback` when none is given.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function checkTimeToLive(value: unknown, fallback: TimeToLive): TimeToLive {
  if (value === undefined) return fallback
  if (value === null) return null
  const milliseconds =
    typeof value === 'object'
      ? reading('INVALID_ARGUMENT', 'timeToLive', () => (value as { sliding?: unknown }).sliding)
      : value
  if (typeof milliseconds !== 'number' || !(Math.abs(milliseconds) <= 1e15)) {
    throw invalidArgument(
      'timeToLive',
      `must be milliseconds, { sliding: milliseconds } or null, not ${describeValue(value)}`,
    )
  }
  return typeof value === 'object'
    ? { sliding: Math.trunc(milliseconds) }
    : Math.trunc(milliseconds)
}

/** A session that is about to be created at `now`. */
export function newSession(input: {
  readonly id: string
  readonly userId: string
  readonly metadata: string
  readonly timeToLive: TimeToLive
  readonly now: number
}): Omit<SessionRecord, 'number'> {
  const { id, userId, metadata, timeToLive, now } = input
  const sliding = typeof timeToLive === 'object' ? (timeToLive?.sliding ?? null) : null
  const lifetime = typeof timeToLive === 'number' ? timeToLive : sliding
  return {
    id,
    userId,
    createdAt: now,
    expiresAt: lifetime === null ? null : now + lifetime,
    slidingTimeToLive: sliding,
    metadata,
    lastSeq: 0,
    version: 0,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
}

/** Whether a session is unknown at `now` because its time is over. */
export function isExpired(session: { readonly expiresAt: number | null }, now: number): boolean {
  return session.expiresAt !== null && session.expiresAt <= now
}

/**
 * The session when it is there and not expired.
 *
 * @throws SessionError `SESSION_NOT_FOUND`
 */
export function requireSession(
  sessionId: string,
  session: SessionRecord | null | undefined,
  now: number,
): SessionRecord {
  if (!session || isExpired(session, now)) throw sessionNotFound(sessionId)
  return session
}

/**
 * The record after `SessionRepository.updateSession`.
 *
 * @throws SessionError `INVALID_ARGUMENT` when the merged metadata is too large.
 */
export function changeSession(
  session: SessionRecord,
  change: {
    readonly metadata?: string | undefined
    readonly expiresAt?: number | null | undefined
  },
): SessionRecord {
  return {
    ...session,
    ...(change.metadata === undefined
      ? {}
      : { metadata: mergeMetadata(session.metadata, change.metadata) }),
    ...(change.expiresAt === undefined
      ? {}
      : { expiresAt: change.expiresAt, slidingTimeToLive: null }),
  }
}

function mergeMetadata(stored: string, change: string): string {
  const merged = new Map<string, unknown>(Object.entries(JSON.parse(stored) as JsonObject))
  for (const [key, value] of Object.entries(JSON.parse(change) as JsonObject)) {
    if (value === null) merged.delete(key)
    else merged.set(key, value)
  }
  return checkMetadataSize(JSON.stringify(Object.fromEntries(merged)))
}

/** The time that a session is listed by. */
export function listTime(session: SessionRecord, order: ListRequest['order']): number {
  return order === 'recent' ? (session.lastEventAt ?? session.createdAt) : session.createdAt
}

/** Where a list of sessions goes on after `session`, as a text for users to hand back. */
export function listCursor(session: SessionRecord, order: ListRequest['order']): string {
  return `${listTime(session, order)}.${session.number}`
}

/**
 * The inverse of {@link listCursor}.
 *
 * @throws SessionError `INVALID_ARGUMENT` for any other value.
 */
export function readListCursor(cursor: unknown): NonNullable<ListRequest['after']> {
  const match = typeof cursor === 'string' ? /^(-?\d{1,16})\.(\d{1,16})$/.exec(cursor) : null
  if (match === null) throw invalidArgument('cursor', 'is not one that listSessions gave')
  return { time: Number(match[1]), number: Number(match[2]) }
}
