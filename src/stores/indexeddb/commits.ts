/**
 * Commits, in the order of the calls.
 *
 * An append that reads first what it writes next takes a third longer. So a plain append is planned on
 * what this instance remembers of the session, and its transaction checks that nothing has changed
 * since while it writes already. When something has, or an id turns out to be stored (the index over
 * the ids refuses it), that transaction is rolled back, and a second one looks everything up.
 */

import { SessionError } from '../../core/errors.ts'
import { type CommitPlan, idsOfCommit, planCommit } from '../../core/plan-commit.ts'
import { isExpired } from '../../core/session-record.ts'
import type { Commit, EventRecord } from '../../core/session-repository.ts'
import { findEvent, writeEvents } from './event-rows.ts'
import type { FoundSession, SessionDirectory } from './session-directory.ts'
import { nameOf } from './storage-error.ts'
import { toStoredSession } from './stored-records.ts'
import {
  add,
  put,
  type ReadTransaction,
  type Transactions,
  type WriteTransaction,
} from './transactions.ts'

/** What came of a commit. */
export interface Committed {
  readonly plan: CommitPlan
  /** The session before and after; `null` when nothing was written. */
  readonly written: { readonly before: FoundSession; readonly after: FoundSession } | null
}

export type Committer = (sessionId: string, commit: Commit) => Promise<Committed>

export function createCommitter(
  transactions: Transactions,
  directory: SessionDirectory,
): Committer {
  const running = new Map<string, Promise<unknown>>()

  const commitLookingUp = (sessionId: string, commit: Commit): Promise<Committed> =>
    transactions.write(async (transaction) => {
      const found = await directory.find(transaction, sessionId)
      const plan = planCommit(sessionId, commit, {
        session: found?.record ?? null,
        ...(found === null
          ? { stored: new Map(), operationStored: false }
          : await findStored(transaction, found.record.number, commit)),
      })
      if (found === null || !plan.changed) return { plan, written: null }
      return { plan, written: { before: found, after: writePlan(transaction, found, plan) } }
    })

  const commitRemembered = async (sessionId: string, commit: Commit): Promise<Committed | null> => {
    const found =
      directory.recall(sessionId) ??
      (await transactions.read((transaction) => directory.find(transaction, sessionId)))
    if (found === null || isExpired(found.record, commit.now)) return null
    const plan = planCommit(sessionId, commit, {
      session: found.record,
      stored: new Map(),
      operationStored: false,
    })
    if (!plan.changed) return null
    try {
      return await transactions.write(async (transaction) => {
        const write = async () => writePlan(transaction, found, plan)
        const [current, written] = await Promise.all([
          directory.recheck(transaction, found),
          write(),
        ])
        if (current === null) throw outdated()
        const isSealedFurther = current.sealedSeq !== found.sealedSeq
        const after = isSealedFurther ? writeSession(transaction, current, plan) : written
        return { plan, written: { before: current, after } }
      })
    } catch (error) {
      const { cause } = error as Error
      if (cause === OUTDATED || nameOf(cause) === 'ConstraintError') return null
      throw error
    }
  }

  const commitNow: Committer = async (sessionId, commit) => {
    const committed =
      (isPlainAppend(commit) ? await commitRemembered(sessionId, commit) : null) ??
      (await commitLookingUp(sessionId, commit))
    if (committed.written !== null) directory.remember(committed.written.after)
    return committed
  }

  return async (sessionId, commit) => {
    const before = running.get(sessionId)
    const mine = before === undefined ? commitNow(sessionId, commit) : after(before)
    async function after(earlier: Promise<unknown>): Promise<Committed> {
      await earlier.catch(() => undefined) // whoever made that call is told
      return commitNow(sessionId, commit)
    }
    running.set(sessionId, mine)
    try {
      return await mine
    } finally {
      if (running.get(sessionId) === mine) running.delete(sessionId)
    }
  }
}

const OUTDATED = 'the session has changed since it was read'

function outdated(): SessionError {
  return new SessionError('STORAGE_FAILED', OUTDATED, { cause: OUTDATED })
}

/** Whether a commit only appends: others compare with what is stored. */
function isPlainAppend(commit: Commit): boolean {
  return (
    commit.boundary === undefined &&
    commit.operationId === undefined &&
    commit.expectedVersion === undefined &&
    commit.expectedBoundary === undefined
  )
}

/** What the store holds of a commit already. */
async function findStored(
  transaction: ReadTransaction,
  session: number,
  commit: Commit,
): Promise<{ stored: ReadonlyMap<string, EventRecord>; operationStored: boolean }> {
  const [events, operation] = await Promise.all([
    Promise.all(idsOfCommit(commit).map((id) => findEvent(transaction, session, id))),
    commit.operationId === undefined
      ? undefined
      : transaction.objectStore('boundaries').index('id').getKey([session, commit.operationId]),
  ])
  const stored = events.filter((event) => event !== null)
  return {
    stored: new Map(stored.map((event) => [event.id, event])),
    operationStored: operation !== undefined,
  }
}

/** @returns the session as it is then. */
function writePlan(
  transaction: WriteTransaction,
  found: FoundSession,
  plan: CommitPlan,
): FoundSession {
  const { session, events, boundary } = plan
  const written = writeSession(transaction, found, plan)
  writeEvents(transaction, session.number, events, add)
  if (boundary !== null) {
    const { id, position } = boundary
    const { number, version } = session
    add(transaction, 'boundaries', [{ session: number, position, version, id, boundary }])
  }
  return written
}

/** What a commit changes of the session itself. */
function writeSession(
  transaction: WriteTransaction,
  found: FoundSession,
  { session, events }: CommitPlan,
): FoundSession {
  const isRewritten = session.expiresAt !== found.record.expiresAt
  const { stored, head } = toStoredSession(
    session,
    found.sealedSeq,
    isRewritten ? undefined : found.stored.stamp,
  )
  if (isRewritten) put(transaction, 'sessions', [stored])
  put(transaction, 'heads', [head])
  if (events.length > 0 && found.record.lastSeq === found.sealedSeq) {
    put(transaction, 'tails', [{ session: session.number }])
  }
  return { stored, record: session, sealedSeq: found.sealedSeq }
}
