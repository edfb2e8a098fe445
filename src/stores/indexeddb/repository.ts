/** The `SessionRepository` in IndexedDB: it moves records, what they mean is decided in the core. */

import { placeOf } from '../../core/boundary.ts'
import { type CommitPlan, idsOfCommit, planCommit } from '../../core/plan-commit.ts'
import { readLog } from '../../core/read-log.ts'
import { recallLogs } from '../../core/recall.ts'
import { changeSession, isExpired, requireSession } from '../../core/session-record.ts'
import type { Commit, EventRecord, SessionRepository } from '../../core/session-repository.ts'
import { createChangeChannel } from './change-channel.ts'
import { type ConnectionOptions, createConnection } from './connection.ts'
import { rowsOf } from './key-ranges.ts'
import { listSessions, readSessionsOf } from './list-sessions.ts'
import { createLogSource, readLongBody } from './log-source.ts'
import type { StoredEvent, StoredSession } from './schema.ts'
import { createSessionDirectory, type FoundSession } from './session-directory.ts'
import { nameOf } from './storage-error.ts'
import { salvageEvent, toStoredEvent, toStoredSession } from './stored-records.ts'
import {
  add,
  createTransactions,
  put,
  type ReadTransaction,
  remove,
  type WriteTransaction,
} from './transactions.ts'

export interface RepositoryOptions extends ConnectionOptions {
  readonly durability: 'relaxed' | 'strict'
}

export function createRepository(options: RepositoryOptions): SessionRepository {
  const connection = createConnection(options)
  const transactions = createTransactions(connection, options.durability)
  const directory = createSessionDirectory()
  const channel = createChangeChannel(options.databaseName)

  const requireFound = async (
    transaction: ReadTransaction,
    sessionId: string,
    now: number,
  ): Promise<FoundSession> => {
    const found = await directory.find(transaction, sessionId)
    requireSession(sessionId, found?.record, now)
    return found as FoundSession
  }

  const tryCommit = (sessionId: string, commit: Commit, mayBeStored: boolean) =>
    transactions.write(async (transaction) => {
      const found = await directory.find(transaction, sessionId)
      const plan = planCommit(sessionId, commit, {
        session: found?.record ?? null,
        ...(found !== null && mayBeStored
          ? await findStored(transaction, found.stored.number, commit)
          : { stored: new Map(), operationStored: false }),
      })
      const rewritten = found !== null && plan.changed ? writePlan(transaction, found, plan) : null
      return { plan, rewritten }
    })

  /** Looking 1,000 ids up takes as long as adding 1,000 events; that no id is taken, the index tells. */
  const commitOnce = async (sessionId: string, commit: Commit) => {
    if (isPlainAppend(commit)) {
      try {
        return await tryCommit(sessionId, commit, false)
      } catch (error) {
        if (nameOf((error as Error).cause) !== 'ConstraintError') throw error
      }
    }
    return tryCommit(sessionId, commit, true)
  }

  const removeSessions = async (
    find: (transaction: WriteTransaction) => Promise<readonly StoredSession[]>,
  ): Promise<number> => {
    const gone = await transactions.write(async (transaction) => {
      const sessions = await find(transaction)
      for (const { number } of sessions) removeRows(transaction, number)
      return sessions
    })
    channel.notify(gone.map(({ id }) => id))
    return gone.length
  }

  return {
    async createSession(input, { now }) {
      const { created, session, stored } = await transactions.write(async (transaction) => {
        const existing = await directory.find(transaction, input.id)
        if (existing !== null && !isExpired(existing.record, now)) {
          return { created: false, session: existing.record, stored: existing.stored }
        }
        if (existing !== null) removeRows(transaction, existing.stored.number)
        // Indexes over the number need it in the record: browsers draw it after they have made the keys.
        const number = await transaction.objectStore('sessions').add({} as StoredSession)
        const record = { ...input, number }
        const { stored, head } = toStoredSession(record)
        put(transaction, 'sessions', [stored])
        add(transaction, 'heads', [head])
        return { created: true, session: record, stored }
      })
      directory.remember(stored)
      if (created) channel.notify([session.id])
      return { session, created }
    },

    async findSession(sessionId, { now }) {
      const found = await transactions.read((transaction) => directory.find(transaction, sessionId))
      return found === null || isExpired(found.record, now) ? null : found.record
    },

    async updateSession(sessionId, change) {
      const { session, stored } = await transactions.write(async (transaction) => {
        const { record } = await requireFound(transaction, sessionId, change.now)
        const session = changeSession(record, change)
        const { stored, head } = toStoredSession(session)
        put(transaction, 'sessions', [stored])
        put(transaction, 'heads', [head])
        return { session, stored }
      })
      directory.remember(stored)
      channel.notify([sessionId])
      return session
    },

    async listSessions(request) {
      return transactions.read((transaction) => listSessions(transaction, request))
    },

    async deleteSession(sessionId) {
      const count = await removeSessions(async (transaction) => {
        const session = await transaction.objectStore('sessions').index('id').get(sessionId)
        return session === undefined ? [] : [session]
      })
      return count > 0
    },

    async deleteUser(userId) {
      return removeSessions((transaction) =>
        transaction.objectStore('sessions').index('created').getAll(rowsOf(userId)),
      )
    },

    async deleteExpiredSessions(before) {
      return removeSessions((transaction) =>
        transaction.objectStore('sessions').index('expiry').getAll(IDBKeyRange.upperBound(before)),
      )
    },

    async commit(sessionId, commit) {
      const { plan, rewritten } = await commitOnce(sessionId, commit)
      if (rewritten !== null) directory.remember(rewritten)
      if (plan.changed) channel.notify([sessionId])
      return plan.result
    },

    async readEvents(sessionId, request) {
      return transactions.read(async (transaction) => {
        const { record } = await requireFound(transaction, sessionId, request.now)
        return readLog(createLogSource(transaction, record.number), record, request)
      })
    },

    async findEvent(sessionId, eventId, { now }) {
      return transactions.read(async (transaction) => {
        const { record } = await requireFound(transaction, sessionId, now)
        const event = await findEvent(transaction, record.number, eventId)
        return event === null ? null : { ...event, ...placeOf(record.boundary, event.seq) }
      })
    },

    async readBoundaries(sessionId, { now, beforeSeq }) {
      return transactions.read(async (transaction) => {
        const { number } = (await requireFound(transaction, sessionId, now)).record
        const boundaries = transaction.objectStore('boundaries')
        if (beforeSeq === undefined) {
          return (await boundaries.getAll(rowsOf(number))).map(({ boundary }) => boundary)
        }
        const range = IDBKeyRange.bound([number], [number, beforeSeq], false, true)
        const newest = await boundaries.openCursor(range, 'prev')
        return newest === null ? [] : [newest.value.boundary]
      })
    },

    async eraseEvent(sessionId, eventId, { now, body }) {
      const erased = await transactions.write(async (transaction) => {
        const { number } = (await requireFound(transaction, sessionId, now)).record
        const found = await findStoredEvent(transaction, number, eventId)
        if (found === undefined) return false
        writeEvents(transaction, number, [{ ...salvageEvent(found), body }], put)
        return true
      })
      if (erased) channel.notify([sessionId])
      return erased
    },

    async recallEvents(request) {
      return transactions.read(async (transaction) => {
        const sessions = await readSessionsOf(transaction, request.userId)
        return recallLogs(
          request,
          sessions.filter((session) => !isExpired(session, request.now)),
          ({ number }) => createLogSource(transaction, number),
        )
      })
    },

    watch: channel.watch,

    async close() {
      channel.close()
      connection.close()
    },
  }
}

/** Whether a commit only appends, so that looking for stored ids can wait until one turns up. */
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

/** @returns the session's record when it was written, too. */
function writePlan(
  transaction: WriteTransaction,
  { stored: old, record }: FoundSession,
  { session, events, boundary }: CommitPlan,
): StoredSession | null {
  const isRewritten = session.expiresAt !== record.expiresAt
  const { stored, head } = toStoredSession(session, isRewritten ? undefined : old.stamp)
  const { number, version } = session
  if (isRewritten) put(transaction, 'sessions', [stored])
  put(transaction, 'heads', [head])
  writeEvents(transaction, number, events, add)
  if (boundary !== null) {
    const { id, position } = boundary
    add(transaction, 'boundaries', [{ session: number, position, version, id, boundary }])
  }
  return isRewritten ? stored : null
}

function writeEvents(
  transaction: WriteTransaction,
  session: number,
  events: readonly EventRecord[],
  write: typeof add,
): void {
  const rows = events.map((event) => toStoredEvent(session, event))
  write(
    transaction,
    'events',
    rows.map(({ stored }) => stored),
  )
  const bodies = rows.map(({ body }) => body).filter((body) => body !== null)
  if (bodies.length > 0) write(transaction, 'bodies', bodies)
}

function removeRows(transaction: WriteTransaction, number: number): void {
  remove(transaction, 'sessions', number)
  remove(transaction, 'heads', number)
  remove(transaction, 'events', rowsOf(number))
  remove(transaction, 'bodies', rowsOf(number))
  remove(transaction, 'boundaries', rowsOf(number))
}

async function findEvent(
  transaction: ReadTransaction,
  session: number,
  eventId: string,
): Promise<EventRecord | null> {
  const stored = await findStoredEvent(transaction, session, eventId)
  return stored === undefined ? null : salvageEvent(stored, await readLongBody(transaction, stored))
}

function findStoredEvent(
  transaction: ReadTransaction,
  session: number,
  eventId: string,
): Promise<StoredEvent | undefined> {
  return transaction.objectStore('events').index('id').get([session, eventId])
}
