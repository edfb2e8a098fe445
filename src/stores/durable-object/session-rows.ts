/** Sessions as rows. */

import { isExpired, listTime } from '../../core/session-record.ts'
import type { Damage, ListRequest, SessionRecord } from '../../core/session-repository.ts'
import { insertBoundary, newestBoundary } from './boundary-rows.ts'
import type { SessionPage } from './pages.ts'
import { run, type SqlDatabase, select } from './sql-database.ts'

/** How many rows a list takes at once: metadata ends at 256 KiB, so at most 8 MiB. */
const ROWS_AT_ONCE = 32
/** A list ends at about this many UTF-16 units (Durable Object RPC stops at 32 MiB). */
const LIST_UNITS = 4 << 20

/** A session as it is found. */
export interface FoundSession {
  readonly record: SessionRecord
  /** Its boundaries that cannot be read. */
  readonly damage: readonly Damage[]
  /** Names the call that created it. */
  readonly creation: string | null
  /** Events up to this `seq` are in blocks. */
  readonly sealedSeq: number
}

/** A session's two names: the one of the application and the one in the tables. */
export interface SessionKey {
  readonly number: number
  readonly id: string
}

type SessionRow = {
  number: number
  id: string
  user_id: string
  created_at: number
  expires_at: number | null
  sliding_time_to_live: number | null
  last_seq: number
  version: number
  last_event_at: number | null
  latest_timestamp: number | null
  creation: string | null
  metadata: string
  sealed_seq: number
}

const COLUMNS = `id, user_id, created_at, expires_at, sliding_time_to_live, last_seq, version,
  last_event_at, latest_timestamp, creation, metadata`

/** Writes a new session and gives it its number. */
export function insertSession(
  database: SqlDatabase,
  session: Omit<SessionRecord, 'number'>,
  creation: string | null,
): SessionRecord {
  const [row] = select<{ number: number }>(
    database,
    `INSERT INTO turnlog_sessions (${COLUMNS}, recent_at, sweep_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
    session.id,
    session.userId,
    session.createdAt,
    session.expiresAt,
    session.slidingTimeToLive,
    session.lastSeq,
    session.version,
    session.lastEventAt,
    session.latestTimestamp,
    creation,
    session.metadata,
    listTime({ ...session, number: 0 }, 'recent'),
    session.expiresAt,
  )
  const { number } = row as { number: number }
  if (session.boundary !== null) insertBoundary(database, number, session.version, session.boundary)
  return { ...session, number }
}

/** The session with this id, expired or not. */
export function findSessionRow(database: SqlDatabase, id: string): FoundSession | null {
  const [row] = select<SessionRow>(
    database,
    `SELECT number, sealed_seq, ${COLUMNS} FROM turnlog_sessions WHERE id = ?`,
    id,
  )
  return row === undefined ? null : toFound(database, row)
}

/** The session with this number, expired or not. */
export function findSessionByNumber(database: SqlDatabase, number: number): FoundSession | null {
  const [row] = select<SessionRow>(
    database,
    `SELECT number, sealed_seq, ${COLUMNS} FROM turnlog_sessions WHERE number = ?`,
    number,
  )
  return row === undefined ? null : toFound(database, row)
}

/** Writes what a commit changes of a session: 2 rows, as it is listed by its newest event. */
export function updateAfterCommit(database: SqlDatabase, session: SessionRecord): void {
  run(
    database,
    `UPDATE turnlog_sessions SET
      last_seq = ?, version = ?, last_event_at = ?, latest_timestamp = ?, expires_at = ?,
      recent_at = ?
    WHERE number = ?`,
    session.lastSeq,
    session.version,
    session.lastEventAt,
    session.latestTimestamp,
    session.expiresAt,
    listTime(session, 'recent'),
    session.number,
  )
}

/** Makes sure that the session is looked at when it expires; `false` when it already was. */
export function advanceSweep(database: SqlDatabase, session: SessionRecord): boolean {
  const rows = select(
    database,
    `UPDATE turnlog_sessions SET sweep_at = expires_at
    WHERE number = ? AND expires_at < coalesce(sweep_at, ?) RETURNING 1`,
    session.number,
    Number.MAX_SAFE_INTEGER,
  )
  return rows.length > 0
}

/** Writes the metadata and the expiry of a session. */
export function updateSettings(database: SqlDatabase, session: SessionRecord): void {
  run(
    database,
    `UPDATE turnlog_sessions SET
      metadata = ?, expires_at = ?, sweep_at = ?, sliding_time_to_live = ?
    WHERE number = ?`,
    session.metadata,
    session.expiresAt,
    session.expiresAt,
    session.slidingTimeToLive,
    session.number,
  )
}

/** As many of a list's sessions as one answer takes, at least one. */
export function listSessionRows(database: SqlDatabase, request: ListRequest): SessionPage {
  const { order, limit } = request
  const extreme = order === 'recent' ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER
  let place = request.after ?? { time: extreme, number: extreme }
  const sessions: SessionRecord[] = []
  let units = 0
  while (sessions.length < limit) {
    const wanted = Math.min(ROWS_AT_ONCE, limit - sessions.length)
    // Two queries: one for (time, number) would read every session of the moment it begins in.
    const rows = selectListed(database, request, 'moment', place, wanted)
    if (rows.length < wanted) {
      rows.push(...selectListed(database, request, 'rest', place, wanted - rows.length))
    }
    for (const row of rows) {
      const { record } = toFound(database, row)
      units += unitsOf(record)
      if (sessions.length > 0 && units > LIST_UNITS) return { sessions, complete: false }
      sessions.push(record)
      place = { time: listTime(record, order), number: record.number }
    }
    if (rows.length < wanted) break
  }
  return { sessions, complete: true }
}

/** Sessions after a place in a list: those of the same moment, or those of all moments after it. */
function selectListed(
  database: SqlDatabase,
  { userId, now, order }: ListRequest,
  part: 'moment' | 'rest',
  place: { readonly time: number; readonly number: number },
  limit: number,
): SessionRow[] {
  const [time, comparison, direction] =
    order === 'recent' ? ['recent_at', '<', 'DESC'] : ['created_at', '>', 'ASC']
  return select<SessionRow>(
    database,
    `SELECT number, sealed_seq, ${COLUMNS} FROM turnlog_sessions
    WHERE user_id = ? AND (expires_at IS NULL OR expires_at > ?) AND ${
      part === 'moment' ? `${time} = ? AND number ${comparison} ?` : `${time} ${comparison} ?`
    }
    ORDER BY ${time} ${direction}, number ${direction} LIMIT ?`,
    userId,
    now,
    place.time,
    ...(part === 'moment' ? [place.number] : []),
    limit,
  )
}

/** About how much of an answer a session takes. */
function unitsOf({ id, userId, metadata, boundary }: SessionRecord): number {
  const ranges = boundary === null ? 0 : boundary.kept.length + boundary.rewound.length
  return id.length + userId.length + metadata.length + 8 * ranges + 256
}

/** All sessions of a user, expired ones included. */
export function sessionsOfUser(database: SqlDatabase, userId: string): SessionKey[] {
  return select<{ number: number; id: string }>(
    database,
    'SELECT number, id FROM turnlog_sessions WHERE user_id = ?',
    userId,
  )
}

/** Looks at up to `limit` sessions that may have expired by `before`, and gives those that have. */
export function findExpired(
  database: SqlDatabase,
  before: number,
  limit: number = Number.MAX_SAFE_INTEGER,
): { readonly expired: readonly SessionKey[]; readonly complete: boolean } {
  const rows = select<{ number: number; id: string; expires_at: number | null }>(
    database,
    `SELECT number, id, expires_at FROM turnlog_sessions
    WHERE sweep_at <= ? ORDER BY sweep_at LIMIT ?`,
    before,
    limit,
  )
  for (const { number, expires_at } of rows) {
    if (isExpired({ expiresAt: expires_at }, before)) continue
    run(database, 'UPDATE turnlog_sessions SET sweep_at = expires_at WHERE number = ?', number)
  }
  return {
    expired: rows.filter(({ expires_at }) => isExpired({ expiresAt: expires_at }, before)),
    complete: rows.length < limit,
  }
}

/** When the next session has to be looked at; `null` when none ever expires. */
export function earliestSweep(database: SqlDatabase): number | null {
  const [row] = select<{ sweep_at: number }>(
    database,
    `SELECT sweep_at FROM turnlog_sessions
    WHERE sweep_at IS NOT NULL ORDER BY sweep_at LIMIT 1`,
  )
  return row?.sweep_at ?? null
}

/** Leaves no row of a session in any table. */
export function deleteSessionRows(database: SqlDatabase, number: number): void {
  run(database, 'DELETE FROM turnlog_events WHERE session = ?', number)
  run(database, 'DELETE FROM turnlog_event_parts WHERE session = ?', number)
  run(database, 'DELETE FROM turnlog_boundaries WHERE session = ?', number)
  run(database, 'DELETE FROM turnlog_tails WHERE session = ?', number)
  run(database, 'DELETE FROM turnlog_sessions WHERE number = ?', number)
}

function toFound(database: SqlDatabase, row: SessionRow): FoundSession {
  const { boundary, damage } = newestBoundary(database, row.number)
  return {
    record: {
      number: row.number,
      id: row.id,
      userId: row.user_id,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      slidingTimeToLive: row.sliding_time_to_live,
      metadata: row.metadata,
      lastSeq: row.last_seq,
      version: row.version,
      lastEventAt: row.last_event_at,
      latestTimestamp: row.latest_timestamp,
      boundary,
    },
    damage,
    creation: row.creation,
    sealedSeq: row.sealed_seq,
  }
}
