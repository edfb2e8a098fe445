/** The heads of sessions: what their logs have come to, with what was appended since they were written. */

import { findSealedSeq } from './block-rows.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { isIntactHead, salvageEvent } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/**
 * The head of a session with a number, as it is now; `null` when there is no such session.
 *
 * @param found what is stored as its head, where that was read already.
 * @param known the session with the same stamp as it was at some time: then no event is read when none has come.
 */
export async function readHead(
  transaction: ReadTransaction,
  number: number,
  found?: StoredHead,
  known?: LogEnd,
): Promise<StoredHead | null> {
  const head = found ?? (await transaction.objectStore('heads').get(number))
  if (isIntactHead(head)) return isOpen(head) ? withLogEnd(transaction, head, known) : head
  const stored = await transaction.objectStore('sessions').get(number)
  return stored === undefined ? null : rebuildHead(transaction, stored)
}

/** Whether instances may append to the session without changing its head. */
export function isOpen({ recency }: StoredHead): boolean {
  return recency[1] === Number.NEGATIVE_INFINITY
}

/** The place of an open session: before all others of its user. */
export function openRecency(userId: string, number: number): StoredHead['recency'] {
  return [userId, Number.NEGATIVE_INFINITY, -number]
}

/** Between the places of a user's open sessions and the others. */
export function afterOpen(userId: string): IDBValidKey[] {
  return [userId, Number.NEGATIVE_INFINITY, []]
}

/** The heads of a user's open sessions, as they are stored. */
export async function readOpenHeads(
  transaction: ReadTransaction,
  userId: string,
): Promise<readonly StoredHead[]> {
  const range = IDBKeyRange.bound([userId], afterOpen(userId))
  return transaction.objectStore('heads').index('recency').getAll(range)
}

/** The head of a session whose own is missing or damaged. Its version may be too high, never too low. */
async function rebuildHead(
  transaction: ReadTransaction,
  { number, stamp, userId }: StoredSession,
): Promise<StoredHead> {
  const boundaries = transaction.objectStore('boundaries')
  const [newest, count, sealed, tail] = await Promise.all([
    boundaries.openCursor(rowsOf(number), 'prev'),
    boundaries.count(rowsOf(number)),
    findSealedSeq(transaction, number),
    transaction.objectStore('tails').getKey(rowsOf(number)),
  ])
  const boundary = newest?.value.boundary ?? null
  // The last events may be lost as well: their numbers are not given again.
  const lastSeq = Math.max(boundary?.position ?? 0, sealed)
  const head = await withLogEnd(transaction, {
    number,
    stamp,
    lastSeq,
    version: lastSeq + count,
    lastEventAt: null,
    latestTimestamp: null,
    boundary,
    // Nobody knows whether it was: then who writes must act as if it were.
    recency: openRecency(userId, number),
  })
  // Without a tail everything is in blocks, but for what was damaged when it was sealed.
  return { ...head, sealedSeq: tail === undefined ? head.lastSeq : sealed }
}

/** A head with the events that were appended after it was written. */
async function withLogEnd(
  transaction: ReadTransaction,
  head: StoredHead,
  known?: LogEnd,
): Promise<StoredHead> {
  const { lastSeq } = head
  const end = await readLogEnd(transaction, head.number, known)
  if (end === null) return head
  const appended = Math.max(0, end.lastSeq - lastSeq)
  return { ...head, ...end, lastSeq: lastSeq + appended, version: head.version + appended }
}

/** What the last event of a log says. */
type LogEnd = Pick<StoredHead, 'lastSeq' | 'lastEventAt' | 'latestTimestamp'>

async function readLogEnd(
  transaction: ReadTransaction,
  session: number,
  known?: LogEnd,
): Promise<LogEnd | null> {
  const events = transaction.objectStore('events')
  if (known !== undefined) {
    const { lastSeq, lastEventAt, latestTimestamp } = known
    const last = await events.openKeyCursor(rowsOf(session), 'prev')
    if (last?.key[1] === lastSeq) return { lastSeq, lastEventAt, latestTimestamp }
  }
  const last = await events.openCursor(rowsOf(session), 'prev')
  if (last === null) return null
  const { seq, timestamp, latestTimestamp } = salvageEvent(last.value)
  return { lastSeq: seq, lastEventAt: timestamp, latestTimestamp }
}
