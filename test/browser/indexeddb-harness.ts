// The IndexedDB store for the contract suite and the other suites that run against any store.
import { deleteDB, openDB } from 'idb'
import { createIndexedDBRepository } from 'turnlog/indexeddb'
import type { StoreHarness } from 'turnlog/testing'
import type { SearchSettings } from '../../src/search/sealing.ts'
import { openRepository } from './sealing.ts'

let databases = 0

/** A name that no other test uses. */
export function freshDatabaseName(): string {
  databases++
  return `test-${Date.now()}-${databases}`
}

/** @param search smaller blocks. */
export function indexedDBHarness(search?: SearchSettings): StoreHarness {
  let databaseName = freshDatabaseName()
  let connections: IDBDatabase[] = []
  return {
    async open() {
      const factory = listeningFactory((connection) => connections.push(connection))
      return search === undefined
        ? createIndexedDBRepository({ databaseName, indexedDB: factory })
        : openRepository(databaseName, search, factory)
    },

    async reset() {
      await deleteDB(databaseName)
      databaseName = freshDatabaseName()
      connections = []
    },

    /** What a browser does to a tab in the background: every connection is dead, and nobody was told. */
    async evict() {
      for (const connection of connections) connection.close()
      connections = []
    },

    async damage(sessionId, seq) {
      const database = await openDB(databaseName)
      const session = await database.getFromIndex('sessions', 'id', sessionId)
      const event = await database.get('events', [session.number, seq])
      await database.put('events', { ...event, body: '{"message":' })
      database.close()
    },
  }
}

/** The browser's own factory, which tells of every connection that it opens. */
export function listeningFactory(onOpen: (connection: IDBDatabase) => void): IDBFactory {
  return factoryWith({
    open(name, version) {
      const request = indexedDB.open(name, version)
      request.addEventListener('success', () => onOpen(request.result))
      return request
    },
  })
}

/** The browser's own factory with another `open`. */
export function factoryWith(change: Pick<IDBFactory, 'open'>): IDBFactory {
  return {
    cmp: (first, second) => indexedDB.cmp(first, second),
    databases: () => indexedDB.databases(),
    deleteDatabase: (name) => indexedDB.deleteDatabase(name),
    ...change,
  }
}
