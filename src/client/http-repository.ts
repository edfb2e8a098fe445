/** The `SessionRepository` over the HTTP API. */

import { isSessionError, SessionError } from '../core/errors.ts'
import { randomId } from '../core/identifiers.ts'
import type {
  ChangeListener,
  Commit,
  CommitResult,
  EventView,
  ListRequest,
  NewEventRecord,
  ReadCursor,
  SessionRecord,
  SessionRepository,
} from '../core/session-repository.ts'
import {
  fromWireEvent,
  toWireNewEvent,
  type WireCommit,
  type WireCommitted,
  type WireDamagedEvent,
  type WireEvent,
  type WireQuery,
  type WireRead,
  type WireRecall,
  type WireRecallQuery,
} from '../wire/event.ts'
import { encodeSegment } from '../wire/ids.ts'
import {
  fromWireBoundary,
  fromWireSession,
  type WireBoundary,
  type WireCreated,
  type WireNewSession,
  type WireSession,
  type WireSessionPage,
} from '../wire/session.ts'
import { followChanges } from './change-hints.ts'
import { type Connection, type ConnectionOptions, connect } from './connection.ts'

/**
 * Asks for `null` instead of a 404, which a browser writes to its console as an error. A server that does
 * not know the parameter answers with the 404.
 */
const OR_NULL = 'absent=null'
/** The largest page of sessions. */
const MAX_PAGE = 1000

/**
 * The sessions of the user whose token is sent. Whatever takes a user id takes this user's alone, and
 * fails with `NOT_OWNER` for another. Every write may be made again when its answer got lost: events are
 * known by their ids, boundaries by their operation, a creation by a name of its own. Only what a
 * deletion returns may differ: repeated after its answer was lost, it says that there was nothing.
 *
 * The time is the server's: the `now` of a call is not sent. `watch` hears of this repository's own
 * changes, and of everybody's of the session that it is asked for.
 */
export function createHttpSessionRepository(options: ConnectionOptions): SessionRepository {
  return httpRepository(connect(options))
}

/** {@link createHttpSessionRepository} over a connection that others use as well. */
export function httpRepository(connection: Connection): SessionRepository {
  const listeners = new Set<ChangeListener>()
  const streams = new Set<() => void>()

  const changed = (sessionId: string) => {
    for (const listener of listeners) queueMicrotask(() => listener(sessionId))
  }

  const commit = async (sessionId: string, input: Commit): Promise<CommitResult> => {
    const { events, boundary, operationId, expectedVersion, expectedBoundary, expectedSession } =
      input
    const isAppend =
      boundary === undefined &&
      operationId === undefined &&
      expectedBoundary === undefined &&
      expectedSession === undefined
    const body: WireCommit = {
      events: events.map(toWireNewEvent),
      expectedVersion,
      boundary,
      operationId: boundary === undefined ? operationId : (operationId ?? randomId()),
      expectedBoundary,
      expectedSession,
    }
    const result = await connection.call(
      {
        method: 'POST',
        path: `${pathOf(sessionId)}/${isAppend ? 'events' : 'commits'}`,
        headers: { prefer: 'return=minimal' },
        body,
      },
      (answer: WireCommitted) => ({
        session: fromWireSession(answer.session),
        events: completeEvents(events, answer.events),
      }),
    )
    changed(sessionId)
    return result
  }

  return {
    async createSession(session, { now, creation = randomId() }) {
      const result = await connection.call(
        {
          method: 'PUT',
          path: pathOf(session.id),
          headers: { 'idempotency-key': creation },
          body: toWireNewSession(session, now),
        },
        (answer: WireCreated) => ({ ...answer, session: fromWireSession(answer.session) }),
      )
      if (result.created) changed(session.id)
      return result
    },

    async findSession(sessionId) {
      return orNull(
        'SESSION_NOT_FOUND',
        connection.call(
          { method: 'GET', path: `${pathOf(sessionId)}?${OR_NULL}` },
          ({ session }: { readonly session: WireSession | null }) =>
            session === null ? null : fromWireSession(session),
        ),
      )
    },

    async updateSession(sessionId, { metadata, expiresAt }) {
      const body = {
        metadata: metadata === undefined ? undefined : JSON.parse(metadata),
        expiresAt,
      }
      const session = await connection.call(
        { method: 'PATCH', path: pathOf(sessionId), body },
        readSession,
      )
      changed(sessionId)
      return session
    },

    listSessions: (request) => listSessions(connection, request),

    async deleteSession(sessionId) {
      const deleted = await connection.call(
        { method: 'DELETE', path: pathOf(sessionId) },
        (answer: { readonly deleted: boolean }) => answer.deleted,
      )
      if (deleted) changed(sessionId)
      return deleted
    },

    async deleteUser(userId) {
      return connection.call(
        { method: 'DELETE', path: `/user?userId=${encodeURIComponent(userId)}` },
        readDeletedSessions,
      )
    },

    deleteExpiredSessions: (before) => deleteExpired(connection, before),

    commit,

    async readEvents(sessionId, { filter, afterSeq, cursor }) {
      const body: WireQuery = {
        filter,
        after: afterSeq,
        cursor: cursor === undefined ? undefined : JSON.stringify(cursor),
      }
      return connection.call(
        { method: 'POST', path: `${pathOf(sessionId)}/query`, body },
        (answer: WireRead) => ({
          session: fromWireSession(answer.session),
          events: answer.events.map(fromWireEvent),
          damage: answer.damage,
          next: answer.next === null ? null : (JSON.parse(answer.next) as ReadCursor),
        }),
      )
    },

    async findEvent(sessionId, eventId) {
      return orNull(
        'EVENT_NOT_FOUND',
        connection.call(
          {
            method: 'GET',
            path: `${pathOf(sessionId)}/events/${encodeSegment(eventId)}?${OR_NULL}`,
          },
          ({ event }: { readonly event: WireEvent | WireDamagedEvent | null }) =>
            event === null ? null : fromWireEvent(event),
        ),
      )
    },

    async readBoundaries(sessionId, { beforeSeq }) {
      const query = beforeSeq === undefined ? '' : `?beforeSeq=${beforeSeq}`
      return connection.call(
        { method: 'GET', path: `${pathOf(sessionId)}/boundaries${query}` },
        (answer: { readonly boundaries: readonly WireBoundary[] }) =>
          answer.boundaries.map(fromWireBoundary),
      )
    },

    // The server makes what is left of an erased event by the same rule, so no body is sent.
    async eraseEvent(sessionId, eventId) {
      const erased = await orNull(
        'EVENT_NOT_FOUND',
        connection.call(
          { method: 'DELETE', path: `${pathOf(sessionId)}/events/${encodeSegment(eventId)}` },
          () => true,
        ),
      )
      if (erased !== null) changed(sessionId)
      return erased !== null
    },

    async recallEvents({ userId, filter, offset, limit }) {
      const { lastN, page, pageSize, ...criteria } = filter
      const body: WireRecallQuery = {
        userId,
        filter: criteria,
        offset: Math.min(offset, Number.MAX_SAFE_INTEGER),
        limit,
      }
      return connection.call(
        { method: 'POST', path: '/recall', body },
        ({ events, damage, complete }: WireRecall) => ({
          events: events.map((event) => ({ ...fromWireEvent(event), sessionId: event.sessionId })),
          damage,
          complete,
        }),
      )
    },

    watch(listener, given) {
      listeners.add(listener)
      const sessionId = given?.sessionId
      const stop =
        sessionId === undefined
          ? () => undefined
          : followChanges(connection, `${pathOf(sessionId)}/changes`, () => listener(sessionId))
      streams.add(stop)
      return () => {
        listeners.delete(listener)
        streams.delete(stop)
        stop()
      }
    },

    async close() {
      connection.close()
      listeners.clear()
      for (const stop of streams) stop()
      streams.clear()
    },
  }
}

/** Removes expired sessions: up to an instant, or up to now by the server's clock. */
export async function deleteExpired(
  connection: Connection,
  before: number | null,
): Promise<number> {
  const query = before === null ? '' : `?before=${before}`
  return connection.call(
    { method: 'DELETE', path: `/expired-sessions${query}` },
    readDeletedSessions,
  )
}

function readSession(answer: { readonly session: WireSession }): SessionRecord {
  return fromWireSession(answer.session)
}

function readDeletedSessions(answer: { readonly deletedSessions: number }): number {
  return answer.deletedSessions
}

function pathOf(sessionId: string): string {
  return `/sessions/${encodeSegment(sessionId)}`
}

/**
 * A lifetime that begins now is sent as a lifetime, so that the server's clock decides; a session that
 * comes from elsewhere keeps its instants.
 */
function toWireNewSession(session: Omit<SessionRecord, 'number'>, now: number): WireNewSession {
  const { userId, createdAt, expiresAt, slidingTimeToLive } = session
  const base = { userId, metadata: JSON.parse(session.metadata) }
  const sliding = slidingTimeToLive === null ? null : { sliding: slidingTimeToLive }
  const isNew =
    createdAt === now && (slidingTimeToLive === null || expiresAt === now + slidingTimeToLive)
  if (!isNew) return { ...base, createdAt, expiresAt, timeToLive: sliding }
  return { ...base, timeToLive: sliding ?? (expiresAt === null ? null : expiresAt - now) }
}

async function listSessions(
  connection: Connection,
  request: ListRequest,
): Promise<readonly SessionRecord[]> {
  const sessions: SessionRecord[] = []
  let cursor = request.after === undefined ? null : `${request.after.time}.${request.after.number}`
  while (sessions.length < request.limit) {
    const query = new URLSearchParams({
      order: request.order,
      limit: `${Math.min(request.limit - sessions.length, MAX_PAGE)}`,
      userId: request.userId,
      ...(cursor === null ? {} : { cursor }),
    })
    const page: Omit<WireSessionPage, 'sessions'> & {
      readonly sessions: readonly SessionRecord[]
    } = await connection.call(
      { method: 'GET', path: `/sessions?${query}` },
      (answer: WireSessionPage) => ({ ...answer, sessions: answer.sessions.map(fromWireSession) }),
    )
    sessions.push(...page.sessions)
    cursor = page.cursor
    if (cursor === null) break
  }
  return sessions
}

/** The stored events; those that were stored as they were sent came back without their content. */
function completeEvents(
  sent: readonly NewEventRecord[],
  answered: WireCommitted['events'],
): readonly EventView[] {
  const byId = new Map(sent.toReversed().map((event) => [event.id, event]))
  return answered.map((event) => {
    if ('message' in event) return fromWireEvent(event)
    const own = byId.get(event.id)
    if (own === undefined)
      throw new SessionError('STORAGE_FAILED', 'the server answered for others')
    const { seq, archived, rewound } = event
    return { ...own, seq, latestTimestamp: Date.parse(event.latestTimestamp), archived, rewound }
  })
}

/** The answer, `null` when the server says that there is no such thing. */
async function orNull<T>(
  code: 'SESSION_NOT_FOUND' | 'EVENT_NOT_FOUND',
  answer: Promise<T>,
): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isSessionError(error) && error.code === code) return null
    throw error
  }
}
