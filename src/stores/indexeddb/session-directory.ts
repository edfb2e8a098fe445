/** Finds sessions by id, and remembers what was found, so that an append need not look first. */

import type { SessionRecord } from '../../core/session-repository.ts'
import { findSealedSeq, sealedSeqOf } from './block-rows.ts'
import { rowsOf } from './key-ranges.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { fromStoredSession, isIntactHead } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

export interface FoundSession {
  readonly stored: StoredSession
  readonly record: SessionRecord
  /** Events up to this `seq` are in blocks. */
  readonly sealedSeq: number
}

export interface SessionDirectory {
  /** The session as the transaction sees it, expired or not. */
  find(transaction: ReadTransaction, sessionId: string): Promise<FoundSession | null>
  /** The session as this instance knows it. It may have changed: see {@link recheck}. */
  recall(sessionId: string): FoundSession | null
  /** The session as the transaction sees it, when it differs in nothing but what is sealed; else `null`. */
  recheck(transaction: ReadTransaction, found: FoundSession): Promise<FoundSession | null>
  /** For what was just committed. */
  remember(found: FoundSession): void
}

const MOST_REMEMBERED = 256

export function createSessionDirectory(): SessionDirectory {
  const remembered = new Map<string, FoundSession>()

  const remember = (found: FoundSession): FoundSession => {
    remembered.delete(found.stored.id)
    remembered.set(found.stored.id, found)
    if (remembered.size > MOST_REMEMBERED) {
      const [oldest] = remembered.keys()
      remembered.delete(oldest as string)
    }
    return found
  }

  return {
    remember,

    recall: (sessionId) => remembered.get(sessionId) ?? null,

    async recheck(transaction, { stored, record }) {
      const head = await transaction.objectStore('heads').get(stored.number)
      // Whatever a commit changes, it raises the version.
      return head?.stamp === stored.stamp && head.version === record.version
        ? { stored, record, sealedSeq: sealedSeqOf(head) }
        : null
    },

    async find(transaction, sessionId) {
      const known = remembered.get(sessionId)
      if (known !== undefined) {
        const { stored } = known
        const head = await transaction.objectStore('heads').get(stored.number)
        // The stamp says that the record is the same, and not one of another database by now.
        if (isIntactHead(head) && head.stamp === stored.stamp) {
          return remember(toFound(stored, head))
        }
        remembered.delete(sessionId)
      }
      const stored = await transaction.objectStore('sessions').index('id').get(sessionId)
      if (stored === undefined) return null
      const head = await transaction.objectStore('heads').get(stored.number)
      return isIntactHead(head)
        ? remember(toFound(stored, head))
        : toFound(stored, await rebuildHead(transaction, stored))
    },
  }
}

function toFound(stored: StoredSession, head: StoredHead): FoundSession {
  return { stored, record: fromStoredSession(stored, head), sealedSeq: sealedSeqOf(head) }
}

/** The head of a session whose own is missing or damaged. Its version may be too high, never too low. */
export async function rebuildHead(
  transaction: ReadTransaction,
  { number, stamp, userId, createdAt }: StoredSession,
): Promise<StoredHead> {
  const boundaries = transaction.objectStore('boundaries')
  const [event, newest, count, sealedSeq] = await Promise.all([
    transaction.objectStore('events').openCursor(rowsOf(number), 'prev'),
    boundaries.openCursor(rowsOf(number), 'prev'),
    boundaries.count(rowsOf(number)),
    findSealedSeq(transaction, number),
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
    sealedSeq,
    recency: [userId, -(lastEventAt ?? createdAt), -number],
  }
}
