/** Finds sessions by id. Remembers their records, so that an append has one small record to read. */

import type { SessionRecord } from '../../core/session-repository.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { fromStoredSession, isIntactHead } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

export interface FoundSession {
  readonly stored: StoredSession
  readonly record: SessionRecord
}

export interface SessionDirectory {
  /** The session as the transaction sees it, expired or not. */
  find(transaction: ReadTransaction, sessionId: string): Promise<FoundSession | null>
  /** For a record that was just committed. */
  remember(stored: StoredSession): void
}

const MOST_REMEMBERED = 256

export function createSessionDirectory(): SessionDirectory {
  const remembered = new Map<string, StoredSession>()

  const remember = (stored: StoredSession) => {
    remembered.delete(stored.id)
    remembered.set(stored.id, stored)
    if (remembered.size > MOST_REMEMBERED) {
      for (const [oldest] of remembered) {
        remembered.delete(oldest)
        break
      }
    }
  }

  return {
    remember,

    async find(transaction, sessionId) {
      const known = remembered.get(sessionId)
      if (known !== undefined) {
        const head = await transaction.objectStore('heads').get(known.number)
        // The stamp says that nothing has changed, not even that the database is another one by now.
        if (isIntactHead(head) && head.stamp === known.stamp) {
          return { stored: known, record: fromStoredSession(known, head) }
        }
        remembered.delete(sessionId)
      }
      const stored = await transaction.objectStore('sessions').index('id').get(sessionId)
      if (stored === undefined) return null
      const head = await transaction.objectStore('heads').get(stored.number)
      if (isIntactHead(head) && head.stamp === stored.stamp) remember(stored)
      return {
        stored,
        record: fromStoredSession(
          stored,
          isIntactHead(head) ? head : await rebuildHead(transaction, stored),
        ),
      }
    },
  }
}

/** The head of a session whose own is missing or damaged. Its version may be too high, never too low. */
export async function rebuildHead(
  transaction: ReadTransaction,
  { number, stamp, userId, createdAt }: StoredSession,
): Promise<StoredHead> {
  const boundaries = transaction.objectStore('boundaries')
  const [event, newest, count] = await Promise.all([
    transaction.objectStore('events').openCursor(rowsOf(number), 'prev'),
    boundaries.openCursor(rowsOf(number), 'prev'),
    boundaries.count(rowsOf(number)),
  ])
  const lastSeq = event?.value.seq ?? 0
  const lastEventAt = event?.value.timestamp ?? null
  return {
    number,
    stamp,
    lastSeq,
    version: lastSeq + count,
    lastEventAt,
    latestTimestamp: event?.value.latestTimestamp ?? lastEventAt,
    boundary: newest?.value.boundary ?? null,
    recency: [userId, -(lastEventAt ?? createdAt), -number],
  }
}
