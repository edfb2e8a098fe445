/** Writes what changes of a session besides its events. */

import type { SessionRecord } from '../../core/session-repository.ts'
import { openRecency, readOpenHeads } from './heads.ts'
import { type FoundSession, findByRecord, toFound } from './session-directory.ts'
import { newStamp, toStoredSession } from './stored-records.ts'
import { replaceTail } from './tail-stamps.ts'
import { put, type WriteTransaction } from './transactions.ts'

/** As many sessions of a user may be open: their places in the list must be looked for. */
const MOST_OPEN = 16

export interface SessionChange {
  /** Whether the session's own record changes as well, and gets another stamp. */
  readonly isRewritten?: boolean
  /** Whether plain appends need not read the session from now on, until the next change. */
  readonly isOpened?: boolean
}

/** Writes a session. Appends by what was remembered of it until now come too late. */
export function writeSession(
  transaction: WriteTransaction,
  { stored, record, sealedSeq, ...found }: FoundSession,
  session: SessionRecord,
  { isRewritten = false, isOpened = false }: SessionChange,
): FoundSession {
  const { number, userId, lastSeq } = session
  const records = toStoredSession(session, sealedSeq, isRewritten ? newStamp() : stored.stamp)
  const tail = newStamp()
  const head = isOpened
    ? { ...records.head, recency: openRecency(userId, number), tail }
    : records.head
  if (isRewritten) put(transaction, 'sessions', [records.stored])
  put(transaction, 'heads', [head])
  if (isOpened || found.isOpen || record.lastSeq === sealedSeq) {
    replaceTail(transaction, number, isOpened || lastSeq > sealedSeq ? tail : null)
  }
  return toFound(transaction, records.stored, head)
}

/** Closes the open sessions of a user when there are many: those in use are opened again. */
export async function closeSessions(transaction: WriteTransaction, userId: string): Promise<void> {
  const open = await readOpenHeads(transaction, userId)
  if (open.length < MOST_OPEN) return
  for (const { number } of open) {
    const stored = await transaction.objectStore('sessions').get(number)
    const found = await findByRecord(transaction, stored)
    if (found !== null) writeSession(transaction, found, found.record, {})
  }
}
