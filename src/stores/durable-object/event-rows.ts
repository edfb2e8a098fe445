/** Events as rows. A body too large for its event's row is kept in rows of its own, in parts. */

import type { MessageType } from '../../core/message.ts'
import type { LogIndex, LogSource } from '../../core/read-log.ts'
import type { SeqRange } from '../../core/seq-ranges.ts'
import type { Damage, EventRecord } from '../../core/session-repository.ts'
import { fitsInto, INLINE_BYTES, splitText } from './row-size.ts'
import { run, type SqlDatabase, select } from './sql-database.ts'

/** How many rows a query takes at once: with the inline limit, at most 8 MiB of bodies. */
const ROWS_AT_ONCE = 128
/** A read stops after about this many UTF-16 units of bodies, because an object has 128 MB for all. */
const READ_UNITS = 4 << 20

type EventRow = {
  seq: number
  id: string
  timestamp: number
  latest_timestamp: number
  role: string
  branch: string | null
  synthetic: number
  parts: number
  body: string
}

const COLUMNS = 'seq, id, timestamp, latest_timestamp, role, branch, synthetic, parts, body'

/** Writes a new event: 2 rows, one more when it came late, and one for each part. */
export function insertEvent(database: SqlDatabase, session: number, event: EventRecord): void {
  const { inline, parts } = placeBody(event.body)
  run(
    database,
    `INSERT INTO turnlog_events (session, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    session,
    event.seq,
    event.id,
    event.timestamp,
    event.latestTimestamp,
    event.role,
    event.branch,
    event.synthetic ? 1 : 0, // a boolean would be bound as text
    parts.length,
    inline,
  )
  insertParts(database, session, event.seq, parts)
}

/** Puts another body in the place of an event's. */
export function replaceBody(
  database: SqlDatabase,
  session: number,
  seq: number,
  body: string,
): void {
  const { inline, parts } = placeBody(body)
  run(
    database,
    'UPDATE turnlog_events SET parts = ?, body = ? WHERE session = ? AND seq = ?',
    parts.length,
    inline,
    session,
    seq,
  )
  run(database, 'DELETE FROM turnlog_event_parts WHERE session = ? AND seq = ?', session, seq)
  insertParts(database, session, seq, parts)
}

function placeBody(body: string): { readonly inline: string; readonly parts: readonly string[] } {
  return fitsInto(INLINE_BYTES, body)
    ? { inline: body, parts: [] }
    : { inline: '', parts: splitText(body) }
}

function insertParts(
  database: SqlDatabase,
  session: number,
  seq: number,
  parts: readonly string[],
): void {
  for (const [part, text] of parts.entries()) {
    run(
      database,
      'INSERT INTO turnlog_event_parts (session, seq, part, body) VALUES (?, ?, ?, ?)',
      session,
      seq,
      part,
      text,
    )
  }
}

/** An event without its body, by its id. */
export function findEnvelope(
  database: SqlDatabase,
  session: number,
  id: string,
): Omit<EventRecord, 'body'> | null {
  const [row] = select<Omit<EventRow, 'body'>>(
    database,
    `SELECT seq, id, timestamp, latest_timestamp, role, branch, synthetic, parts
    FROM turnlog_events WHERE session = ? AND id = ?`,
    session,
    id,
  )
  return row === undefined ? null : toEnvelope(row)
}

/** The body of an event; `null` when there is none or a part of it is missing. */
export function readBody(database: SqlDatabase, session: number, seq: number): string | null {
  const [row] = select<{ parts: number; body: string }>(
    database,
    'SELECT parts, body FROM turnlog_events WHERE session = ? AND seq = ?',
    session,
    seq,
  )
  return row === undefined ? null : joinBody(database, session, { ...row, seq })
}

/** The log of a session, for `readLog` and `recallLogs`. */
export function logSource(database: SqlDatabase, session: number, index?: LogIndex): LogSource {
  return {
    index,

    async read(ranges) {
      return readRanges(database, session, ranges)
    },

    async latestTimestampAt(seq) {
      const [row] = select<{ latest_timestamp: number }>(
        database,
        'SELECT latest_timestamp FROM turnlog_events WHERE session = ? AND seq = ?',
        session,
        seq,
      )
      return row?.latest_timestamp ?? null
    },

    async lateSeqs(from, to) {
      const rows = select<{ seq: number }>(
        database,
        `SELECT seq FROM turnlog_events
        WHERE session = ? AND timestamp BETWEEN ? AND ? AND timestamp < latest_timestamp`,
        session,
        from,
        to,
      )
      return rows.map(({ seq }) => seq)
    },
  }
}

/** The events of ranges, or the first of them when they are large. */
export function readRanges(
  database: SqlDatabase,
  session: number,
  ranges: readonly SeqRange[],
): readonly (EventRecord | Damage)[] {
  const records: (EventRecord | Damage)[] = []
  let units = 0
  for (const [first, last] of ranges) {
    let next = first
    while (next <= last) {
      const rows = select<EventRow>(
        database,
        `SELECT ${COLUMNS} FROM turnlog_events
        WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
        session,
        next,
        last,
        ROWS_AT_ONCE,
      )
      for (const row of rows) {
        const body = joinBody(database, session, row)
        units += body?.length ?? 0
        records.push(body === null ? damageOf(row) : { ...toEnvelope(row), body })
        if (units > READ_UNITS) return records
      }
      const end = rows.at(-1)?.seq
      if (end === undefined || rows.length < ROWS_AT_ONCE) break
      next = end + 1
    }
  }
  return records
}

/** The events of a short range; bodies of several parts, which are long, are `null`. */
export function readShortRange(
  database: SqlDatabase,
  session: number,
  [first, last]: SeqRange,
): readonly ((Omit<EventRecord, 'body'> & { readonly body: string | null }) | Damage)[] {
  const rows = select<EventRow>(
    database,
    `SELECT ${COLUMNS} FROM turnlog_events WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
    session,
    first,
    last,
  )
  return rows.map((row) => {
    if (row.parts > 1) return { ...toEnvelope(row), body: null }
    const body = joinBody(database, session, row)
    return body === null ? damageOf(row) : { ...toEnvelope(row), body }
  })
}

function damageOf({ seq }: EventRow): Damage {
  return { seq, reason: 'a part of the body is missing' }
}

function joinBody(
  database: SqlDatabase,
  session: number,
  { seq, parts, body }: { readonly seq: number; readonly parts: number; readonly body: string },
): string | null {
  if (parts === 0) return body
  const rows = select<{ body: string }>(
    database,
    'SELECT body FROM turnlog_event_parts WHERE session = ? AND seq = ? ORDER BY part',
    session,
    seq,
  )
  return rows.length === parts ? rows.map((row) => row.body).join('') : null
}

function toEnvelope(row: Omit<EventRow, 'body'>): Omit<EventRecord, 'body'> {
  return {
    seq: row.seq,
    id: row.id,
    timestamp: row.timestamp,
    latestTimestamp: row.latest_timestamp,
    role: row.role as MessageType,
    branch: row.branch,
    synthetic: row.synthetic === 1,
  }
}
