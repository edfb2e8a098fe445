/**
 * Appending to an open session by what is remembered of it, without reading it first.
 *
 * What is remembered holds as long as the stamp of the session's tail is there: every change but a plain
 * append replaces it. The append looks for it and writes, and is on its way to be committed before either is
 * done. When another instance has appended the same `seq`, or an id turns out to be stored (the index over
 * the ids refuses it), the transaction is rolled back. When the stamp is gone, the events stand beyond the
 * end of a log that is closed, or was deleted: nobody reads them there, and they are taken back. If this tab
 * is killed before, the next append of anyone removes them.
 */

import { unwrap } from 'idb'
import type { EventRecord } from '../../core/session-repository.ts'
import { removeBeyond, toEventRows } from './event-rows.ts'
import { isOpen, readHead } from './heads.ts'
import type { FoundSession } from './session-directory.ts'
import { nameOf } from './storage-error.ts'
import type { Transactions } from './transactions.ts'

/** Whether the events were appended; if not, none is in the log, and the session has to be looked up. */
export async function appendToOpen(
  transactions: Transactions,
  { record: { number, lastSeq }, database }: FoundSession,
  tail: number,
  events: readonly EventRecord[],
): Promise<boolean> {
  const rows = toEventRows(number, events)
  // What says of an event that it is late is not at the end of anything: it could not be taken back.
  if (rows.late.length > 0) return false
  const stores = rows.bodies.length > 0 ? (['events', 'bodies'] as const) : (['events'] as const)
  try {
    const key = await transactions.writeAtOnce(['tails', ...stores], (transaction) => {
      // Numbers of sessions mean nothing in another database.
      if (transaction.db !== unwrap(database)) return null
      const request = transaction.objectStore('tails').getKey([number, tail])
      for (const name of stores) {
        const store = transaction.objectStore(name)
        for (const row of rows[name]) store.add(row)
      }
      return request
    })
    if (key === undefined) await takeBack(transactions, number, lastSeq)
    return Array.isArray(key)
  } catch (error) {
    if (nameOf((error as Error).cause) === 'ConstraintError') return false
    throw error
  }
}

/** Removes what came too late; in an open log its places are others' by now. */
function takeBack(transactions: Transactions, number: number, lastKnown: number): Promise<void> {
  return transactions.write(async (transaction) => {
    const head = await readHead(transaction, number)
    if (head !== null && isOpen(head)) return
    removeBeyond(transaction, number, head?.lastSeq ?? lastKnown)
  })
}
