/** The tables, and how a database of any age gets them. */

import { SessionError } from '../../core/errors.ts'
import { run, type SqlDatabase, select, transact } from './sql-database.ts'

/**
 * The migrations, in order: the first one makes version 1. One that has been released is never changed;
 * a change of the schema is a new one. All names begin with `turnlog_`, so that an object may have
 * tables of its own beside them.
 */
export const migrations: readonly (readonly string[])[] = [
  [
    // AUTOINCREMENT: the number of a deleted session is never used again.
    `CREATE TABLE turnlog_sessions (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      user_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      -- last_event_at, or created_at while there is none.
      recent_at INTEGER NOT NULL,
      expires_at INTEGER,
      -- At or before expires_at: when to look whether the session has expired. A sliding lifetime
      -- moves expires_at with every append, and this only when it is looked at.
      sweep_at INTEGER,
      sliding_time_to_live INTEGER,
      last_seq INTEGER NOT NULL,
      version INTEGER NOT NULL,
      last_event_at INTEGER,
      latest_timestamp INTEGER,
      -- Names the call that created it, so that its repetition is told from another creation.
      creation TEXT,
      metadata TEXT NOT NULL
    ) STRICT`,
    `CREATE INDEX turnlog_sessions_by_creation ON turnlog_sessions (user_id, created_at)`,
    `CREATE INDEX turnlog_sessions_by_recency ON turnlog_sessions (user_id, recent_at)`,
    `CREATE INDEX turnlog_sessions_by_sweep
      ON turnlog_sessions (sweep_at) WHERE sweep_at IS NOT NULL`,

    // The body comes last: the columns before it are read without touching its overflow pages.
    `CREATE TABLE turnlog_events (
      session INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      timestamp INTEGER NOT NULL,
      latest_timestamp INTEGER NOT NULL,
      role TEXT NOT NULL,
      branch TEXT,
      synthetic INTEGER NOT NULL,
      -- How many rows of turnlog_event_parts hold the body; with 0 it is here.
      parts INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID`,
    `CREATE UNIQUE INDEX turnlog_events_by_id ON turnlog_events (session, id)`,
    // Only events that came late, which are few: the others are found by binary search.
    `CREATE INDEX turnlog_late_events
      ON turnlog_events (session, timestamp) WHERE timestamp < latest_timestamp`,

    `CREATE TABLE turnlog_event_parts (
      session INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      part INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (session, seq, part)
    ) STRICT, WITHOUT ROWID`,

    // Boundaries without appends between them have the same position; the version tells them apart.
    // Part 0 carries the id and the number of all parts; more follow when the body is large.
    `CREATE TABLE turnlog_boundaries (
      session INTEGER NOT NULL,
      position INTEGER NOT NULL,
      version INTEGER NOT NULL,
      part INTEGER NOT NULL,
      parts INTEGER,
      id TEXT,
      body TEXT NOT NULL,
      PRIMARY KEY (session, position, version, part)
    ) STRICT, WITHOUT ROWID`,
    `CREATE UNIQUE INDEX turnlog_boundaries_by_id
      ON turnlog_boundaries (session, id) WHERE part = 0`,
  ],
  [
    // The search: events up to sealed_seq are in blocks. What was stored before is one long tail,
    // sealed bit by bit.
    `ALTER TABLE turnlog_sessions ADD COLUMN sealed_seq INTEGER NOT NULL DEFAULT 0`,
    // Sessions with unsealed events. Not a column with an index: that would be written by every append.
    `CREATE TABLE turnlog_tails (session INTEGER PRIMARY KEY) STRICT`,
    `INSERT INTO turnlog_tails SELECT number FROM turnlog_sessions WHERE last_seq > 0`,
    // AUTOINCREMENT: numbers ascend with the log, also after deletions.
    `CREATE TABLE turnlog_blocks (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      entries TEXT NOT NULL,
      text TEXT NOT NULL
    ) STRICT`,
    `CREATE TABLE turnlog_block_groups (
      number INTEGER PRIMARY KEY,
      entries TEXT NOT NULL,
      signatures BLOB NOT NULL
    ) STRICT`,
  ],
]

/**
 * Brings the tables up to date, in one transaction; does nothing when they are.
 *
 * @throws SessionError `STORAGE_OUTDATED` when they were made by a newer version of turnlog.
 */
export function migrate(
  database: SqlDatabase,
  steps: readonly (readonly string[])[] = migrations,
): void {
  transact(database, () => {
    // Durable Objects refuse PRAGMA user_version.
    run(
      database,
      'CREATE TABLE IF NOT EXISTS turnlog_schema (version INTEGER NOT NULL PRIMARY KEY) STRICT',
    )
    const [stored] = select<{ version: number }>(database, 'SELECT version FROM turnlog_schema')
    const version = stored?.version ?? 0
    if (version > steps.length) {
      throw new SessionError(
        'STORAGE_OUTDATED',
        `the tables are of schema version ${version}, which is newer than this code's ${steps.length}`,
        { details: { stored: version, supported: steps.length } },
      )
    }
    if (version === steps.length) return
    for (const statements of steps.slice(version)) {
      for (const statement of statements) run(database, statement)
    }
    run(database, 'DELETE FROM turnlog_schema')
    run(database, 'INSERT INTO turnlog_schema (version) VALUES (?)', steps.length)
  })
}
