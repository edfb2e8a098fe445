/** The tails: the ends of logs that are open, or in no block yet. */

import type { Tail, Tails } from '../../search/sealing.ts'
import { readHead } from './heads.ts'
import type { StoredHead } from './schema.ts'
import { sealedSeqOf } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/** How many tails are read at a time. */
const READ_AT_ONCE = 128

/** The tails in the order of the sessions' numbers, until they hold `enough` events, with the heads. */
export async function readTails(
  transaction: ReadTransaction,
  enough: number = Number.POSITIVE_INFINITY,
): Promise<Tails & { readonly heads: ReadonlyMap<number, StoredHead> }> {
  const tails: Tail[] = []
  const heads = new Map<number, StoredHead>()
  let events = 0
  for (let after = 0; ; ) {
    const keys = await transaction
      .objectStore('tails')
      .getAllKeys(IDBKeyRange.lowerBound([after, []]), READ_AT_ONCE)
    const found = await Promise.all(keys.map(([session]) => readHead(transaction, session)))
    for (const head of found) {
      if (events >= enough) return { tails, heads, isAll: false }
      if (head === null) continue
      const tail = { session: head.number, first: sealedSeqOf(head) + 1, last: head.lastSeq }
      if (tail.first > tail.last) continue
      tails.push(tail)
      heads.set(head.number, head)
      events += tail.last - tail.first + 1
    }
    if (keys.length < READ_AT_ONCE) return { tails, heads, isAll: true }
    after = keys.at(-1)?.[0] ?? after
  }
}
