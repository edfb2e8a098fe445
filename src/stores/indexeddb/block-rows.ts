/** The search structure as records: blocks, the groups of their directory, and the tails. */

import { unwrap } from 'idb'

import type { SeqRange } from '../../core/seq-ranges.ts'
import type { Damage } from '../../core/session-repository.ts'
import { type BlockRecord, LONGEST_SEALED_BODY, type StoredBlock } from '../../search/block.ts'
import { areWhole, encodeGroup, groupOf, type StoredGroup } from '../../search/directory.ts'
import { type BlockSource, directoryOf } from '../../search/log-index.ts'
import {
  blocksToChange,
  type ChangedGroup,
  changeGroup,
  type Removal,
} from '../../search/removal.ts'
import {
  countTails,
  type SealedBlock,
  Sealing,
  type SearchSettings,
  type Tail,
  type Tails,
  tailsAfter,
  withEntries,
} from '../../search/sealing.ts'
import type { Look, SealingDemand } from '../../search/sealing-demand.ts'
import { readLongBody } from './event-rows.ts'
import { rowsBetween } from './key-ranges.ts'
import type { RecentEvents } from './recent-events.ts'
import type { StoredBlockRecord, StoredGroupRecord, StoredHead } from './schema.ts'
import { fromBlockRecord, fromStoredEvent, hasLongBody, toBlockRecord } from './stored-records.ts'
import { put, type ReadTransaction, remove, type WriteTransaction } from './transactions.ts'

/** How many tails are read at a time. */
const READ_AT_ONCE = 128

/** The blocks, for `createLogIndex` and `recallBlocks`; `damaged` is told of damage. */
export function createBlockSource(
  transaction: ReadTransaction,
  damaged: () => void = () => undefined,
): BlockSource {
  const groups = transaction.objectStore('groups')
  const blocks = transaction.objectStore('blocks')
  return {
    async readGroups([first, last]) {
      const records = await groups.getAll(IDBKeyRange.bound(first, last))
      return records.map(({ number: _, ...group }) => group)
    },

    async readBlocks(numbers) {
      const records = await Promise.all(numbers.map(async (number) => blocks.get(number)))
      return records.map((record) => (record === undefined ? null : fromBlockRecord(record)))
    },

    async readEnds() {
      const [group, block] = await Promise.all([
        readLastKey(transaction, 'groups'),
        readLastKey(transaction, 'blocks'),
      ])
      return { group, block }
    },

    damaged,
  }
}

async function readLastKey(
  transaction: ReadTransaction,
  store: 'groups' | 'blocks',
): Promise<number | null> {
  return (await transaction.objectStore(store).openKeyCursor(null, 'prev'))?.primaryKey ?? null
}

/** The unsealed ends of logs, in the order of the sessions' numbers, until they hold `enough` events. */
export async function readTails(
  transaction: ReadTransaction,
  enough: number = Number.POSITIVE_INFINITY,
): Promise<Tails & { readonly heads: ReadonlyMap<number, StoredHead> }> {
  const tails: Tail[] = []
  const heads = new Map<number, StoredHead>()
  let events = 0
  for (let after = 0; ; ) {
    const sessions = await transaction
      .objectStore('tails')
      .getAllKeys(IDBKeyRange.lowerBound(after, true), READ_AT_ONCE)
    const found = await Promise.all(
      sessions.map(async (session) => transaction.objectStore('heads').get(session)),
    )
    for (const head of found) {
      if (events >= enough) return { tails, heads, isAll: false }
      if (head === undefined) continue
      const tail = { session: head.number, first: sealedSeqOf(head) + 1, last: head.lastSeq }
      if (tail.first > tail.last) continue
      tails.push(tail)
      heads.set(head.number, head)
      events += tail.last - tail.first + 1
    }
    if (sessions.length < READ_AT_ONCE) return { tails, heads, isAll: true }
    after = sessions.at(-1) ?? after
  }
}

/** Events up to this `seq` are in blocks. */
export function sealedSeqOf(head: Pick<StoredHead, 'sealedSeq'>): number {
  return head.sealedSeq ?? 0
}

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
    const changed = orDamaged(() => withEntries(group, entries))
    if (changed === 'damaged') return false
    put(transaction, 'groups', [{ number, ...changed }])
  }
  return true
}

async function readLastGroup(transaction: ReadTransaction): Promise<StoredGroupRecord | null> {
  return (await transaction.objectStore('groups').openCursor(null, 'prev'))?.value ?? null
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

/** The last `seq` of a session that a block holds; for a head that was lost. */
export async function findSealedSeq(
  transaction: ReadTransaction,
  session: number,
): Promise<number> {
  let sealed = 0
  for await (const { entries } of directoryOf(createBlockSource(transaction))) {
    for (const { runs } of entries) {
      for (const run of runs) if (run.session === session) sealed = Math.max(sealed, run.last)
    }
  }
  return sealed
}

/** Takes texts out of every block. Damaged blocks hold nobody up: they go, and all is sealed anew. */
export async function removeFromBlocks(
  transaction: WriteTransaction,
  removal: Removal,
): Promise<void> {
  const groups = transaction.objectStore('groups')
  const numbers = await groups.getAllKeys()
  if (!areWhole(numbers, await readLastKey(transaction, 'blocks'))) return unsealAll(transaction)
  for (const number of numbers) {
    const group = await groups.get(number)
    const change = group === undefined ? 'damaged' : await planChange(transaction, group, removal)
    if (change === 'damaged') return unsealAll(transaction)
    if (change === null) continue
    for (const [block, stored] of change.blocks) {
      if (stored === null) remove(transaction, 'blocks', block)
      else put(transaction, 'blocks', [{ number: block, ...toBlockRecord(stored) }])
    }
    put(transaction, 'groups', [{ number, ...change.group }])
  }
}

async function planChange(
  transaction: ReadTransaction,
  group: StoredGroup,
  removal: Removal,
): Promise<ChangedGroup | null | 'damaged'> {
  const read = new Map<number, StoredBlock>()
  const numbers = orDamaged(() => blocksToChange(group, removal))
  if (numbers === 'damaged') return numbers
  for (const number of numbers) {
    const block = await transaction.objectStore('blocks').get(number)
    if (block !== undefined) read.set(number, fromBlockRecord(block))
  }
  return orDamaged(() => changeGroup(group, removal, read))
}

/** Drops every block. What they held is one long tail of each session again. */
export async function unsealAll(transaction: WriteTransaction): Promise<void> {
  const [group, block] = await Promise.all([
    readLastKey(transaction, 'groups'),
    readLastKey(transaction, 'blocks'),
  ])
  const lastGroup = Math.max(groupOf(block ?? 0), group ?? 0)
  unwrap(transaction.objectStore('blocks')).clear()
  // The numbers of blocks go on, and groups before theirs must be there.
  for (let number = 0; number <= lastGroup; number++) {
    put(transaction, 'groups', [{ number, ...encodeGroup([]) }])
  }
  const heads = transaction.objectStore('heads')
  for (const session of await heads.getAllKeys()) {
    const head = await heads.get(session)
    if (head === undefined) continue
    put(transaction, 'heads', [{ ...head, sealedSeq: 0 }])
    put(transaction, 'tails', [{ session }])
  }
}

function orDamaged<T>(decode: () => T): T | 'damaged' {
  try {
    return decode()
  } catch {
    return 'damaged'
  }
}
