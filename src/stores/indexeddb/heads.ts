/** The heads of sessions: what every append changes, found again in the log when it is lost. */

import { findSealedSeq } from './block-rows.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { isIntactHead } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/** The head of a session with a number; `null` when there is no such session. */
export async function readHead(
  transaction: ReadTransaction,
  number: number,
): Promise<StoredHead | null> {
  const head = await transaction.objectStore('heads').get(number)
  if (isIntactHead(head)) return head
  const stored = await transaction.objectStore('sessions').get(number)
  return stored === undefined ? null : rebuildHead(transaction, stored)
}

/** The head of a session whose own is missing or damaged. Its version may be too high, never too low. */
export async function rebuildHead(
  transaction: ReadTransaction,
  { number, stamp, userId, createdAt }: StoredSession,
): Promise<StoredHead> {
  const boundaries = transaction.objectStore('boundaries')
  const [event, newest, count, sealed, tail] = await Promise.all([
    transaction.objectStore('events').openCursor(rowsOf(number), 'prev'),
    boundaries.openCursor(rowsOf(number), 'prev'),
    boundaries.count(rowsOf(number)),
    findSealedSeq(transaction, number),
    transaction.objectStore('tails').getKey(number),
  ])
  const boundary = newest?.value.boundary ?? null
  // The last events may be lost as well: their numbers are not given again.
  const lastSeq = Math.max(event?.value.seq ?? 0, boundary?.position ?? 0, sealed)
  const lastEventAt = event?.value.timestamp ?? null
  return {
    number,
    stamp,
    lastSeq,
    version: lastSeq + count,
    lastEventAt,
    latestTimestamp: event?.value.latestTimestamp ?? lastEventAt,
    boundary,
    // Without a tail everything is in blocks, but for what was damaged when it was sealed.
    sealedSeq: tail === undefined ? lastSeq : sealed,
    recency: [userId, -(lastEventAt ?? createdAt), -number],
  }
}
