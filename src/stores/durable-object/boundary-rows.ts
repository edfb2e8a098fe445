/**
 * Boundaries as rows. A session's own row does not hold its boundary, so that an append to a log with a
 * large one writes no more than any other.
 */

import type { Boundary, Damage } from '../../core/session-repository.ts'
import { splitText } from './row-size.ts'
import { run, type SqlDatabase, select } from './sql-database.ts'

/** A boundary's place among those of its session: they are ordered by it. */
export interface BoundaryPlace {
  readonly position: number
  /** The session's version after its commit. */
  readonly version: number
}

type BoundaryRow = {
  position: number
  version: number
  parts: number
  id: string
  body: string
}

const COLUMNS = 'position, version, parts, id, body'

/** Writes a new boundary: 2 rows, whatever it archives. */
export function insertBoundary(
  database: SqlDatabase,
  session: number,
  version: number,
  boundary: Boundary,
): void {
  const { id, position, ...rest } = boundary
  const texts = splitText(JSON.stringify(rest))
  for (const [part, text] of texts.entries()) {
    run(
      database,
      `INSERT INTO turnlog_boundaries (session, part, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      session,
      part,
      position,
      version,
      part === 0 ? texts.length : null,
      part === 0 ? id : null,
      text,
    )
  }
}

/** Boundaries that were read, and those that could not be. */
export interface FoundBoundary {
  readonly boundary: Boundary | null
  /** With the boundary's position for `seq`. */
  readonly damage: readonly Damage[]
}

/**
 * The newest boundary, or the newest one with a position below `beforeSeq`. One that cannot be read is
 * as if it had never been committed: the one before it is in force.
 */
export function newestBoundary(
  database: SqlDatabase,
  session: number,
  beforeSeq: number = Number.MAX_SAFE_INTEGER,
): FoundBoundary {
  const damage: Damage[] = []
  let place: BoundaryPlace = { position: beforeSeq, version: 0 }
  for (;;) {
    const [row] = select<BoundaryRow>(
      database,
      `SELECT ${COLUMNS} FROM turnlog_boundaries
      WHERE session = ? AND (position, version) < (?, ?) AND part = 0
      ORDER BY position DESC, version DESC LIMIT 1`,
      session,
      place.position,
      place.version,
    )
    if (row === undefined) return { boundary: null, damage }
    const boundary = toBoundary(database, session, row)
    if (!('reason' in boundary)) return { boundary, damage }
    damage.push(boundary)
    place = row
  }
}

/** The boundary that comes after a place, with its own; `null` at the end. Unreadable ones are passed over. */
export function nextBoundary(
  database: SqlDatabase,
  session: number,
  after: BoundaryPlace,
): { readonly place: BoundaryPlace; readonly boundary: Boundary } | null {
  let place = after
  for (;;) {
    const [row] = select<BoundaryRow>(
      database,
      `SELECT ${COLUMNS} FROM turnlog_boundaries
      WHERE session = ? AND (position, version) > (?, ?) AND part = 0
      ORDER BY position, version LIMIT 1`,
      session,
      place.position,
      place.version,
    )
    if (row === undefined) return null
    place = { position: row.position, version: row.version }
    const boundary = toBoundary(database, session, row)
    if (!('reason' in boundary)) return { place, boundary }
  }
}

/** Whether a boundary with this id is stored. */
export function hasBoundary(database: SqlDatabase, session: number, id: string): boolean {
  const rows = select(
    database,
    'SELECT 1 FROM turnlog_boundaries WHERE session = ? AND id = ? AND part = 0',
    session,
    id,
  )
  return rows.length > 0
}

function toBoundary(
  database: SqlDatabase,
  session: number,
  { position, version, parts, id, body }: BoundaryRow,
): Boundary | Damage {
  let text = body
  if (parts > 1) {
    const rest = select<{ body: string }>(
      database,
      `SELECT body FROM turnlog_boundaries
      WHERE session = ? AND position = ? AND version = ? AND part > 0 ORDER BY part`,
      session,
      position,
      version,
    )
    if (rest.length !== parts - 1) {
      return { seq: position, reason: `a part of the boundary "${id}" is missing` }
    }
    text += rest.map((row) => row.body).join('')
  }
  try {
    const rest = JSON.parse(text) as Omit<Boundary, 'id' | 'position'>
    return { id, position, ...rest }
  } catch (error) {
    return { seq: position, reason: `the boundary "${id}" is not readable: ${String(error)}` }
  }
}
