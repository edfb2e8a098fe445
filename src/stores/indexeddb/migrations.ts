/** The steps that bring an older database to what `schema.ts` says. */

import { unwrap } from 'idb'
import { randomId } from '../../core/identifiers.ts'
import type { Database, UpgradeTransaction } from './schema.ts'

/** One step from a version of the schema to the next; may await requests of the transaction only. */
export type Migration = (
  database: Database,
  transaction: UpgradeTransaction,
) => void | Promise<void>

/** The version of the schema that this code works with. */
export const VERSION = 5

/**
 * The steps, with the version that each leads to. Released ones never change. (Versions 2 to 4 were never
 * released.)
 */
export const MIGRATIONS: readonly (readonly [version: number, migrate: Migration])[] = [
  [1, createStores],
  [VERSION, createSearchStores],
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

  database
    .createObjectStore('events', { keyPath: ['session', 'seq'] })
    .createIndex('id', 'id', { unique: true })

  // An index of events would be one of few of them, and cost every append a fifth.
  database.createObjectStore('late', { keyPath: ['session', 'timestamp', 'seq'] })

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
  // Version 4 had tails without stamps.
  const isNew = !database.objectStoreNames.contains('tails')
  const sessions = await transaction.objectStore(isNew ? 'sessions' : 'tails').getAllKeys()
  if (isNew) {
    database.createObjectStore('blocks', { keyPath: 'number', autoIncrement: true })
    database.createObjectStore('groups', { keyPath: 'number' })
  } else {
    database.deleteObjectStore('tails')
  }
  const tails = unwrap(database.createObjectStore('tails', { keyPath: ['session', 'stamp'] }))
  for (const session of sessions) tails.put({ session, stamp: 0 }) // done when the upgrade is
}
