// The in-memory store for the contract suite and the other suites that run against any store.
import { createInMemoryDatabase, createInMemoryRepository } from 'turnlog/in-memory'
import type { StoreHarness } from 'turnlog/testing'

export function inMemoryHarness(): StoreHarness {
  let database = createInMemoryDatabase()
  return {
    open: async () => createInMemoryRepository(database),
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
