/** The caller's side: a `SessionRepository` over calls to a session object. */

import { readFunction } from '../core/arguments.ts'
import { SessionError, sessionNotFound } from '../core/errors.ts'
import { randomId } from '../core/identifiers.ts'
import type {
  ChangeListener,
  Commit,
  CommitResult,
  EventView,
  SessionRepository,
} from '../core/session-repository.ts'
import { readBoundaryPages, readSessionPages } from '../stores/durable-object/pages.ts'
import { packEvents, unpackResult } from './packed-commit.ts'
import { type RetryOptions, readRetryOptions, withRetries } from './retries.ts'
import type { Answer, SessionObject } from './session-object.ts'
import type { SessionStore } from './session-store.ts'

/**
 * A repository over a session object. A call that fails because the object was reset or the connection
 * lost is made again, with a fresh stub and the same ids, so that nothing is stored twice: events are
 * known by their ids, boundaries by their operation, and a creation by a name of its own, so that its
 * repetition does not find the session taken. Only what a deletion returns may differ: repeated after
 * its answer was lost, it says that there was nothing.
 *
 * `watch` hears of this repository's own changes only, since an object cannot call back; whoever
 * subscribes through the service is told of others' by its polling.
 *
 * @param getStub gives a stub of the object; called again after a failure, as a stub stays broken.
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function durableObjectRepository(
  getStub: () => SessionObject | DurableObjectStub<SessionStore>,
  options: RetryOptions | null = {},
): SessionRepository {
  readFunction(getStub, 'getStub')
  const retries = readRetryOptions(options)
  const listeners = new Set<ChangeListener>()
  let stub: SessionObject | null = null
  let closed = false

  const call = async <T>(send: (stub: SessionObject) => Promise<Answer<T>>): Promise<T> => {
    if (closed) throw new SessionError('CLOSED', 'the store is closed')
    const answer = await withRetries(async () => {
      // The types of RPC make arrays of tuples; the values are the same.
      stub ??= getStub() as SessionObject
      const used = stub
      try {
        return await send(used)
      } catch (error) {
        if (stub === used) stub = null
        throw error
      }
    }, retries)
    if (answer.ok) return answer.value
    const { code, message, details } = answer.error
    throw new SessionError(code, message, { details })
  }

  const changed = (...sessionIds: readonly string[]) => {
    for (const sessionId of sessionIds) {
      for (const listener of listeners) queueMicrotask(() => listener(sessionId))
    }
  }

  const findEvent = (
    sessionId: string,
    eventId: string,
    at: { readonly now: number },
  ): Promise<EventView | null> => call((object) => object.findEvent(sessionId, eventId, at))

  const commit = async (sessionId: string, input: Commit): Promise<CommitResult> => {
    const { events, boundary, operationId, ...rest } = input
    const packed = {
      ...rest,
      boundary,
      // A boundary without a name would be appended again by another try.
      operationId: boundary === undefined ? operationId : (operationId ?? randomId()),
      events: packEvents(events),
    }
    const result = await call((object) => object.commit(sessionId, packed))
    if (result.changed) changed(sessionId)
    const views: EventView[] = []
    for (const event of unpackResult(events, result)) {
      const view =
        'differingId' in event
          ? await findEvent(sessionId, event.differingId, { now: input.now })
          : event
      if (view === null) throw sessionNotFound(sessionId) // deleted and created again meanwhile
      views.push(view)
    }
    return { session: result.session, events: views }
  }

  return {
    async createSession(session, { now, creation = randomId() }) {
      const result = await call((object) => object.createSession(session, { now, creation }))
      if (result.created) changed(session.id)
      return result
    },
    findSession: (sessionId, at) => call((object) => object.findSession(sessionId, at)),
    async updateSession(sessionId, change) {
      const session = await call((object) => object.updateSession(sessionId, change))
      changed(sessionId)
      return session
    },
    listSessions: (request) =>
      readSessionPages(request, (page) => call((object) => object.listSessions(page))),
    async deleteSession(sessionId) {
      const deleted = await call((object) => object.deleteSession(sessionId))
      if (deleted) changed(sessionId)
      return deleted
    },
    async deleteUser(userId) {
      const { count, sessionIds } = await call((object) => object.deleteUser(userId))
      changed(...sessionIds)
      return count
    },
    async deleteExpiredSessions(before) {
      const { count, sessionIds } = await call((object) => object.deleteExpiredSessions(before))
      changed(...sessionIds)
      return count
    },
    commit,
    readEvents: (sessionId, request) => call((object) => object.readEvents(sessionId, request)),
    findEvent,
    readBoundaries: (sessionId, request) =>
      readBoundaryPages((after) =>
        call((object) => object.readBoundaries(sessionId, { ...request, after })),
      ),
    async eraseEvent(sessionId, eventId, erasure) {
      const erased = await call((object) => object.eraseEvent(sessionId, eventId, erasure))
      if (erased) changed(sessionId)
      return erased
    },
    recallEvents: (request) => call((object) => object.recallEvents(request)),

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      closed = true
      listeners.clear()
      stub = null
    },
  }
}
