/**
 * Seals what the tails hold into blocks. They are made in a transaction that reads, so that the one that
 * writes them is short: nobody can read meanwhile.
 */

import type { SeqRange } from '../../core/seq-ranges.ts'
import type { Damage } from '../../core/session-repository.ts'
import { type BlockRecord, LONGEST_SEALED_BODY } from '../../search/block.ts'
import { groupOf } from '../../search/directory.ts'
import {
  countTails,
  type SealedBlock,
  Sealing,
  type SearchSettings,
  type Tail,
  tailsAfter,
  withEntries,
} from '../../search/sealing.ts'
import type { SealingDemand } from '../../search/sealing-demand.ts'
import { readGroup, readLastKey, unsealAll } from './block-rows.ts'
import { readLongBody } from './event-rows.ts'
import { isOpen, readHead } from './heads.ts'
import { rowsBetween, rowsOf } from './key-ranges.ts'
import type { RecentEvents } from './recent-events.ts'
import type { StoredBlockRecord, StoredGroupRecord, StoredHead } from './schema.ts'
import { fromStoredEvent, hasLongBody, toBlockRecord } from './stored-records.ts'
import { readTails } from './tails.ts'
import { put, type ReadTransaction, remove, type WriteTransaction } from './transactions.ts'

/** How many blocks are sealed in one transaction, at most: others wait for it. */
const MOST_BLOCKS = 8

/** Blocks that are to be written, as one transaction saw the tails. */
export interface MadeBlocks {
  readonly blocks: readonly SealedBlock[]
  /** Where the tails of these sessions begin then. */
  readonly firsts: ReadonlyMap<number, number>
  /** The heads of these sessions. */
  readonly heads: ReadonlyMap<number, StoredHead>
  /** How many events are in no block then; infinite when there are more than were counted. */
  readonly left: number
  /** How many events this instance had appended when the tails were looked at. */
  readonly appended: number
}

/** Makes a block when the tails hold enough for it, or as many as this instance has just appended. */
export async function makeBlocks(
  transaction: ReadTransaction,
  { limits }: SearchSettings,
  demand: SealingDemand,
  recent: RecentEvents,
): Promise<MadeBlocks> {
  const most = Math.max(1, Math.min(MOST_BLOCKS, Math.floor(recent.count / limits.events)))
  const found = await readTails(transaction, most * limits.events)
  const { isLong, meanLength, appendedSoFar: appended } = demand
  let tails = found.tails
  const firsts = new Map<number, number>()
  const blocks: SealedBlock[] = []
  while (blocks.length < most && (isLong || countTails(tails) >= limits.events)) {
    const sealing = new Sealing(limits, meanLength)
    for (const tail of tails) {
      const stamp = found.heads.get(tail.session)?.stamp
      if (!(await offer(transaction, sealing, tail, recent.of(tail.session, stamp)))) break
    }
    const block = sealing.finish()
    if (block === null) break
    blocks.push(block)
    tails = tailsAfter(tails, block)
    for (const [session, first] of block.firsts) firsts.set(session, first)
  }
  const left = found.isAll || blocks.length === 0 ? countTails(tails) : Number.POSITIVE_INFINITY
  return { blocks, firsts, heads: found.heads, left, appended }
}

/**
 * Writes blocks that were made; `false` when others have to be made, because a tail begins elsewhere by now
 * or one of its texts may be gone, or everything has to be sealed anew.
 */
export async function sealBlocks(
  transaction: WriteTransaction,
  { blocks, firsts, heads }: MadeBlocks,
): Promise<boolean> {
  const [lastGroup, ...found] = await Promise.all([
    readLastGroup(transaction),
    ...[...firsts.keys()].map((number) => readHead(transaction, number)),
  ])
  const current = found
    .filter((head) => head !== null)
    .filter(({ number, stamp, sealedSeq }) => {
      const before = heads.get(number)
      return stamp === before?.stamp && sealedSeq === before.sealedSeq
    })
  if (current.length < found.length) return false
  if (!(await writeBlocks(transaction, blocks, lastGroup))) {
    await unsealAll(transaction)
    return false
  }
  for (const head of current) {
    const first = firsts.get(head.number) ?? 0
    put(transaction, 'heads', [{ ...head, sealedSeq: first - 1 }])
    if (first > head.lastSeq && !isOpen(head)) remove(transaction, 'tails', rowsOf(head.number))
  }
  return true
}

/** Writes new blocks and their entries in the directory; `false` when that is damaged. */
async function writeBlocks(
  transaction: WriteTransaction,
  sealed: readonly SealedBlock[],
  lastGroup: StoredGroupRecord | null,
): Promise<boolean> {
  const blocks = sealed.map(({ block }) => block).filter((block) => block !== null)
  // The numbers are drawn by the database and never again, so that they ascend with the log.
  const numbers = await Promise.all(
    blocks.map(async ({ stored }) =>
      transaction.objectStore('blocks').add(toBlockRecord(stored) as StoredBlockRecord),
    ),
  )
  for (const number of new Set(numbers.map(groupOf))) {
    const entries = blocks.flatMap(({ entryOf }, index) => {
      const block = numbers[index] ?? 0
      return groupOf(block) === number ? [entryOf(block)] : []
    })
    const group = lastGroup?.number === number ? lastGroup : null
    const changed = withEntries(group, entries)
    if (changed === null) return false
    put(transaction, 'groups', [{ number, ...changed }])
  }
  return true
}

/** The last group, when there is one that can be read. */
async function readLastGroup(transaction: ReadTransaction): Promise<StoredGroupRecord | null> {
  const number = await readLastKey(transaction, 'groups')
  return number === null ? null : ((await readGroup(transaction, number)) ?? null)
}

/** Offers a tail to a block; `false` when the block is full. */
async function offer(
  transaction: ReadTransaction,
  sealing: Sealing,
  { session, first, last }: Tail,
  recent: (range: SeqRange) => readonly BlockRecord[] | null,
): Promise<boolean> {
  for (let next = first; next <= last; ) {
    const range: SeqRange = [next, Math.min(last, next + sealing.nextPortion - 1)]
    const records = recent(range) ?? (await readBlockRecords(transaction, session, range))
    if (!sealing.add(session, records, range)) return false
    next = range[1] + 1
  }
  return true
}

async function readBlockRecords(
  transaction: ReadTransaction,
  session: number,
  range: SeqRange,
): Promise<readonly (BlockRecord | Damage)[]> {
  const rows = await transaction.objectStore('events').getAll(rowsBetween(session, range))
  return Promise.all(
    rows.map(async (row): Promise<BlockRecord | Damage> => {
      const isTooLong = hasLongBody(row) && row.bodyLength > LONGEST_SEALED_BODY
      const record = fromStoredEvent(row, isTooLong ? '' : await readLongBody(transaction, row))
      return isTooLong ? { ...record, body: null } : record
    }),
  )
}
