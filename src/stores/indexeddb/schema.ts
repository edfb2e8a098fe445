/**
 * What the database holds.
 *
 * An append is the operation that counts. It looks for one key and writes one record, the event. What it
 * changes of its session is read from the end of the log, and there is no index that nothing asks for.
 */

import type { DBSchema, IDBPDatabase, IDBPTransaction, StoreNames } from 'idb'
import type { Boundary } from '../../core/session-repository.ts'

/** A session, but for what its log changes. */
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

/**
 * What the log of a session has come to. Of an open session, which is one that instances append to without
 * reading this, as it was at some time: `readHead` brings it up to date.
 */
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
  /**
   * Its place in the list of the user's sessions: `getAll` knows only the ascending order. The time of an
   * open session is `Infinity`: its place is not known.
   */
  readonly recency: readonly [userId: string, minusTime: number, minusNumber: number]
  /** The `stamp` of its tail, when it is open. */
  readonly tail?: number
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

/** That a session is open, or has events that are in no block yet: one record at most. */
export interface StoredTail {
  readonly session: number
  /**
   * A random number, another one whenever more changes than that events are appended: as long as it is there,
   * what an instance remembers of the session holds.
   */
  readonly stamp: number
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
  tails: { key: [number, number]; value: StoredTail }
  blocks: { key: number; value: StoredBlockRecord }
  groups: { key: number; value: StoredGroupRecord }
}

export type Database = IDBPDatabase<TurnlogSchema>
export type UpgradeTransaction = IDBPTransaction<
  TurnlogSchema,
  StoreNames<TurnlogSchema>[],
  'versionchange'
>
