/** The steps that bring an older database to what `schema.ts` says. */

import { unwrap } from 'idb'
import { randomId } from '../../core/identifiers.ts'
import type { Database, StoredEvent, UpgradeTransaction } from './schema.ts'
import { toStoredId } from './stored-records.ts'

/** One step from a version of the schema to the next; may await requests of the transaction only. */
export type Migration = (
  database: Database,
  transaction: UpgradeTransaction,
) => void | Promise<void>

/** The step at index 0 makes version 1 of an empty database. Released steps never change. */
export const MIGRATIONS: readonly Migration[] = [
  createStores,
  createSearchStores,
  moveLateness,
  joinIds,
]

/** The name of the random id that a database gets when it is made: another id, another database. */
export const IDENTITY = 'identity'

async function createStores(database: Database): Promise<void> {
  const properties = database.createObjectStore('properties', { keyPath: 'name' })

  const sessions = database.createObjectStore('sessions', {
    keyPath: 'number',
    autoIncrement: true,
  })
  sessions.createIndex('id', 'id', { unique: true })
  sessions.createIndex('created', ['userId', 'createdAt', 'number'])
  sessions.createIndex('expiry', 'expiresAt')

  database.createObjectStore('heads', { keyPath: 'number' }).createIndex('recency', 'recency')

  const events = database.createObjectStore('events', { keyPath: ['session', 'seq'] })
  events.createIndex('id', 'id', { unique: true })
  // Of version 1 and 2 only: see moveLateness.
  unwrap(events).createIndex('late', ['session', 'lateTimestamp'])

  database.createObjectStore('bodies', { keyPath: ['session', 'seq'] })

  database
    .createObjectStore('boundaries', { keyPath: ['session', 'position', 'version'] })
    .createIndex('id', ['session', 'id'])

  await properties.put({ name: IDENTITY, value: randomId() })
}

/** What was stored before is one long tail of each session, which is sealed bit by bit. */
async function createSearchStores(
  database: Database,
  transaction: UpgradeTransaction,
): Promise<void> {
  const tails = database.createObjectStore('tails', { keyPath: 'session' })
  database.createObjectStore('blocks', { keyPath: 'number', autoIncrement: true })
  database.createObjectStore('groups', { keyPath: 'number' })
  const records = unwrap(tails)
  for (const session of await transaction.objectStore('sessions').getAllKeys()) {
    records.put({ session }) // done when the upgrade is
  }
}

/** An index that holds few events costs every append a fifth; a store of their own costs it nothing. */
async function moveLateness(database: Database, transaction: UpgradeTransaction): Promise<void> {
  const late = unwrap(
    database.createObjectStore('late', { keyPath: ['session', 'timestamp', 'seq'] }),
  )
  const events = unwrap(transaction.objectStore('events'))
  await visit(events.index('late').openKeyCursor(), ({ key, primaryKey }) => {
    const [session, timestamp] = key as [number, number]
    const [, seq] = primaryKey as [number, number]
    late.put({ session, timestamp, seq })
  })
  events.deleteIndex('late')
}

/** What was stored before the first release had an index over `session` and `id`. */
async function joinIds(_database: Database, transaction: UpgradeTransaction): Promise<void> {
  const events = unwrap(transaction.objectStore('events'))
  if (events.index('id').keyPath === 'id') return
  events.deleteIndex('id')
  await visit(events.openCursor(), (cursor) => {
    const event: StoredEvent = cursor.value
    cursor.update({ ...event, id: toStoredId(event.session, event.id) })
  })
  events.createIndex('id', 'id', { unique: true })
}

/** Goes through what a cursor finds. */
function visit<Cursor extends IDBCursor>(
  request: IDBRequest<Cursor | null>,
  see: (cursor: Cursor) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      const cursor = request.result
      if (cursor === null) return resolve()
      see(cursor)
      cursor.continue()
    }
  })
}
