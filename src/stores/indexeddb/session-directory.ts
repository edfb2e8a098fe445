/** Finds sessions by id, and remembers what was found, so that an append need not look first. */

import type { SessionRecord } from '../../core/session-repository.ts'
import { isOpen, readHead } from './heads.ts'
import type { Database, StoredHead, StoredSession } from './schema.ts'
import { fromStoredSession, isIntactHead, sealedSeqOf } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

export interface FoundSession {
  readonly stored: StoredSession
  readonly record: SessionRecord
  /** Events up to this `seq` are in blocks. */
  readonly sealedSeq: number
  readonly isOpen: boolean
  /** The stamp of its tail, when it is open. */
  readonly tail: number | null
  /** The connection that it was found on: on another one its number may be another session's. */
  readonly database: Database
}

export interface SessionDirectory {
  /** The session as the transaction sees it, expired or not. */
  find(transaction: ReadTransaction, sessionId: string): Promise<FoundSession | null>
  /** The session as this instance knows it. It may have changed. */
  recall(sessionId: string): FoundSession | null
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

    async find(transaction, sessionId) {
      const known = remembered.get(sessionId)
      if (known !== undefined) {
        const { stored, record } = known
        const head = await transaction.objectStore('heads').get(stored.number)
        // The stamp says that the record is the same, and not one of another database by now. A head that is
        // damaged is written again by the next append, which must look it up.
        if (isIntactHead(head) && head.stamp === stored.stamp) {
          const current = await readHead(transaction, stored.number, head, record)
          return remember(toFound(transaction, stored, current ?? head))
        }
        remembered.delete(sessionId)
      }
      const stored = await transaction.objectStore('sessions').index('id').get(sessionId)
      const found = await findByRecord(transaction, stored)
      return found === null ? null : remember(found)
    },
  }
}

/** The session of a record that was just read. */
export async function findByRecord(
  transaction: ReadTransaction,
  stored: StoredSession | undefined,
  head?: StoredHead,
): Promise<FoundSession | null> {
  const current = stored === undefined ? null : await readHead(transaction, stored.number, head)
  return stored === undefined || current === null ? null : toFound(transaction, stored, current)
}

export function toFound(
  { db }: ReadTransaction,
  stored: StoredSession,
  head: StoredHead,
): FoundSession {
  return {
    stored,
    record: fromStoredSession(stored, head),
    sealedSeq: sealedSeqOf(head),
    isOpen: isOpen(head),
    tail: head.tail ?? null,
    database: db,
  }
}
