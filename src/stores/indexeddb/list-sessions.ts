/** The sessions of a user in an order, by reading no more than the page (and what has expired on it). */

import { isExpired } from '../../core/session-record.ts'
import type { ListRequest, SessionRecord } from '../../core/session-repository.ts'
import { rebuildHead } from './heads.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { fromStoredSession, isIntactHead } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/** One page; see `SessionRepository.listSessions`. */
export async function listSessions(
  transaction: ReadTransaction,
  { userId, order, limit, after, now }: ListRequest,
): Promise<readonly SessionRecord[]> {
  const direction = order === 'recent' ? -1 : 1
  const found: SessionRecord[] = []
  let start: IDBValidKey | null =
    after === undefined ? null : [userId, direction * after.time, direction * after.number]
  while (found.length < limit) {
    const wanted = limit - found.length
    const range: IDBKeyRange =
      start === null ? rowsOf(userId) : IDBKeyRange.bound(start, [userId, []], true, false)
    const places: readonly Place[] =
      order === 'recent'
        ? await readRecent(transaction, range, wanted)
        : await readCreated(transaction, range, wanted)
    for (const { session } of places) {
      if (session !== null && !isExpired(session, now)) found.push(session)
    }
    if (places.length < wanted) break
    start = places.at(-1)?.key ?? null
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
    transaction.objectStore('heads').get(number),
  ])
  return stored === undefined ? null : toRecord(transaction, stored, head)
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
  return Promise.all(
    sessions.map((stored) => toRecord(transaction, stored, headOf.get(stored.number))),
  )
}

/** Where a session stands in an index. */
interface Place {
  readonly key: IDBValidKey
  readonly session: SessionRecord | null
}

async function readRecent(
  transaction: ReadTransaction,
  range: IDBKeyRange,
  count: number,
): Promise<readonly Place[]> {
  const sessions = transaction.objectStore('sessions')
  const heads = await transaction.objectStore('heads').index('recency').getAll(range, count)
  return Promise.all(
    heads.map(async (head) => {
      const stored = await sessions.get(head.number)
      return {
        key: [...head.recency],
        session: stored === undefined ? null : await toRecord(transaction, stored, head),
      }
    }),
  )
}

async function readCreated(
  transaction: ReadTransaction,
  range: IDBKeyRange,
  count: number,
): Promise<readonly Place[]> {
  const heads = transaction.objectStore('heads')
  const sessions = await transaction.objectStore('sessions').index('created').getAll(range, count)
  return Promise.all(
    sessions.map(async (stored) => ({
      key: [stored.userId, stored.createdAt, stored.number],
      session: await toRecord(transaction, stored, await heads.get(stored.number)),
    })),
  )
}

async function toRecord(
  transaction: ReadTransaction,
  stored: StoredSession,
  head: StoredHead | undefined,
): Promise<SessionRecord> {
  const intact = isIntactHead(head) ? head : await rebuildHead(transaction, stored)
  return fromStoredSession(stored, intact)
}
