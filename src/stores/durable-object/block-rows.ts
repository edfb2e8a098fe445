/** The search structure as rows: blocks, the groups of their directory, and the tails. */

import type { Damage, EventRecord } from '../../core/session-repository.ts'
import {
  type Block,
  type BlockEntry,
  type BlockLimits,
  changeBlock,
  decodeBlock,
  encodeBlock,
  type StoredBlock,
} from '../../search/block.ts'
import {
  type DirectoryEntry,
  decodeGroup,
  groupOf,
  type StoredGroup,
} from '../../search/directory.ts'
import type { BlockSource } from '../../search/log-index.ts'
import {
  countTails,
  Sealing,
  type Tail,
  withChangedBlock,
  withEntry,
} from '../../search/sealing.ts'
import { readRanges } from './event-rows.ts'
import { run, type SqlDatabase, select } from './sql-database.ts'

/** How many events of a tail are read at a time. */
const READ_AT_ONCE = 128

type GroupRow = { number: number; entries: string; signatures: ArrayBuffer }
type BlockRow = { number: number; entries: string; text: string }

/** The blocks, for `createLogIndex` and `recallBlocks`. */
export function blockSource(database: SqlDatabase): BlockSource {
  return {
    async readGroups(from, count, backwards) {
      const rows = select<GroupRow>(
        database,
        backwards
          ? 'SELECT * FROM turnlog_block_groups WHERE number <= ? ORDER BY number DESC LIMIT ?'
          : 'SELECT * FROM turnlog_block_groups WHERE number >= ? ORDER BY number LIMIT ?',
        from,
        count,
      )
      return rows.map((row) => ({ number: row.number, group: toGroup(row) }))
    },

    async readBlocks(blocks) {
      return blocks.map((number) => readBlock(database, number))
    },
  }
}

/** The unsealed ends of all logs, in the order of the sessions' numbers. */
export function readTails(
  database: SqlDatabase,
  limit: number = Number.MAX_SAFE_INTEGER,
): readonly Tail[] {
  return select<{ session: number; first: number; last: number }>(
    database,
    `SELECT number AS session, sealed_seq + 1 AS first, last_seq AS last
    FROM turnlog_tails JOIN turnlog_sessions ON number = session ORDER BY session LIMIT ?`,
    limit,
  )
}

/** Notes that a session has unsealed events; for the append that ends its having none. */
export function insertTail(database: SqlDatabase, session: number): void {
  run(database, 'INSERT OR IGNORE INTO turnlog_tails (session) VALUES (?)', session)
}

/**
 * Seals one block when the tails hold enough for it; inside a transaction.
 *
 * @returns how many unsealed events are left; infinite when there are more than were looked at.
 */
export function sealBlock(database: SqlDatabase, limits: BlockLimits): number {
  // Each tail holds an event at least.
  const tails = readTails(database, limits.events)
  const count = countTails(tails)
  if (count < limits.events) return count
  const sealing = new Sealing(limits)
  for (const tail of tails) if (!offer(database, sealing, tail)) break
  const sealed = sealing.finish()
  if (sealed === null) return 0
  const [row] = select<{ number: number }>(
    database,
    'INSERT INTO turnlog_blocks (entries, text) VALUES (?, ?) RETURNING number',
    sealed.stored.entries,
    sealed.stored.text,
  )
  const { number } = row as { number: number }
  const group = groupOf(number)
  writeGroup(database, group, withEntry(readGroup(database, group), sealed.entryOf(number)))
  let sealedEvents = 0
  for (const { session, first, last } of tails) {
    const next = sealed.firsts.get(session)
    if (next === undefined) continue
    sealedEvents += next - first
    run(database, 'UPDATE turnlog_sessions SET sealed_seq = ? WHERE number = ?', next - 1, session)
    if (next > last) run(database, 'DELETE FROM turnlog_tails WHERE session = ?', session)
  }
  return tails.length < limits.events ? count - sealedEvents : Number.POSITIVE_INFINITY
}

/** Offers a tail to a block; `false` when the block is full. */
function offer(database: SqlDatabase, sealing: Sealing, { session, first, last }: Tail): boolean {
  for (let next = first; next <= last; ) {
    const records: readonly (EventRecord | Damage)[] = readRanges(database, session, [
      [next, Math.min(last, next + READ_AT_ONCE - 1)],
    ])
    const end = records.at(-1)?.seq
    if (end === undefined) {
      sealing.skip(session, last)
      return true
    }
    if (!sealing.add(session, records)) return false
    next = end + 1
  }
  return true
}

/** Takes the texts of sessions out of every block. */
export function removeFromBlocks(database: SqlDatabase, sessions: ReadonlySet<number>): void {
  changeBlocks(
    database,
    ({ runs }) => runs.some(({ session }) => sessions.has(session)),
    ({ session }) => (sessions.has(session) ? 'remove' : 'keep'),
  )
}

/** Takes the text of one event out of its block. */
export function eraseFromBlock(database: SqlDatabase, session: number, seq: number): void {
  changeBlocks(
    database,
    ({ runs }) =>
      runs.some((run) => run.session === session && run.first <= seq && seq <= run.last),
    (entry) => (entry.session === session && entry.seq === seq ? 'blank' : 'keep'),
  )
}

function changeBlocks(
  database: SqlDatabase,
  isConcerned: (entry: DirectoryEntry) => boolean,
  change: (entry: BlockEntry) => 'keep' | 'blank' | 'remove',
): void {
  const groups = select<{ number: number }>(
    database,
    'SELECT number FROM turnlog_block_groups ORDER BY number',
  )
  for (const { number } of groups) {
    const group = readGroup(database, number)
    const concerned = group === null ? [] : decodeGroup(group).filter(isConcerned)
    if (group === null || concerned.length === 0) continue
    let changed = group
    for (const { block } of concerned) {
      const stored = readBlock(database, block)
      const content: Block =
        stored === null ? { entries: [], text: '' } : changeBlock(decodeBlock(stored), change)
      changed = withChangedBlock(changed, block, content)
      writeBlock(database, block, content)
    }
    writeGroup(database, number, changed)
  }
}

function writeBlock(database: SqlDatabase, number: number, content: Block): void {
  if (content.entries.length === 0) {
    run(database, 'DELETE FROM turnlog_blocks WHERE number = ?', number)
    return
  }
  const { entries, text } = encodeBlock(content)
  run(
    database,
    'UPDATE turnlog_blocks SET entries = ?, text = ? WHERE number = ?',
    entries,
    text,
    number,
  )
}

function readBlock(database: SqlDatabase, number: number): StoredBlock | null {
  const [row] = select<BlockRow>(database, 'SELECT * FROM turnlog_blocks WHERE number = ?', number)
  return row ?? null
}

function readGroup(database: SqlDatabase, number: number): StoredGroup | null {
  const [row] = select<GroupRow>(
    database,
    'SELECT * FROM turnlog_block_groups WHERE number = ?',
    number,
  )
  return row === undefined ? null : toGroup(row)
}

function writeGroup(
  database: SqlDatabase,
  number: number,
  { entries, signatures }: StoredGroup,
): void {
  run(
    database,
    `INSERT INTO turnlog_block_groups (number, entries, signatures) VALUES (?, ?, ?)
    ON CONFLICT (number) DO UPDATE SET entries = excluded.entries, signatures = excluded.signatures`,
    number,
    entries,
    signatures.slice().buffer,
  )
}

function toGroup({ entries, signatures }: GroupRow): StoredGroup {
  return { entries, signatures: new Uint8Array(signatures) }
}
