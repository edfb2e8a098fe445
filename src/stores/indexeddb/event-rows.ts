/** The records of events and of their long bodies. */

import { unwrap } from 'idb'
import type { EventRecord, SessionRecord } from '../../core/session-repository.ts'
import type { StoredBody, StoredEvent, StoredLateness } from './schema.ts'
import { hasLongBody, salvageEvent, toStoredEvent, toStoredId } from './stored-records.ts'
import {
  type add,
  put,
  type ReadTransaction,
  readLarge,
  remove,
  type WriteTransaction,
} from './transactions.ts'

/** The records of events, by the names of the stores. */
export interface EventRows {
  readonly events: readonly StoredEvent[]
  readonly bodies: readonly StoredBody[]
  readonly late: readonly StoredLateness[]
}

export function toEventRows(session: number, events: readonly EventRecord[]): EventRows {
  const rows = events.map((event) => toStoredEvent(session, event))
  return {
    events: rows.map(({ stored }) => stored),
    bodies: rows.map(({ body }) => body).filter((body) => body !== null),
    late: events
      .filter(({ timestamp, latestTimestamp }) => timestamp < latestTimestamp)
      .map(({ timestamp, seq }) => ({ session, timestamp, seq })),
  }
}

/** Removes what appends that came too late left beyond the end of a log. */
export function removeBeyond(
  transaction: WriteTransaction,
  session: number,
  lastSeq: number,
): void {
  const beyond = IDBKeyRange.bound([session, lastSeq], [session, []], true)
  remove(transaction, 'events', beyond)
  remove(transaction, 'bodies', beyond)
}

/** Writes events with `add` or, over those that are there, with `put`. */
export function writeEvents(
  transaction: WriteTransaction,
  { events, bodies, late }: EventRows,
  write: typeof add,
): void {
  write(transaction, 'events', events)
  write(transaction, 'bodies', bodies)
  put(transaction, 'late', late)
}

export async function findStoredEvent(
  transaction: ReadTransaction,
  { number, lastSeq }: SessionRecord,
  eventId: string,
): Promise<StoredEvent | undefined> {
  const stored = await transaction
    .objectStore('events')
    .index('id')
    .get(toStoredId(number, eventId))
  // Beyond the end there may be what another instance is about to take back.
  return stored === undefined || stored.seq > lastSeq ? undefined : stored
}

/** The event with an id, or what is left of it. */
export async function findEvent(
  transaction: ReadTransaction,
  session: SessionRecord,
  eventId: string,
): Promise<EventRecord | null> {
  const stored = await findStoredEvent(transaction, session, eventId)
  return stored === undefined ? null : salvageEvent(stored, await readLongBody(transaction, stored))
}

/** The long body of a record; `undefined` when it has none, or none that the browser can read. */
export async function readLongBody(
  transaction: ReadTransaction,
  stored: StoredEvent,
): Promise<unknown> {
  if (!hasLongBody(stored)) return undefined
  const bodies = unwrap(transaction.objectStore('bodies'))
  const request: IDBRequest<StoredBody | undefined> = bodies.get([stored.session, stored.seq])
  return (await readLarge(request))?.body
}
