/** The `SessionRepository` over a Durable Object's own storage, for code that runs inside the object. */

import { checkMethod } from '../../core/arguments.ts'
import { SessionError } from '../../core/errors.ts'
import type { ChangeListener, SessionRepository } from '../../core/session-repository.ts'
import { readBoundaryPages, readSessionPages } from './pages.ts'
import { migrate } from './schema.ts'
import type { SqlDatabase } from './sql-database.ts'
import { toSessionError } from './sql-errors.ts'
import { type SqlSearchSettings, SqlSessions } from './sql-sessions.ts'

/** Who hears of the changes in a database: all repositories in one object share it. */
const listenersOf = new WeakMap<SqlDatabase, Set<ChangeListener>>()

/**
 * Sessions in the storage of the Durable Object that this runs in: for an agent that is an object
 * itself and keeps its sessions beside its other data (all tables begin with `turnlog_`). The class
 * needs SQLite storage (`new_sqlite_classes`). Nothing sweeps expired sessions here: call
 * `deleteExpiredSessions` from an alarm.
 *
 * ```ts
 * import { createSessionService } from 'turnlog/store'
 *
 * const sessions = createSessionService(createSqlRepository(this.ctx.storage), { defaultUserId })
 * ```
 *
 * @param database `ctx.storage`.
 * @param search smaller blocks, for tests.
 * @throws SessionError `STORAGE_OUTDATED` when its tables were made by a newer version of turnlog;
 * `INVALID_ARGUMENT` for a storage without SQLite.
 */
export function createSqlRepository(
  database: SqlDatabase,
  search?: SqlSearchSettings,
): SessionRepository {
  checkMethod(database, 'transactionSync', 'database')
  migrate(database)
  const sessions = new SqlSessions(database, search)
  const listeners = listenersOf.get(database) ?? new Set<ChangeListener>()
  listenersOf.set(database, listeners)
  const own = new Set<ChangeListener>()
  let closed = false

  const attempt = async <T>(operation: () => T | Promise<T>): Promise<T> => {
    if (closed) throw new SessionError('CLOSED', 'the store is closed')
    try {
      return await operation()
    } catch (error) {
      throw toSessionError(error)
    }
  }
  const changed = (...sessionIds: readonly string[]) => {
    for (const sessionId of sessionIds) {
      for (const listener of listeners) queueMicrotask(() => listener(sessionId))
    }
  }

  return {
    createSession: (session, { now, creation = null }) =>
      attempt(() => {
        const result = sessions.createSession(session, { now, creation })
        if (result.created) changed(session.id)
        return result
      }),
    findSession: (sessionId, { now }) => attempt(() => sessions.findSession(sessionId, now)),
    updateSession: (sessionId, change) =>
      attempt(() => {
        const session = sessions.updateSession(sessionId, change)
        changed(sessionId)
        return session
      }),
    listSessions: (request) =>
      attempt(() => readSessionPages(request, (page) => sessions.listSessions(page))),
    deleteSession: (sessionId) =>
      attempt(() => {
        const deleted = sessions.deleteSession(sessionId)
        if (deleted) changed(sessionId)
        return deleted
      }),
    deleteUser: (userId) =>
      attempt(() => {
        const deleted = sessions.deleteUser(userId)
        changed(...deleted)
        return deleted.length
      }),
    deleteExpiredSessions: (before) =>
      attempt(() => {
        const deleted = sessions.deleteExpiredSessions(before)
        changed(...deleted)
        return deleted.length
      }),
    commit: (sessionId, commit) =>
      attempt(() => {
        const { session, events, ...result } = sessions.commit(sessionId, commit)
        if (result.changed) changed(sessionId)
        return {
          session,
          events: events.map((event) => ({
            ...event,
            body: event.body ?? sessions.readBody(session, event.seq) ?? '',
          })),
        }
      }),
    readEvents: (sessionId, request) => attempt(() => sessions.readEvents(sessionId, request)),
    findEvent: (sessionId, eventId, { now }) =>
      attempt(() => sessions.findEvent(sessionId, eventId, now)),
    readBoundaries: (sessionId, options) =>
      attempt(() =>
        readBoundaryPages((after) => sessions.readBoundaries(sessionId, { ...options, after })),
      ),
    eraseEvent: (sessionId, eventId, options) =>
      attempt(() => {
        const erased = sessions.eraseEvent(sessionId, eventId, options)
        if (erased) changed(sessionId)
        return erased
      }),
    recallEvents: (request) => attempt(() => sessions.recallEvents(request)),

    watch(listener) {
      listeners.add(listener)
      own.add(listener)
      return () => {
        listeners.delete(listener)
        own.delete(listener)
      }
    },
    async close() {
      closed = true
      for (const listener of own) listeners.delete(listener)
    },
  }
}
