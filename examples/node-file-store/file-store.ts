// A store of one's own: all sessions in one JSON file, for a program on a desktop. It is for one
// process: within it, no other code runs between `load` and `save`, and that makes every method atomic.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import {
  type Boundary,
  type ChangeListener,
  changeSession,
  type EventRecord,
  idsOfCommit,
  isExpired,
  type LogSource,
  listTime,
  placeOf,
  planCommit,
  readLog,
  recallLogs,
  requireSession,
  SessionError,
  type SessionRecord,
  type SessionRepository,
} from 'turnlog/store'

interface StoredSession {
  record: SessionRecord
  /** By `seq`: the event 1 is at index 0. */
  readonly events: EventRecord[]
  readonly boundaries: Boundary[]
}

interface Content {
  sessionsCreated: number
  sessions: StoredSession[]
}

/** Who watches a file; every repository on it hears of the others. */
const listenersOf = new Map<string, Set<ChangeListener>>()

export function createFileRepository(path: string): SessionRepository {
  const listeners = listenersOf.get(path) ?? new Set<ChangeListener>()
  listenersOf.set(path, listeners)
  const own = new Set<ChangeListener>()
  let closed = false

  const load = (): Content => {
    if (closed) throw new SessionError('CLOSED', 'the store is closed')
    try {
      return JSON.parse(readFileSync(path, 'utf8'))
    } catch (cause) {
      if ((cause as { code?: string }).code === 'ENOENT')
        return { sessionsCreated: 0, sessions: [] }
      throw new SessionError('STORAGE_FAILED', `${path} cannot be read`, { cause })
    }
  }

  /** A file is replaced as a whole, so that a crash leaves the old one or the new one. */
  const save = (content: Content, ...changed: readonly string[]): void => {
    try {
      writeFileSync(`${path}.new`, JSON.stringify(content), { flush: true })
      renameSync(`${path}.new`, path)
    } catch (cause) {
      throw new SessionError('STORAGE_FAILED', `${path} cannot be written`, { cause })
    }
    for (const id of changed) for (const listen of listeners) queueMicrotask(() => listen(id))
  }

  const find = (content: Content, sessionId: string, now: number): StoredSession => {
    const stored = content.sessions.find(({ record }) => record.id === sessionId)
    requireSession(sessionId, stored?.record, now)
    return stored as StoredSession
  }

  const remove = (isGone: (record: SessionRecord) => boolean): number => {
    const content = load()
    const gone = content.sessions.filter(({ record }) => isGone(record))
    content.sessions = content.sessions.filter((stored) => !gone.includes(stored))
    if (gone.length > 0) save(content, ...gone.map(({ record }) => record.id))
    return gone.length
  }

  const sessionsOf = (content: Content, userId: string, now: number) =>
    content.sessions.filter(({ record }) => record.userId === userId && !isExpired(record, now))

  return {
    async createSession(input, { now }) {
      const content = load()
      const existing = content.sessions.find(({ record }) => record.id === input.id)
      if (existing !== undefined && !isExpired(existing.record, now)) {
        return { session: existing.record, created: false }
      }
      content.sessionsCreated++
      const session = { ...input, number: content.sessionsCreated }
      content.sessions = content.sessions.filter((stored) => stored !== existing)
      content.sessions.push({ record: session, events: [], boundaries: [] })
      save(content, session.id)
      return { session, created: true }
    },

    async findSession(sessionId, { now }) {
      const found = load().sessions.find(({ record }) => record.id === sessionId)
      return found === undefined || isExpired(found.record, now) ? null : found.record
    },

    async updateSession(sessionId, change) {
      const content = load()
      const stored = find(content, sessionId, change.now)
      stored.record = changeSession(stored.record, change)
      save(content, sessionId)
      return stored.record
    },

    async listSessions({ userId, now, order, limit, after }) {
      const direction = order === 'recent' ? -1 : 1
      const compare = (a: Place, b: Place) => direction * (a.time - b.time || a.number - b.number)
      return sessionsOf(load(), userId, now)
        .map(({ record }) => ({ record, time: listTime(record, order), number: record.number }))
        .filter((place) => after === undefined || compare(place, after) > 0)
        .sort(compare)
        .slice(0, limit)
        .map(({ record }) => record)
    },

    deleteSession: async (sessionId) => remove(({ id }) => id === sessionId) > 0,
    deleteUser: async (userId) => remove((record) => record.userId === userId),
    deleteExpiredSessions: async (before) => remove((record) => isExpired(record, before)),

    async commit(sessionId, commit) {
      const content = load()
      const stored = find(content, sessionId, commit.now)
      const ids = new Set(idsOfCommit(commit))
      const plan = planCommit(sessionId, commit, {
        session: stored.record,
        stored: new Map(
          stored.events.filter(({ id }) => ids.has(id)).map((event) => [event.id, event]),
        ),
        operationStored: stored.boundaries.some(({ id }) => id === commit.operationId),
      })
      if (plan.changed) {
        stored.record = plan.session
        stored.events.push(...plan.events)
        if (plan.boundary !== null) stored.boundaries.push(plan.boundary)
        save(content, sessionId)
      }
      return plan.result
    },

    async readEvents(sessionId, request) {
      const stored = find(load(), sessionId, request.now)
      return readLog(logOf(stored), stored.record, request)
    },

    async findEvent(sessionId, eventId, { now }) {
      const { record, events } = find(load(), sessionId, now)
      const event = events.find(({ id }) => id === eventId)
      return event === undefined ? null : { ...event, ...placeOf(record.boundary, event.seq) }
    },

    async readBoundaries(sessionId, { now, beforeSeq }) {
      const { boundaries } = find(load(), sessionId, now)
      return beforeSeq === undefined
        ? boundaries
        : boundaries.filter(({ position }) => position < beforeSeq).slice(-1)
    },

    async eraseEvent(sessionId, eventId, { now, body }) {
      const content = load()
      const { events } = find(content, sessionId, now)
      const index = events.findIndex(({ id }) => id === eventId)
      const event = events[index]
      if (event === undefined) return false
      events[index] = { ...event, body }
      save(content, sessionId)
      return true
    },

    async recallEvents(request) {
      const stored = sessionsOf(load(), request.userId, request.now)
      const logs = new Map(stored.map((one) => [one.record.id, logOf(one)]))
      const sessions = stored.map(({ record }) => record)
      return recallLogs(request, sessions, ({ id }) => logs.get(id) as LogSource)
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

interface Place {
  readonly time: number
  readonly number: number
}

/** How the shared rules of reading get at the records. */
function logOf({ events }: StoredSession): LogSource {
  return {
    read: async (ranges) => ranges.flatMap(([first, last]) => events.slice(first - 1, last)),
    latestTimestampAt: async (seq) => events[seq - 1]?.latestTimestamp ?? null,
    lateSeqs: async (from, to) =>
      events
        .filter(({ timestamp, latestTimestamp }) => timestamp < latestTimestamp)
        .filter(({ timestamp }) => timestamp >= from && timestamp <= to)
        .map(({ seq }) => seq),
  }
}
