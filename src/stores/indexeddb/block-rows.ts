/** The search structure as records: blocks, the groups of their directory, and the tails. */

import {
  type Block,
  type BlockEntry,
  changeBlock,
  decodeBlock,
  encodeBlock,
} from '../../search/block.ts'
import { type DirectoryEntry, decodeGroup, groupOf } from '../../search/directory.ts'
import { type BlockSource, directoryOf } from '../../search/log-index.ts'
import {
  countTails,
  Sealing,
  type SearchSettings,
  type Tail,
  withChangedBlock,
  withEntry,
} from '../../search/sealing.ts'
import { createLogSource } from './log-source.ts'
import type { StoredBlockRecord, StoredHead } from './schema.ts'
import { put, type ReadTransaction, remove, type WriteTransaction } from './transactions.ts'

/** How many events of a tail, and how many tails, are read at a time. */
const READ_AT_ONCE = 128

/** The blocks, for `createLogIndex` and `recallBlocks`. */
export function createBlockSource(transaction: ReadTransaction): BlockSource {
  const groups = transaction.objectStore('groups')
  const blocks = transaction.objectStore('blocks')
  return {
    async readGroups(from, count, backwards) {
      if (!backwards) {
        const records = await groups.getAll(IDBKeyRange.lowerBound(from), count)
        return records.map(({ number, ...group }) => ({ number, group }))
      }
      const found = []
      let cursor = await groups.openCursor(IDBKeyRange.upperBound(from), 'prev')
      while (cursor !== null && found.length < count) {
        const { number, ...group } = cursor.value
        found.push({ number, group })
        cursor = found.length < count ? await cursor.continue() : null
      }
      return found
    },

    async readBlocks(numbers) {
      const records = await Promise.all(numbers.map((number) => blocks.get(number)))
      return records.map((record) => record ?? null)
    },
  }
}

/** The unsealed ends of logs, in the order of the sessions' numbers, until they hold `enough` events. */
export async function readTails(
  transaction: ReadTransaction,
  enough: number = Number.POSITIVE_INFINITY,
): Promise<readonly Tail[]> {
  const heads = transaction.objectStore('heads')
  const tails: Tail[] = []
  let events = 0
  for (let after = 0; events < enough; ) {
    const sessions = await transaction
      .objectStore('tails')
      .getAllKeys(IDBKeyRange.lowerBound(after, true), READ_AT_ONCE)
    const found = await Promise.all(sessions.map((session) => heads.get(session)))
    for (const head of found) {
      if (head === undefined) continue
      const tail = { session: head.number, first: sealedSeqOf(head) + 1, last: head.lastSeq }
      if (tail.first > tail.last) continue
      tails.push(tail)
      events += tail.last - tail.first + 1
      if (events >= enough) break
    }
    if (sessions.length < READ_AT_ONCE) break
    after = sessions.at(-1) ?? after
  }
  return tails
}

/** Events up to this `seq` are in blocks. */
export function sealedSeqOf(head: Pick<StoredHead, 'sealedSeq'>): number {
  return head.sealedSeq ?? 0
}

/**
 * Seals one block when the tails hold enough for it.
 *
 * @returns whether there may be enough for another one.
 */
export async function sealBlock(
  transaction: WriteTransaction,
  { limits }: SearchSettings,
): Promise<boolean> {
  const tails = await readTails(transaction, limits.events)
  if (countTails(tails) < limits.events) return false
  const sealing = new Sealing(limits)
  for (const tail of tails) if (!(await offer(transaction, sealing, tail))) break
  const sealed = sealing.finish()
  if (sealed === null) return false
  // The number is drawn by the database and never again, so that numbers ascend with the log.
  const number = await transaction.objectStore('blocks').add(sealed.stored as StoredBlockRecord)
  const groups = transaction.objectStore('groups')
  const group = (await groups.get(groupOf(number))) ?? null
  const entry = sealed.entryOf(number)
  put(transaction, 'groups', [{ number: groupOf(number), ...withEntry(group, entry) }])
  const heads = transaction.objectStore('heads')
  for (const { session, last } of tails) {
    const next = sealed.firsts.get(session)
    const head = next === undefined ? undefined : await heads.get(session)
    if (next === undefined || head === undefined) continue
    put(transaction, 'heads', [{ ...head, sealedSeq: next - 1 }])
    if (next > last) remove(transaction, 'tails', session)
  }
  return true
}

/** Offers a tail to a block; `false` when the block is full. */
async function offer(
  transaction: ReadTransaction,
  sealing: Sealing,
  { session, first, last }: Tail,
): Promise<boolean> {
  const source = createLogSource(transaction, session)
  for (let next = first; next <= last; ) {
    const records = await source.read([[next, Math.min(last, next + READ_AT_ONCE - 1)]])
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

/** The last `seq` of a session that a block holds; for a head that was lost. */
export async function findSealedSeq(
  transaction: ReadTransaction,
  session: number,
): Promise<number> {
  let sealed = 0
  for await (const entries of directoryOf(createBlockSource(transaction))) {
    for (const { runs } of entries ?? []) {
      for (const run of runs) if (run.session === session) sealed = Math.max(sealed, run.last)
    }
  }
  return sealed
}

/** Takes the texts of sessions out of every block. */
export function removeFromBlocks(
  transaction: WriteTransaction,
  sessions: ReadonlySet<number>,
): Promise<void> {
  return changeBlocks(
    transaction,
    ({ runs }) => runs.some(({ session }) => sessions.has(session)),
    ({ session }) => (sessions.has(session) ? 'remove' : 'keep'),
  )
}

/** Takes the text of one event out of its block. */
export function eraseFromBlock(
  transaction: WriteTransaction,
  session: number,
  seq: number,
): Promise<void> {
  return changeBlocks(
    transaction,
    ({ runs }) =>
      runs.some((run) => run.session === session && run.first <= seq && seq <= run.last),
    (entry) => (entry.session === session && entry.seq === seq ? 'blank' : 'keep'),
  )
}

async function changeBlocks(
  transaction: WriteTransaction,
  isConcerned: (entry: DirectoryEntry) => boolean,
  change: (entry: BlockEntry) => 'keep' | 'blank' | 'remove',
): Promise<void> {
  const groups = transaction.objectStore('groups')
  const blocks = transaction.objectStore('blocks')
  for (const number of await groups.getAllKeys()) {
    const group = await groups.get(number)
    const concerned = group === undefined ? [] : decodeGroup(group).filter(isConcerned)
    if (group === undefined || concerned.length === 0) continue
    let changed = { entries: group.entries, signatures: group.signatures }
    for (const { block } of concerned) {
      const stored = await blocks.get(block)
      const content: Block =
        stored === undefined ? { entries: [], text: '' } : changeBlock(decodeBlock(stored), change)
      changed = withChangedBlock(changed, block, content)
      if (content.entries.length === 0) remove(transaction, 'blocks', block)
      else put(transaction, 'blocks', [{ number: block, ...encodeBlock(content) }])
    }
    put(transaction, 'groups', [{ number, ...changed }])
  }
}
