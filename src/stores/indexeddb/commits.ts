/** Commits, in the order of the calls. */

import { type CommitPlan, idsOfCommit, planCommit } from '../../core/plan-commit.ts'
import { isExpired } from '../../core/session-record.ts'
import type { Commit, EventRecord, SessionRecord } from '../../core/session-repository.ts'
import { findEvent, removeBeyond, toEventRows, writeEvents } from './event-rows.ts'
import { appendToOpen } from './open-append.ts'
import type { FoundSession, SessionDirectory } from './session-directory.ts'
import {
  add,
  type ReadTransaction,
  type Transactions,
  type WriteTransaction,
} from './transactions.ts'
import { closeSessions, writeSession } from './write-session.ts'

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
        ...(found === null ? NOTHING_STORED : await findStored(transaction, found.record, commit)),
      })
      if (found === null || !plan.changed) return { plan, written: null }
      const { number, userId, lastSeq, expiresAt } = found.record
      if (!found.isOpen) removeBeyond(transaction, number, lastSeq)
      const isOpened = isPlainAppend(commit) && plan.session.slidingTimeToLive === null
      const staysOpen = isOpened && found.tail !== null
      if (isOpened && !staysOpen) await closeSessions(transaction, userId)
      writePlan(transaction, plan)
      const isRewritten = plan.session.expiresAt !== expiresAt
      const after = staysOpen
        ? { ...found, record: plan.session }
        : writeSession(transaction, found, plan.session, { isRewritten, isOpened })
      return { plan, written: { before: found, after } }
    })

  const commitRemembered = async (sessionId: string, commit: Commit): Promise<Committed | null> => {
    const found = directory.recall(sessionId)
    const tail = found?.tail ?? null
    if (found === null || tail === null || isExpired(found.record, commit.now)) return null
    const { number } = found.record
    if ((commit.expectedSession ?? number) !== number) return null
    const plan = planCommit(sessionId, commit, { session: found.record, ...NOTHING_STORED })
    if (!plan.changed || !(await appendToOpen(transactions, found, tail, plan.events))) return null
    return { plan, written: { before: found, after: { ...found, record: plan.session } } }
  }

  const commitEither: Committer = async (sessionId, commit) => {
    const committed =
      (isPlainAppend(commit) ? await commitRemembered(sessionId, commit) : null) ??
      (await commitLookingUp(sessionId, commit))
    if (committed.written !== null) directory.remember(committed.written.after)
    return committed
  }

  return async (sessionId, commit) => {
    const start = () => commitEither(sessionId, commit)
    // Whoever made the call before is told of its error.
    const mine = running.get(sessionId)?.then(start, start) ?? start()
    running.set(sessionId, mine)
    try {
      return await mine
    } finally {
      if (running.get(sessionId) === mine) running.delete(sessionId)
    }
  }
}

/** What is stored of the ids of a commit, until that is looked up. */
const NOTHING_STORED = { stored: new Map<string, EventRecord>(), operationStored: false }

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
  session: SessionRecord,
  commit: Commit,
): Promise<{ stored: ReadonlyMap<string, EventRecord>; operationStored: boolean }> {
  const [events, operation] = await Promise.all([
    Promise.all(idsOfCommit(commit).map((id) => findEvent(transaction, session, id))),
    commit.operationId === undefined
      ? undefined
      : transaction
          .objectStore('boundaries')
          .index('id')
          .getKey([session.number, commit.operationId]),
  ])
  const stored = events.filter((event) => event !== null)
  return {
    stored: new Map(stored.map((event) => [event.id, event])),
    operationStored: operation !== undefined,
  }
}

function writePlan(transaction: WriteTransaction, { session, events, boundary }: CommitPlan): void {
  const { number, version } = session
  writeEvents(transaction, toEventRows(number, events), add)
  if (boundary === null) return
  const { id, position } = boundary
  add(transaction, 'boundaries', [{ session: number, position, version, id, boundary }])
}
