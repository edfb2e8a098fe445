/** The search structure as rows: blocks, the groups of their directory, and the tails. */

import type { BlockLimits, StoredBlock } from '../../search/block.ts'
import { areWhole, encodeGroup, groupOf, type StoredGroup } from '../../search/directory.ts'
import type { BlockSource } from '../../search/log-index.ts'
import {
  blocksToChange,
  type ChangedGroup,
  changeGroup,
  type Removal,
} from '../../search/removal.ts'
import {
  countTails,
  Sealing,
  type Tail,
  type Tails,
  tailsAfter,
  withEntries,
} from '../../search/sealing.ts'
import type { Look, SealingDemand } from '../../search/sealing-demand.ts'
import { readShortRange } from './event-rows.ts'
import { run, type SqlDatabase, select } from './sql-database.ts'

type GroupRow = { number: number; entries: string; signatures: ArrayBuffer }
type BlockRow = { number: number; entries: string; text: string }

/** The blocks, for `createLogIndex` and `recallBlocks`; `damaged` is told of damage. */
export function blockSource(database: SqlDatabase, damaged: () => void): BlockSource {
  return {
    async readGroups([first, last]) {
      const rows = select<GroupRow>(
        database,
        'SELECT * FROM turnlog_block_groups WHERE number BETWEEN ? AND ? ORDER BY number',
        first,
        last,
      )
      return rows.map(toGroup)
    },

    async readBlocks(blocks) {
      return blocks.map((number) => readBlock(database, number))
    },

    async readEnds() {
      return {
        group: readLastNumber(database, 'turnlog_block_groups'),
        block: readLastNumber(database, 'turnlog_blocks'),
      }
    },

    damaged,
  }
}

/** The unsealed ends of all logs, in the order of the sessions' numbers. */
export function readTails(database: SqlDatabase, limit: number = Number.MAX_SAFE_INTEGER): Tails {
  const tails = select<{ session: number; first: number; last: number }>(
    database,
    // CROSS: the few tails first. SQLite would rather go through all sessions.
    `SELECT number AS session, sealed_seq + 1 AS first, last_seq AS last
    FROM turnlog_tails CROSS JOIN turnlog_sessions ON number = session ORDER BY session LIMIT ?`,
    limit,
  )
  return { tails, isAll: tails.length < limit }
}

/** Notes that a session has unsealed events; for the append that ends its having none. */
export function insertTail(database: SqlDatabase, session: number): void {
  run(database, 'INSERT OR IGNORE INTO turnlog_tails (session) VALUES (?)', session)
}

/** Seals one block when the tails hold enough for it; inside a transaction. */
export function sealBlock(
  database: SqlDatabase,
  limits: BlockLimits,
  { isLong, meanLength }: SealingDemand,
): Look {
  // Each tail holds an event at least.
  const tails = readTails(database, limits.events)
  const sealing = new Sealing(limits, meanLength)
  if (isLong || countTails(tails.tails) >= limits.events) {
    for (const tail of tails.tails) if (!offer(database, sealing, tail)) break
  }
  const sealed = sealing.finish()
  if (sealed === null) return { blocks: 0, left: countTails(tails.tails) }
  if (sealed.block !== null) {
    const { stored, entryOf } = sealed.block
    const [row] = select<{ number: number }>(
      database,
      'INSERT INTO turnlog_blocks (entries, text) VALUES (?, ?) RETURNING number',
      stored.entries,
      stored.text,
    )
    const { number } = row as { number: number }
    const group = readGroup(database, groupOf(number))
    const changed = withEntries(group, [entryOf(number)])
    if (changed === null) {
      unsealAll(database)
      return { blocks: 0, left: Number.POSITIVE_INFINITY }
    }
    writeGroup(database, groupOf(number), changed)
  }
  for (const { session, last } of tails.tails) {
    const next = sealed.firsts.get(session)
    if (next === undefined) continue
    run(database, 'UPDATE turnlog_sessions SET sealed_seq = ? WHERE number = ?', next - 1, session)
    if (next > last) run(database, 'DELETE FROM turnlog_tails WHERE session = ?', session)
  }
  const left = tails.isAll ? countTails(tailsAfter(tails.tails, sealed)) : Number.POSITIVE_INFINITY
  return { blocks: 1, left }
}

/** Offers a tail to a block; `false` when the block is full. */
function offer(database: SqlDatabase, sealing: Sealing, { session, first, last }: Tail): boolean {
  for (let next = first; next <= last; ) {
    const end = Math.min(last, next + sealing.nextPortion - 1)
    const records = readShortRange(database, session, [next, end])
    if (!sealing.add(session, records, [next, end])) return false
    next = end + 1
  }
  return true
}

/** Takes texts out of every block. Damaged blocks hold nobody up: they go, and all is sealed anew. */
export function removeFromBlocks(database: SqlDatabase, removal: Removal): void {
  const numbers = select<{ number: number }>(
    database,
    'SELECT number FROM turnlog_block_groups ORDER BY number',
  ).map(({ number }) => number)
  if (!areWhole(numbers, readLastNumber(database, 'turnlog_blocks'))) {
    unsealAll(database)
    return
  }
  for (const number of numbers) {
    const group = readGroup(database, number) as StoredGroup
    const change = planChange(database, group, removal)
    if (change === null) {
      unsealAll(database)
      return
    }
    if (change.blocks.size === 0) continue
    for (const [block, stored] of change.blocks) writeBlock(database, block, stored)
    writeGroup(database, number, change.group)
  }
}

function planChange(
  database: SqlDatabase,
  group: StoredGroup,
  removal: Removal,
): ChangedGroup | null {
  const read = new Map<number, StoredBlock>()
  const numbers = blocksToChange(group, removal)
  if (numbers === null) return null
  for (const number of numbers) {
    const block = readBlock(database, number)
    if (block !== null) read.set(number, block)
  }
  return changeGroup(group, removal, read)
}

/** Drops every block. What they held is one long tail of each session again. */
export function unsealAll(database: SqlDatabase): void {
  const lastGroup = Math.max(
    groupOf(readLastNumber(database, 'turnlog_blocks') ?? 0),
    readLastNumber(database, 'turnlog_block_groups') ?? 0,
  )
  run(database, 'DELETE FROM turnlog_blocks')
  // The numbers of blocks go on, and groups before theirs must be there.
  for (let number = 0; number <= lastGroup; number++) {
    writeGroup(database, number, encodeGroup([]))
  }
  run(
    database,
    'INSERT OR IGNORE INTO turnlog_tails SELECT number FROM turnlog_sessions WHERE last_seq > 0',
  )
  run(database, 'UPDATE turnlog_sessions SET sealed_seq = 0 WHERE sealed_seq > 0')
}

function writeBlock(database: SqlDatabase, number: number, stored: StoredBlock | null): void {
  if (stored === null) {
    run(database, 'DELETE FROM turnlog_blocks WHERE number = ?', number)
    return
  }
  run(
    database,
    'UPDATE turnlog_blocks SET entries = ?, text = ? WHERE number = ?',
    stored.entries,
    stored.text,
    number,
  )
}

function readBlock(database: SqlDatabase, number: number): StoredBlock | null {
  const [row] = select<BlockRow>(database, 'SELECT * FROM turnlog_blocks WHERE number = ?', number)
  return row ?? null
}

function readLastNumber(
  database: SqlDatabase,
  table: 'turnlog_blocks' | 'turnlog_block_groups',
): number | null {
  const [row] = select<{ number: number }>(
    database,
    `SELECT number FROM ${table} ORDER BY number DESC LIMIT 1`,
  )
  return row?.number ?? null
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
