/** A store in memory: the reference for all others, for tests and for agents that need not outlive the page. */

import { placeOf } from '../core/boundary.ts'
import { createSessionService } from '../core/create-session-service.ts'
import { SessionError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import { idsOfCommit, planCommit } from '../core/plan-commit.ts'
import { type LogSource, readLog } from '../core/read-log.ts'
import { recallLogs } from '../core/recall.ts'
import { changeSession, isExpired, listTime, requireSession } from '../core/session-record.ts'
import type {
  Boundary,
  ChangeListener,
  EventRecord,
  SessionRecord,
  SessionRepository,
} from '../core/session-repository.ts'
import type { SessionService, SessionServiceOptions } from '../core/session-service.ts'

interface StoredSession {
  record: SessionRecord
  /** How the call was named that created it. */
  readonly creation: string | undefined
  /** By `seq`: the event 1 is at index 0. */
  readonly events: EventRecord[]
  readonly seqById: Map<string, number>
  readonly boundaries: Boundary[]
}

/** What repositories in memory keep their sessions in; opaque. */
export interface InMemoryDatabase {
  readonly sessions: Map<string, StoredSession>
  readonly listeners: Set<ChangeListener>
  sessionsCreated: number
}

/** A database that several repositories may share, as tabs share one. */
export function createInMemoryDatabase(): InMemoryDatabase {
  return { sessions: new Map(), listeners: new Set(), sessionsCreated: 0 }
}

/** A repository in memory. */
export function createInMemoryRepository(
  database: InMemoryDatabase = createInMemoryDatabase(),
): SessionRepository {
  const { sessions, listeners } = database
  const own = new Set<ChangeListener>()
  let closed = false

  const changed = (sessionId: string) => {
    for (const listener of listeners) queueMicrotask(() => listener(sessionId))
  }
  const checkOpen = () => {
    if (closed) throw new SessionError('CLOSED', 'the store is closed')
  }
  const find = (sessionId: string, now: number): StoredSession => {
    checkOpen()
    const stored = sessions.get(sessionId)
    requireSession(sessionId, stored?.record, now)
    return stored as StoredSession
  }
  const remove = (isGone: (record: SessionRecord) => boolean): number => {
    checkOpen()
    const gone = [...sessions.values()].filter(({ record }) => isGone(record))
    for (const { record } of gone) {
      sessions.delete(record.id)
      changed(record.id)
    }
    return gone.length
  }
  const sessionsOf = (userId: string, now: number) =>
    [...sessions.values()]
      .map(({ record }) => record)
      .filter((record) => record.userId === userId && !isExpired(record, now))

  return {
    async createSession(input, { now, creation }) {
      checkOpen()
      const existing = sessions.get(input.id)
      if (existing !== undefined && !isExpired(existing.record, now)) {
        const repeated = creation !== undefined && existing.creation === creation
        return { session: existing.record, created: repeated }
      }
      database.sessionsCreated++
      const session = { ...input, number: database.sessionsCreated }
      sessions.set(session.id, {
        record: session,
        creation,
        events: [],
        seqById: new Map(),
        boundaries: [],
      })
      changed(session.id)
      return { session, created: true }
    },

    async findSession(sessionId, { now }) {
      checkOpen()
      const record = sessions.get(sessionId)?.record
      return record === undefined || isExpired(record, now) ? null : record
    },

    async updateSession(sessionId, change) {
      const stored = find(sessionId, change.now)
      stored.record = changeSession(stored.record, change)
      changed(sessionId)
      return stored.record
    },

    async listSessions({ userId, now, order, limit, after }) {
      checkOpen()
      const direction = order === 'recent' ? -1 : 1
      return sessionsOf(userId, now)
        .map((record) => ({ record, time: listTime(record, order), number: record.number }))
        .sort((a, b) => direction * compareAge(a, b))
        .filter((place) => after === undefined || direction * compareAge(place, after) > 0)
        .slice(0, limit)
        .map(({ record }) => record)
    },

    async deleteSession(sessionId) {
      return remove((record) => record.id === sessionId) > 0
    },

    async deleteUser(userId) {
      return remove((record) => record.userId === userId)
    },

    async deleteExpiredSessions(before) {
      return remove((record) => isExpired(record, before))
    },

    async commit(sessionId, commit) {
      const stored = find(sessionId, commit.now)
      const known = idsOfCommit(commit)
        .map((id) => stored.events[(stored.seqById.get(id) ?? 0) - 1])
        .filter((event) => event !== undefined)
      const plan = planCommit(sessionId, commit, {
        session: stored.record,
        stored: new Map(known.map((event) => [event.id, event])),
        operationStored:
          commit.operationId !== undefined &&
          stored.boundaries.some(({ id }) => id === commit.operationId),
      })
      if (plan.changed) {
        stored.record = plan.session
        for (const event of plan.events) {
          stored.events.push(event)
          stored.seqById.set(event.id, event.seq)
        }
        if (plan.boundary !== null) stored.boundaries.push(plan.boundary)
        changed(sessionId)
      }
      return plan.result
    },

    async readEvents(sessionId, request) {
      const stored = find(sessionId, request.now)
      return readLog(logSource(stored), stored.record, request)
    },

    async findEvent(sessionId, eventId, { now }) {
      const { record, events, seqById } = find(sessionId, now)
      const event = events[(seqById.get(eventId) ?? 0) - 1]
      return event === undefined ? null : { ...event, ...placeOf(record.boundary, event.seq) }
    },

    async readBoundaries(sessionId, { now, beforeSeq }) {
      const { boundaries } = find(sessionId, now)
      return beforeSeq === undefined
        ? [...boundaries]
        : boundaries.filter(({ position }) => position < beforeSeq).slice(-1)
    },

    async eraseEvent(sessionId, eventId, { now, body }) {
      const { events, seqById } = find(sessionId, now)
      const index = (seqById.get(eventId) ?? 0) - 1
      const event = events[index]
      if (event === undefined) return false
      events[index] = { ...event, body }
      changed(sessionId)
      return true
    },

    async recallEvents(request) {
      checkOpen()
      return recallLogs(request, sessionsOf(request.userId, request.now), ({ id }) =>
        logSource(sessions.get(id) as StoredSession),
      )
    },

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

function logSource({ events }: StoredSession): LogSource {
  return {
    async read(ranges) {
      return ranges.flatMap(([first, last]) => events.slice(first - 1, last))
    },
    async latestTimestampAt(seq) {
      return events[seq - 1]?.latestTimestamp ?? null
    },
    async lateSeqs(from, to) {
      return events
        .filter(({ timestamp, latestTimestamp }) => {
          return timestamp < latestTimestamp && timestamp >= from && timestamp <= to
        })
        .map(({ seq }) => seq)
    },
  }
}

/** Below zero when `a` is older in the order that is listed. */
function compareAge(
  a: { readonly time: number; readonly number: number },
  b: { readonly time: number; readonly number: number },
): number {
  return a.time - b.time || a.number - b.number
}

/** Sessions in memory, gone with the page or process. */
export function createInMemorySessionService<M extends Message = Message>(
  options: SessionServiceOptions | null = {},
): SessionService<M> {
  return createSessionService<M>(createInMemoryRepository(), options)
}
