// Stores that are broken in one way each: what the contract suite must catch.

import type { EventFilterJson } from 'turnlog'
import { SessionError } from 'turnlog'
import {
  createInMemoryDatabase,
  createInMemoryRepository,
  type InMemoryDatabase,
} from 'turnlog/in-memory'
import type { EventView, SessionRecord, SessionRepository } from 'turnlog/store'
import type { StoreHarness } from 'turnlog/testing'

export interface BrokenStore {
  readonly name: string
  /** The topic of the contract that must notice. */
  readonly topic: string
  /** Whether it shows by never answering. */
  readonly hangs?: true
  break(store: SessionRepository, database: InMemoryDatabase): Partial<SessionRepository>
}

/** The in-memory store with the methods of `broken` in place of its own. */
export function brokenHarness(broken: BrokenStore): StoreHarness {
  let database = createInMemoryDatabase()
  return {
    async open() {
      const store = createInMemoryRepository(database)
      return { ...store, ...broken.break(store, database) }
    },
    async reset() {
      database = createInMemoryDatabase()
    },
    async damage(sessionId, seq) {
      const events = database.sessions.get(sessionId)?.events
      const event = events?.[seq - 1]
      if (events === undefined || event === undefined) throw new Error('there is no such event')
      events[seq - 1] = { ...event, body: '{"message":' }
    },
    without: { evict: 'the store is memory itself' },
  }
}

/** Changes the filter of every read. */
function withFilter(
  store: SessionRepository,
  change: (filter: EventFilterJson) => EventFilterJson,
): Partial<SessionRepository> {
  return {
    readEvents: (id, request) =>
      store.readEvents(id, { ...request, filter: change(request.filter) }),
  }
}

/** Changes the events of every answer. */
function withEvents(
  store: SessionRepository,
  change: (events: readonly EventView[], filter: EventFilterJson) => readonly EventView[],
): Partial<SessionRepository> {
  return {
    async readEvents(id, request) {
      const answer = await store.readEvents(id, request)
      return { ...answer, events: change(answer.events, request.filter) }
    },
  }
}

/** Changes the session wherever it is given out. */
function withSession(
  store: SessionRepository,
  change: (session: SessionRecord) => SessionRecord,
): Partial<SessionRepository> {
  return {
    async findSession(id, options) {
      const session = await store.findSession(id, options)
      return session === null ? null : change(session)
    },
    async listSessions(request) {
      return (await store.listSessions(request)).map(change)
    },
  }
}

const textOf = (event: EventView) => event.body

export const brokenStores: readonly BrokenStore[] = [
  {
    name: 'leaves a gap in seq',
    topic: 'appending',
    break: (store) => {
      const shift = <E extends EventView>(event: E): E =>
        event.seq > 2 ? { ...event, seq: event.seq + 1 } : event
      return {
        ...withEvents(store, (events) => events.map(shift)),
        async commit(id, commit) {
          const result = await store.commit(id, commit)
          return { ...result, events: result.events.map(shift) }
        },
      }
    },
  },
  {
    name: 'stores a repeated id again',
    topic: 'appending',
    break: (store) => {
      let copies = 0
      const withoutMark = <E extends EventView>(event: E): E => ({
        ...event,
        id: event.id.replace(/#\d+$/, ''),
      })
      return {
        ...withEvents(store, (events) => events.map(withoutMark)),
        async commit(id, commit) {
          const result = await store.commit(id, {
            ...commit,
            events: commit.events.map((event) => ({ ...event, id: `${event.id}#${++copies}` })),
          })
          return { ...result, events: result.events.map(withoutMark) }
        },
      }
    },
  },
  {
    name: 'writes a batch event by event',
    topic: 'reading',
    break: (store) => ({
      async commit(id, commit) {
        if (commit.boundary !== undefined || commit.events.length < 2)
          return store.commit(id, commit)
        const events: EventView[] = []
        let session: SessionRecord | undefined
        for (const event of commit.events) {
          const result = await store.commit(id, { ...commit, events: [event] })
          await new Promise((resolve) => setTimeout(resolve))
          events.push(...result.events)
          session = result.session
        }
        return { session: session as SessionRecord, events }
      },
    }),
  },
  {
    name: 'stores the events of a commit that fails',
    topic: 'boundaries',
    break: (store) => ({
      async commit(id, commit) {
        try {
          return await store.commit(id, commit)
        } catch (error) {
          if ((error as SessionError).code === 'EVENT_NOT_FOUND') {
            await store.commit(id, { now: commit.now, events: commit.events })
          }
          throw error
        }
      },
    }),
  },
  {
    name: 'forgets what comes after 100 events of a batch',
    topic: 'appending',
    break: (store) => ({
      commit: (id, commit) => store.commit(id, { ...commit, events: commit.events.slice(0, 100) }),
    }),
  },
  {
    name: 'orders the log by timestamp',
    topic: 'time ranges',
    break: (store) =>
      withEvents(store, (events) => [...events].sort((a, b) => a.timestamp - b.timestamp)),
  },
  {
    name: 'gives the view in seq order',
    topic: 'boundaries',
    break: (store) => withEvents(store, (events) => [...events].sort((a, b) => a.seq - b.seq)),
  },
  {
    name: 'archives what was appended meanwhile',
    topic: 'boundaries',
    break: (store) => ({
      commit: (id, commit) =>
        store.commit(id, {
          ...commit,
          boundary: commit.boundary && { ...commit.boundary, through: 1e9 },
        }),
    }),
  },
  {
    name: 'forgets what was rewound',
    topic: 'rewinding',
    break: (store) => ({
      commit: (id, commit) =>
        store.commit(id, {
          ...commit,
          boundary: commit.boundary && { ...commit.boundary, rewound: [] },
        }),
    }),
  },
  {
    name: 'ignores the operation id',
    topic: 'boundaries',
    break: (store) => ({
      commit: (id, commit) => store.commit(id, { ...commit, operationId: undefined }),
    }),
  },
  {
    name: 'ignores the expected version',
    topic: 'versions',
    break: (store) => ({
      commit: (id, commit) => store.commit(id, { ...commit, expectedVersion: undefined }),
    }),
  },
  {
    name: 'looks at the expected version before it looks for repeats',
    topic: 'versions',
    break: (store) => ({
      async commit(id, commit) {
        const session = await store.findSession(id, commit)
        if (
          session !== null &&
          commit.expectedVersion !== undefined &&
          commit.expectedVersion !== session.version
        ) {
          throw new SessionError(
            'VERSION_CONFLICT',
            `at ${session.version}, not ${commit.expectedVersion}`,
            {
              details: { expected: commit.expectedVersion, actual: session.version },
            },
          )
        }
        return store.commit(id, commit)
      },
    }),
  },
  {
    name: 'ignores the expected boundary',
    topic: 'versions',
    break: (store) => ({
      commit: (id, commit) => store.commit(id, { ...commit, expectedBoundary: undefined }),
    }),
  },
  {
    name: 'does not count boundaries in the version',
    topic: 'versions',
    break: (store, database) =>
      withSession(store, (session) => ({
        ...session,
        version: session.version - (database.sessions.get(session.id)?.boundaries.length ?? 0),
      })),
  },
  {
    name: 'keeps the newest boundary only',
    topic: 'boundaries',
    break: (store) => ({
      readBoundaries: async (id, options) => (await store.readBoundaries(id, options)).slice(-1),
    }),
  },
  {
    name: 'knows expired sessions',
    topic: 'lifetime',
    break: (store) => ({
      findSession: (id) => store.findSession(id, { now: 0 }),
      readEvents: (id, request) => store.readEvents(id, { ...request, now: 0 }),
      commit: (id, commit) => store.commit(id, { ...commit, now: 0 }),
    }),
  },
  {
    name: 'expires a millisecond late',
    topic: 'lifetime',
    break: (store) => ({
      findSession: (id, { now }) => store.findSession(id, { now: now - 1 }),
    }),
  },
  {
    name: 'does not let lifetimes slide',
    topic: 'lifetime',
    break: (store) => ({
      createSession: (session, options) =>
        store.createSession({ ...session, slidingTimeToLive: null }, options),
    }),
  },
  {
    name: 'leaves the events of a deleted session behind',
    topic: 'deleting',
    break: (store, database) => {
      const remains = new Map<string, { events: unknown[]; seqById: Map<string, number> }>()
      return {
        async deleteSession(id) {
          const stored = database.sessions.get(id)
          if (stored !== undefined) remains.set(id, stored as never)
          return store.deleteSession(id)
        },
        async createSession(session, options) {
          const result = await store.createSession(session, options)
          const old = remains.get(session.id)
          const stored = database.sessions.get(session.id)
          if (result.created && old !== undefined && stored !== undefined) {
            Object.assign(stored, { events: old.events, seqById: old.seqById })
          }
          return result
        },
      }
    },
  },
  {
    name: 'deletes every user whose id begins alike',
    topic: 'listing',
    break: (store, database) => ({
      listSessions: async (request) => {
        const users = new Set([...database.sessions.values()].map(({ record }) => record.userId))
        const lists = [...users]
          .filter((userId) => userId.startsWith(request.userId))
          .map((userId) => store.listSessions({ ...request, userId }))
        return (await Promise.all(lists)).flat().slice(0, request.limit)
      },
    }),
  },
  {
    name: 'lets two create the same session',
    topic: 'sessions',
    break: (store, database) => ({
      async createSession(session, options) {
        const found = await store.findSession(session.id, options)
        if (found !== null) return { session: found, created: false }
        await new Promise((resolve) => setTimeout(resolve))
        database.sessions.delete(session.id)
        return store.createSession(session, options)
      },
    }),
  },
  {
    name: 'overwrites metadata with a change made elsewhere',
    topic: 'sessions',
    break: (store, database) => ({
      async updateSession(id, change) {
        const before = await store.findSession(id, change)
        await new Promise((resolve) => setTimeout(resolve))
        const stored = database.sessions.get(id)
        if (before !== null && stored !== undefined) {
          stored.record = { ...stored.record, metadata: before.metadata }
        }
        return store.updateSession(id, change)
      },
    }),
  },
  {
    name: 'repeats the last session of a page on the next',
    topic: 'listing',
    break: (store) => ({
      listSessions: (request) =>
        store.listSessions({
          ...request,
          after: request.after && {
            ...request.after,
            number: request.after.number + (request.order === 'recent' ? 1 : -1),
          },
        }),
    }),
  },
  {
    name: 'takes the newest before it looks at the other criteria',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const { lastN } = request.filter
        if (lastN === null) return store.readEvents(id, request)
        const answer = await store.readEvents(id, {
          ...request,
          filter: { ...request.filter, lastN: null },
        })
        const oldest = answer.session.lastSeq - lastN
        return { ...answer, events: answer.events.filter(({ seq }) => seq > oldest) }
      },
    }),
  },
  {
    name: 'counts pages from the newest',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const { page, pageSize } = request.filter
        if (pageSize === null) return store.readEvents(id, request)
        const answer = await store.readEvents(id, {
          ...request,
          filter: { ...request.filter, page: null, pageSize: null },
        })
        const end = answer.events.length - (page ?? 0) * pageSize
        return {
          ...answer,
          events: answer.events.slice(Math.max(0, end - pageSize), Math.max(0, end)),
        }
      },
    }),
  },
  {
    name: 'compares keywords without folding',
    topic: 'matching',
    break: (store) =>
      withEvents(store, (events, { keyword }) =>
        events.filter((event) => keyword === null || textOf(event).toLowerCase().includes(keyword)),
      ),
  },
  {
    name: 'finds every event that is short',
    topic: 'matching',
    break: (store) =>
      withFilter(store, (filter) =>
        filter.keyword === '%' ? { ...filter, keyword: null } : filter,
      ),
  },
  {
    name: 'shows siblings whose names begin alike',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const { branch } = request.filter
        const answer = await store.readEvents(id, {
          ...request,
          filter: { ...request.filter, branch: null },
        })
        const isVisible = (event: EventView) =>
          branch === null || event.branch === null || branch.startsWith(event.branch)
        return { ...answer, events: answer.events.filter(isVisible) }
      },
    }),
  },
  {
    name: 'leaves the end of a time range out',
    topic: 'time ranges',
    break: (store) =>
      withEvents(store, (events, { to }) =>
        events.filter(({ timestamp }) => to === null || timestamp < Date.parse(to)),
      ),
  },
  {
    name: 'loses events that came late in time ranges',
    topic: 'time ranges',
    break: (store) =>
      withEvents(store, (events, { from }) =>
        events.filter((event) => from === null || event.timestamp === event.latestTimestamp),
      ),
  },
  {
    name: 'ends a read at its first answer',
    topic: 'reading',
    break: (store) => ({
      readEvents: async (id, request) => ({ ...(await store.readEvents(id, request)), next: null }),
    }),
  },
  {
    name: 'gives everything in one answer',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const first = await store.readEvents(id, request)
        const events = [...first.events]
        for (let { next } = first; next !== null; ) {
          const more = await store.readEvents(id, { ...request, cursor: next })
          events.push(...more.events)
          next = more.next
        }
        return { ...first, events, next: null }
      },
    }),
  },
  {
    name: 'reads on with the log as it has become',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const { cursor } = request
        const session = await store.findSession(id, request)
        const last = cursor?.remaining.at(-1)
        if (!cursor || !session || !last) return store.readEvents(id, request)
        const remaining = [...cursor.remaining.slice(0, -1), [last[0], session.lastSeq] as const]
        return store.readEvents(id, { ...request, cursor: { ...cursor, remaining } })
      },
    }),
  },
  {
    name: 'judges the rest of a read by the newest boundary',
    topic: 'reading',
    break: (store) => ({
      async readEvents(id, request) {
        const session = await store.findSession(id, request)
        const { cursor } = request
        if (!cursor || !session) return store.readEvents(id, request)
        return store.readEvents(id, {
          ...request,
          cursor: { ...cursor, boundary: session.boundary },
        })
      },
    }),
  },
  {
    name: 'ignores afterSeq',
    topic: 'reading',
    break: (store) => ({
      readEvents: (id, request) => store.readEvents(id, { ...request, afterSeq: undefined }),
    }),
  },
  {
    name: 'finds ids in any case',
    topic: 'reading',
    break: (store, database) => ({
      async findEvent(id, eventId, options) {
        const ids = [...(database.sessions.get(id)?.seqById.keys() ?? [])]
        const alike = ids.find((known) => known.toLowerCase() === eventId.toLowerCase())
        return store.findEvent(id, alike ?? eventId, options)
      },
    }),
  },
  {
    name: 'cuts ids at NUL',
    topic: 'identifiers',
    break: (store) => {
      const cut = (id: string) => id.split('\0')[0] as string
      return {
        createSession: (session, options) =>
          store.createSession({ ...session, id: cut(session.id) }, options),
        findSession: (id, options) => store.findSession(cut(id), options),
        readEvents: (id, request) => store.readEvents(cut(id), request),
        commit: (id, commit) => store.commit(cut(id), commit),
      }
    },
  },
  {
    name: 'turns branches that look like numbers into numbers',
    topic: 'identifiers',
    break: (store) =>
      withEvents(store, (events) =>
        events.map((event) =>
          event.branch !== null && /^\d+$/.test(event.branch)
            ? { ...event, branch: `${Number(event.branch)}.0` }
            : event,
        ),
      ),
  },
  {
    name: 'cuts texts at 2 MB',
    topic: 'large events',
    break: (store) =>
      withEvents(store, (events) =>
        events.map((event) => {
          if (event.body.length < 2_000_000) return event
          const { message, metadata } = JSON.parse(event.body)
          const content =
            typeof message.content === 'string'
              ? message.content.slice(0, 2_000_000)
              : message.content
          return { ...event, body: JSON.stringify({ message: { ...message, content }, metadata }) }
        }),
      ),
  },
  {
    name: 'erases nothing',
    topic: 'erasing',
    break: (store) => ({
      eraseEvent: async (id, eventId, options) =>
        (await store.findEvent(id, eventId, options)) !== null,
    }),
  },
  {
    name: 'recalls sessions of every user',
    topic: 'recalling',
    break: (store, database) => ({
      async recallEvents(request) {
        const users = [
          ...new Set([...database.sessions.values()].map(({ record }) => record.userId)),
        ]
        const answers = await Promise.all(
          users.map((userId) => store.recallEvents({ ...request, userId })),
        )
        return { events: answers.flatMap(({ events }) => events), damage: [], complete: true }
      },
    }),
  },
  {
    name: 'recalls session by session',
    topic: 'recalling',
    break: (store) => ({
      async recallEvents(request) {
        const answer = await store.recallEvents(request)
        const events = [...answer.events].sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1))
        return { ...answer, events }
      },
    }),
  },
  {
    name: 'fails when one record is damaged',
    topic: 'damage',
    break: (store) => ({
      async readEvents(id, request) {
        const answer = await store.readEvents(id, request)
        for (const { body } of answer.events) JSON.parse(body)
        return answer
      },
    }),
  },
  {
    name: 'says nothing of damage',
    topic: 'damage',
    break: (store) => ({
      async recallEvents(request) {
        return { ...(await store.recallEvents(request)), damage: [] }
      },
    }),
  },
  {
    name: 'goes on after it was closed',
    topic: 'closing',
    break: () => ({ close: async () => undefined }),
  },
  {
    name: 'forgets who stopped listening',
    topic: 'watching',
    break: (store) => ({
      watch(listener) {
        store.watch(listener)
        return () => undefined
      },
    }),
  },
  {
    name: 'keeps hints to itself',
    topic: 'watching',
    hangs: true,
    break: () => ({ watch: () => () => undefined }),
  },
]
