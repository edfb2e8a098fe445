// Everything that a database holds, as text: to prove what is not in it.
import { openDB } from 'idb'
import { textsOf } from '../support/erasure-check.ts'

/** Every record and every key of every object store and index. */
export async function dumpDatabase(databaseName: string): Promise<string> {
  const database = await openDB(databaseName)
  const dump: unknown[] = []
  const names = [...database.objectStoreNames]
  const transaction = database.transaction(names)
  for (const name of names) {
    const store = transaction.objectStore(name)
    dump.push(name, await store.getAllKeys(), await store.getAll())
    for (const index of store.indexNames) {
      let cursor = await store.index(index).openKeyCursor()
      while (cursor !== null) {
        dump.push(cursor.key, cursor.primaryKey)
        cursor = await cursor.continue()
      }
    }
  }
  database.close()
  return JSON.stringify(dump, (_key, value) =>
    value instanceof Uint8Array ? textsOf(value) : value,
  )
}

/** How many records each object store holds. */
export async function countStored(databaseName: string): Promise<Record<string, number>> {
  const database = await openDB(databaseName)
  const counts: Record<string, number> = {}
  for (const name of database.objectStoreNames) counts[name] = await database.count(name)
  database.close()
  return counts
}
