/** The stamps of tails, which appends count on. */

import { rowsOf } from './key-ranges.ts'
import { put, remove, type WriteTransaction } from './transactions.ts'

/** Gives a session another tail, or none: appends that count on the one before are rolled back. */
export function replaceTail(
  transaction: WriteTransaction,
  session: number,
  stamp: number | null,
): void {
  remove(transaction, 'tails', rowsOf(session))
  if (stamp !== null) put(transaction, 'tails', [{ session, stamp }])
}
