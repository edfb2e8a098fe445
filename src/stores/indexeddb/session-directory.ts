/** Finds sessions by id, and remembers what was found, so that an append need not look first. */

import { unwrap } from 'idb'
import type { SessionRecord } from '../../core/session-repository.ts'
import { rebuildHead } from './heads.ts'
import type { StoredHead, StoredSession } from './schema.ts'
import { fromStoredSession, isIntactHead, sealedSeqOf } from './stored-records.ts'
import { type ReadTransaction, readLarge } from './transactions.ts'

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
      const heads = unwrap(transaction).objectStore('heads')
      const request: IDBRequest<StoredHead | undefined> = heads.get(stored.number)
      const head = await readLarge(request)
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
