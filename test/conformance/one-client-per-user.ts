// Where the user is the authenticated one, as over HTTP, every user of a case has a client of their own:
// this makes one repository of them. What cannot be is skipped by name: two users with one session id.
import type { SessionRepository } from '../../src/stores/index.ts'
import { VectorSkipped } from './vector-case.ts'

/**
 * @param connect gives a user's own repository.
 * @param firstUser who is asked about sessions that nobody has created.
 */
export function oneClientPerUser(
  connect: (userId: string) => SessionRepository,
  firstUser = 'ana',
): SessionRepository {
  const clients = new Map<string, SessionRepository>()
  const of = (userId: string): SessionRepository => {
    const client = clients.get(userId) ?? connect(userId)
    clients.set(userId, client)
    return client
  }
  of(firstUser)

  /** The client whose user has the session, the first one when nobody does. */
  const ownerOf = async (sessionId: string): Promise<SessionRepository> => {
    for (const client of clients.values()) {
      if ((await client.findSession(sessionId, { now: Date.now() })) !== null) return client
    }
    return of(firstUser)
  }
  const sum = async (count: (client: SessionRepository) => Promise<number>): Promise<number> => {
    let total = 0
    for (const client of clients.values()) total += await count(client)
    return total
  }

  return {
    async createSession(session, options) {
      const owner = await ownerOf(session.id)
      const found = await owner.findSession(session.id, options)
      if (found !== null && found.userId !== session.userId) {
        throw new VectorSkipped('two users claim one session id, which over HTTP are two sessions')
      }
      return of(session.userId).createSession(session, options)
    },
    findSession: async (id, options) => (await ownerOf(id)).findSession(id, options),
    updateSession: async (id, change) => (await ownerOf(id)).updateSession(id, change),
    listSessions: (request) => of(request.userId).listSessions(request),
    deleteSession: async (id) => (await ownerOf(id)).deleteSession(id),
    deleteUser: (userId) => of(userId).deleteUser(userId),
    deleteExpiredSessions: (before) => sum((client) => client.deleteExpiredSessions(before)),
    commit: async (id, commit) => (await ownerOf(id)).commit(id, commit),
    readEvents: async (id, request) => (await ownerOf(id)).readEvents(id, request),
    findEvent: async (id, eventId, options) => (await ownerOf(id)).findEvent(id, eventId, options),
    readBoundaries: async (id, options) => (await ownerOf(id)).readBoundaries(id, options),
    eraseEvent: async (id, eventId, options) =>
      (await ownerOf(id)).eraseEvent(id, eventId, options),
    recallEvents: (request) => of(request.userId).recallEvents(request),
    watch(listener, options) {
      const stops = [...clients.values()].map((client) => client.watch(listener, options))
      return () => {
        for (const stop of stops) stop()
      }
    },
    async close() {
      for (const client of clients.values()) await client.close()
    },
  }
}
