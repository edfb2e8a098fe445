/**
 * What the database holds, and the steps that bring an older database there.
 *
 * An append is the operation that counts. It reads one small record and writes two: the event, and the
 * session's `heads` record. What does not change with an append is kept apart from that, and there is
 * no index that nothing asks for.
 */

import {
  type DBSchema,
  type IDBPDatabase,
  type IDBPTransaction,
  type StoreNames,
  unwrap,
} from 'idb'
import { randomId } from '../../core/identifiers.ts'
import type { Boundary } from '../../core/session-repository.ts'

/** A session, but for what every append changes. */
export interface StoredSession {
  readonly number: number
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  /** `null` is no key: only sessions that expire are in the index. */
  readonly expiresAt: number | null
  readonly slidingTimeToLive: number | null
  readonly metadata: string
  /** A new random number whenever this record is written: tells a remembered copy from an outdated one. */
  readonly stamp: number
}

/** What an append changes of a session. */
export interface StoredHead {
  readonly number: number
  /** The `stamp` of the session's record. */
  readonly stamp: number
  readonly lastSeq: number
  readonly version: number
  readonly lastEventAt: number | null
  readonly latestTimestamp: number | null
  readonly boundary: Boundary | null
  /** Events up to this `seq` are in blocks; absent: none. */
  readonly sealedSeq?: number
  /** Its place in the list of the user's sessions: `getAll` knows only the ascending order. */
  readonly recency: readonly [userId: string, minusTime: number, minusNumber: number]
}

/** An event. Fields that say the usual are absent, to keep the record small. */
export interface StoredEvent {
  readonly session: number
  readonly seq: number
  /** See `toStoredId`. */
  readonly id: string
  readonly timestamp: number
  readonly role: string
  /** Absent: `null`, the root. */
  readonly branch?: string
  /** Absent: `false`. */
  readonly synthetic?: true
  /** Absent: the same as `timestamp`. */
  readonly latestTimestamp?: number
  /** Absent when it is long: then it is in `bodies`. */
  readonly body?: string
  /** The length of a body in `bodies`, in UTF-16 units. */
  readonly bodyLength?: number
}

/** An event whose time is below that of an earlier one. Not an index of `events`: every append would pay for it. */
export interface StoredLateness {
  readonly session: number
  readonly timestamp: number
  readonly seq: number
}

/** The body of an event that is too long to be read along with others. */
export interface StoredBody {
  readonly session: number
  readonly seq: number
  readonly body: string
}

/** A boundary of a session. `version` is the session's after the commit: two may have one position. */
export interface StoredBoundary {
  readonly session: number
  readonly position: number
  readonly version: number
  readonly id: string
  readonly boundary: Boundary
}

/** A session with events that are in no block yet. Not an index of `heads`: every append would write it. */
export interface StoredTail {
  readonly session: number
}

/** A block of the search; see `StoredBlock` of the search. */
export interface StoredBlockRecord {
  readonly number: number
  readonly entries: string
  /** UTF-8 where that is shorter: one character beyond Latin-1 makes every character of a string two bytes. */
  readonly text: string | Uint8Array
}

/** A group of the search's directory; see `StoredGroup` of the search. */
export interface StoredGroupRecord {
  readonly number: number
  readonly entries: string
  readonly signatures: Uint8Array
}

export interface TurnlogSchema extends DBSchema {
  /** Facts about the database itself. */
  properties: { key: string; value: { readonly name: string; readonly value: string } }
  sessions: {
    key: number
    value: StoredSession
    indexes: { id: string; created: [string, number, number]; expiry: number }
  }
  heads: { key: number; value: StoredHead; indexes: { recency: [string, number, number] } }
  events: {
    key: [number, number]
    value: StoredEvent
    indexes: { id: string }
  }
  late: { key: [number, number, number]; value: StoredLateness }
  bodies: { key: [number, number]; value: StoredBody }
  boundaries: {
    key: [number, number, number]
    value: StoredBoundary
    indexes: { id: [number, string] }
  }
  tails: { key: number; value: StoredTail }
  blocks: { key: number; value: StoredBlockRecord }
  groups: { key: number; value: StoredGroupRecord }
}

export type Database = IDBPDatabase<TurnlogSchema>
export type UpgradeTransaction = IDBPTransaction<
  TurnlogSchema,
  StoreNames<TurnlogSchema>[],
  'versionchange'
>

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
  const index = unwrap(transaction.objectStore('events')).index('late')
  await new Promise<void>((resolve, reject) => {
    const request = index.openKeyCursor()
    request.addEventListener('error', () => reject(request.error))
    request.addEventListener('success', () => {
      const cursor = request.result
      if (cursor === null) return resolve()
      const [session, timestamp] = cursor.key as [number, number]
      const [, seq] = cursor.primaryKey as [number, number]
      late.put({ session, timestamp, seq })
      cursor.continue()
    })
  })
  unwrap(transaction.objectStore('events')).deleteIndex('late')
}

/** What was stored before the first release had an index over `session` and `id`. */
async function joinIds(_database: Database, transaction: UpgradeTransaction): Promise<void> {
  const events = unwrap(transaction.objectStore('events'))
  if (!Array.isArray(events.index('id').keyPath)) return
  events.deleteIndex('id')
  await new Promise<void>((resolve, reject) => {
    const request = events.openCursor()
    request.addEventListener('error', () => reject(request.error))
    request.addEventListener('success', () => {
      const cursor = request.result
      if (cursor === null) return resolve()
      const event: StoredEvent = cursor.value
      cursor.update({ ...event, id: toStoredId(event.session, event.id) })
      cursor.continue()
    })
  })
  events.createIndex('id', 'id', { unique: true })
}

/**
 * The id of an event as it is stored, behind its session's number: an index over one field costs an
 * append much less than one over two.
 */
export function toStoredId(session: number, id: string): string {
  return `${session}:${id}`
}
