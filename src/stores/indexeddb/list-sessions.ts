/** The sessions of a user in an order, by reading the page, what has expired on it, and the few that are open. */

import { isExpired, listTime } from '../../core/session-record.ts'
import type { ListRequest, SessionRecord } from '../../core/session-repository.ts'
import { afterOpen, isOpen, readHead, readOpenHeads } from './heads.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { findByRecord } from './session-directory.ts'
import { fromStoredSession } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/** One page; see `SessionRepository.listSessions`. */
export async function listSessions(
  transaction: ReadTransaction,
  { userId, order, limit, after, now }: ListRequest,
): Promise<readonly SessionRecord[]> {
  const direction = order === 'recent' ? -1 : 1
  const found: SessionRecord[] = []
  let start: IDBValidKey =
    after === undefined
      ? afterOpen(userId)
      : [userId, direction * after.time, direction * after.number]
  while (found.length < limit) {
    const wanted = limit - found.length
    const range: IDBKeyRange = IDBKeyRange.bound(start, [userId, []], true, false)
    const places: readonly Place[] =
      order === 'recent'
        ? await readRecent(transaction, userId, range, wanted)
        : await readCreated(transaction, range, wanted)
    for (const { session } of places) {
      if (session !== null && !isExpired(session, now)) found.push(session)
    }
    if (places.length < wanted) break
    start = places.at(-1)?.key ?? start
  }
  return found
}

/** The session with a number. */
export async function readSession(
  transaction: ReadTransaction,
  number: number,
): Promise<SessionRecord | null> {
  const [stored, head] = await Promise.all([
    transaction.objectStore('sessions').get(number),
    readHead(transaction, number),
  ])
  return stored === undefined || head === null ? null : fromStoredSession(stored, head)
}

/** Every session of a user, in no particular order. */
export async function readSessionsOf(
  transaction: ReadTransaction,
  userId: string,
): Promise<readonly SessionRecord[]> {
  const [sessions, heads] = await Promise.all([
    transaction.objectStore('sessions').index('created').getAll(rowsOf(userId)),
    transaction.objectStore('heads').index('recency').getAll(rowsOf(userId)),
  ])
  const headOf = new Map(heads.map((head) => [head.number, head]))
  const found = await Promise.all(
    sessions.map((stored) => toRecord(transaction, stored, headOf.get(stored.number))),
  )
  return found.filter((session) => session !== null)
}

/** Where a session stands in an index. */
interface Place {
  readonly key: IDBValidKey
  readonly session: SessionRecord | null
}

async function readRecent(
  transaction: ReadTransaction,
  userId: string,
  range: IDBKeyRange,
  count: number,
): Promise<readonly Place[]> {
  const sessions = transaction.objectStore('sessions')
  const index = transaction.objectStore('heads').index('recency')
  const [closed, open] = await Promise.all([
    index.getAll(range, count),
    readOpenHeads(transaction, userId),
  ])
  const places = await Promise.all(
    [...closed, ...open].map(async (head) => {
      const session = await toRecord(transaction, await sessions.get(head.number), head)
      const own = session === null ? null : -listTime(session, 'recent')
      const [, place, number] = head.recency
      const time = isOpen(head) && own !== null ? own : place
      // At a damaged place a session cannot be shown: pages would go on behind it elsewhere.
      return { time, number, key: [userId, time, number], session: own === time ? session : null }
    }),
  )
  return places
    .filter(({ key }) => range.includes(key))
    .sort((a, b) => a.time - b.time || a.number - b.number)
    .slice(0, count)
}

async function readCreated(
  transaction: ReadTransaction,
  range: IDBKeyRange,
  count: number,
): Promise<readonly Place[]> {
  const sessions = await transaction.objectStore('sessions').index('created').getAll(range, count)
  return Promise.all(
    sessions.map(async (stored) => ({
      key: [stored.userId, stored.createdAt, stored.number],
      session: await toRecord(transaction, stored),
    })),
  )
}

async function toRecord(
  transaction: ReadTransaction,
  stored: StoredSession | undefined,
  head?: StoredHead,
): Promise<SessionRecord | null> {
  return (await findByRecord(transaction, stored, head))?.record ?? null
}
