/** The search structure as records: blocks, and the groups of their directory. */

import { unwrap } from 'idb'
import type { StoredBlock } from '../../search/block.ts'
import { areWhole, encodeGroup, groupOf, type StoredGroup } from '../../search/directory.ts'
import { type BlockSource, directoryOf } from '../../search/log-index.ts'
import {
  blocksToChange,
  type ChangedGroup,
  changeGroup,
  type Removal,
} from '../../search/removal.ts'
import type { StoredBlockRecord, StoredGroupRecord } from './schema.ts'
import { fromBlockRecord, newStamp, toBlockRecord } from './stored-records.ts'
import { replaceTail } from './tail-stamps.ts'
import {
  put,
  type ReadTransaction,
  readLarge,
  remove,
  type WriteTransaction,
} from './transactions.ts'

/** The blocks, for `createLogIndex` and `recallBlocks`; `damaged` is told of damage. */
export function createBlockSource(
  transaction: ReadTransaction,
  damaged: () => void = () => undefined,
): BlockSource {
  const groups = unwrap(transaction.objectStore('groups'))
  return {
    async readGroups([first, last]) {
      const request: IDBRequest<StoredGroupRecord[]> = groups.getAll(IDBKeyRange.bound(first, last))
      return (await readLarge(request)) ?? []
    },

    readBlocks: (numbers) =>
      Promise.all(numbers.map(async (number) => (await readBlock(transaction, number)) ?? null)),

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

async function readBlock(
  transaction: ReadTransaction,
  number: number,
): Promise<StoredBlock | undefined> {
  const blocks = unwrap(transaction.objectStore('blocks'))
  const request: IDBRequest<StoredBlockRecord | undefined> = blocks.get(number)
  const record = await readLarge(request)
  return record && fromBlockRecord(record)
}

/** A group; `undefined` when it is missing or unreadable. */
export async function readGroup(
  transaction: ReadTransaction,
  number: number,
): Promise<StoredGroupRecord | undefined> {
  return readLarge(unwrap(transaction.objectStore('groups')).get(number))
}

export async function readLastKey(
  transaction: ReadTransaction,
  store: 'groups' | 'blocks',
): Promise<number | null> {
  return (await transaction.objectStore(store).openKeyCursor(null, 'prev'))?.primaryKey ?? null
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
  const numbers = await transaction.objectStore('groups').getAllKeys()
  if (!areWhole(numbers, await readLastKey(transaction, 'blocks'))) return unsealAll(transaction)
  for (const number of numbers) {
    const group = await readGroup(transaction, number)
    const change = group === undefined ? null : await planChange(transaction, group, removal)
    if (change === null) return unsealAll(transaction)
    if (change.blocks.size === 0) continue
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
): Promise<ChangedGroup | null> {
  const read = new Map<number, StoredBlock>()
  const numbers = blocksToChange(group, removal)
  if (numbers === null) return null
  for (const number of numbers) {
    const block = await readBlock(transaction, number)
    if (block !== undefined) read.set(number, block)
  }
  return changeGroup(group, removal, read)
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
  for (const session of await transaction.objectStore('sessions').getAllKeys()) {
    const head = await transaction.objectStore('heads').get(session)
    if (head?.lastSeq === 0) continue
    if (head !== undefined) put(transaction, 'heads', [{ ...head, sealedSeq: 0 }])
    // Of a head that is lost nobody knows whether there are events. An open session has a tail.
    if (head?.tail === undefined) replaceTail(transaction, session, newStamp())
  }
}
