/** Seals what the tails hold into blocks. */

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
import type { Look, SealingDemand } from '../../search/sealing-demand.ts'
import { readGroup, readLastKey, unsealAll } from './block-rows.ts'
import { readLongBody } from './event-rows.ts'
import { rowsBetween } from './key-ranges.ts'
import type { RecentEvents } from './recent-events.ts'
import type { StoredBlockRecord, StoredGroupRecord } from './schema.ts'
import { fromStoredEvent, hasLongBody, toBlockRecord } from './stored-records.ts'
import { readTails } from './tails.ts'
import { put, type ReadTransaction, remove, type WriteTransaction } from './transactions.ts'

/** What sealing did. */
export interface Sealed extends Look {
  /** Where the tails of these sessions begin now. */
  readonly firsts: ReadonlyMap<number, number>
}

/** How many blocks are sealed in one transaction, at most: others wait for it. */
const MOST_BLOCKS = 4

/** Seals a block when the tails hold enough for it, or as many as this instance has just appended. */
export async function sealBlocks(
  transaction: WriteTransaction,
  { limits }: SearchSettings,
  { isLong, meanLength }: SealingDemand,
  recent: RecentEvents,
): Promise<Sealed> {
  const most = Math.max(1, Math.min(MOST_BLOCKS, Math.floor(recent.count / limits.events)))
  const [found, lastGroup] = await Promise.all([
    readTails(transaction, most * limits.events),
    readLastGroup(transaction),
  ])
  let tails = found.tails
  const firsts = new Map<number, number>()
  const blocks: NonNullable<SealedBlock['block']>[] = []
  let sealed = 0
  while (sealed < most && (isLong || countTails(tails) >= limits.events)) {
    const sealing = new Sealing(limits, meanLength)
    for (const tail of tails) {
      const stamp = found.heads.get(tail.session)?.stamp
      if (!(await offer(transaction, sealing, tail, recent.of(tail.session, stamp)))) break
    }
    const block = sealing.finish()
    if (block === null) break
    sealed++
    tails = tailsAfter(tails, block)
    for (const [session, first] of block.firsts) firsts.set(session, first)
    if (block.block !== null) blocks.push(block.block)
  }
  if (!(await writeBlocks(transaction, blocks, lastGroup))) {
    await unsealAll(transaction)
    return { blocks: 0, left: Number.POSITIVE_INFINITY, firsts: new Map() }
  }
  for (const { session, last } of found.tails) {
    const next = firsts.get(session)
    const head = found.heads.get(session)
    if (next === undefined || head === undefined) continue
    put(transaction, 'heads', [{ ...head, sealedSeq: next - 1 }])
    if (next > last) remove(transaction, 'tails', session)
  }
  const left = found.isAll || sealed === 0 ? countTails(tails) : Number.POSITIVE_INFINITY
  return { blocks: sealed, left, firsts }
}

/** Writes new blocks and their entries in the directory; `false` when that is damaged. */
async function writeBlocks(
  transaction: WriteTransaction,
  blocks: readonly NonNullable<SealedBlock['block']>[],
  lastGroup: StoredGroupRecord | null,
): Promise<boolean> {
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
