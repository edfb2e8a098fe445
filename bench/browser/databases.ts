/** The databases of the benchmark in the browser: ours, plain ones, and one of an older version. */

import { openDB } from 'idb'
import { createIndexedDBRepository } from 'turnlog/indexeddb'
import type { NewEventRecord, SessionRepository } from 'turnlog/store'
import { encodeBody } from '../../src/core/event-input.ts'
import { MIGRATIONS } from '../../src/stores/indexeddb/migrations.ts'
import type { UpgradeTransaction } from '../../src/stores/indexeddb/schema.ts'
import { toStoredEvent, toStoredSession } from '../../src/stores/indexeddb/stored-records.ts'
import { type Corpus, textAt } from '../texts.ts'
import type { PlainEvent } from './peers.ts'

export const START = Date.UTC(2026, 0, 1)
export const USER = 'me'
const PORTION = 2_000

export function plainEvent(
  corpus: Corpus,
  session: string,
  seq: number,
  position: number,
  size: number,
): PlainEvent {
  return {
    session,
    seq,
    id: `${session}-${seq}`,
    timestamp: START + position * 1000,
    message: {
      role: position % 2 === 0 ? 'user' : 'assistant',
      content: textAt(corpus, position, size),
    },
  }
}

export function toRecord({ id, timestamp, message }: PlainEvent): NewEventRecord {
  const body = encodeBody(message, {})
  return { id, timestamp, role: message.role, branch: null, synthetic: false, body }
}

/** The events of a log, in portions. */
export function* portionsOf(
  corpus: Corpus,
  session: string,
  size: number,
): Generator<readonly PlainEvent[]> {
  for (let first = 1; first <= size; first += PORTION) {
    const length = Math.min(PORTION, size - first + 1)
    yield Array.from({ length }, (_, index) =>
      plainEvent(corpus, session, first + index, first + index, size),
    )
  }
}

export async function createSession(repository: SessionRepository, id: string): Promise<void> {
  const session = {
    id,
    userId: USER,
    createdAt: START,
    expiresAt: null,
    slidingTimeToLive: null,
    metadata: '{}',
    lastSeq: 0,
    version: 0,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
  await repository.createSession(session, { now: START })
}

/** Fills a database of ours and waits until it is sealed. */
export async function fillOurs(
  databaseName: string,
  sessions: Iterable<{ readonly id: string; readonly portions: Iterable<readonly PlainEvent[]> }>,
): Promise<void> {
  const repository = createIndexedDBRepository({ databaseName })
  for (const { id, portions } of sessions) {
    await createSession(repository, id)
    for (const events of portions) {
      await repository.commit(id, { now: START, events: events.map(toRecord) })
    }
  }
  await untilQuiet(databaseName)
  await repository.close()
}

/** Waits until no block is sealed any more. */
export async function untilQuiet(databaseName: string): Promise<void> {
  const database = await openDB(databaseName)
  for (let before = -1, blocks = 0; before !== blocks; ) {
    before = blocks
    await new Promise((resolve) => {
      setTimeout(resolve, 20)
    })
    // A writing transaction comes after the one that seals.
    blocks = await database.transaction('blocks', 'readwrite').store.count()
  }
  database.close()
}

/** A database of version 1, which knew no blocks. */
export async function fillVersion1(
  databaseName: string,
  id: string,
  portions: Iterable<readonly PlainEvent[]>,
): Promise<void> {
  const database = await openDB(databaseName, 1, {
    async upgrade(opened, _old, _new, transaction) {
      const [first] = MIGRATIONS
      await first?.[1](opened as never, transaction as unknown as UpgradeTransaction)
    },
  })
  let seq = 0
  let timestamp = START
  for (const events of portions) {
    const transaction = database.transaction('events', 'readwrite', { durability: 'relaxed' })
    for (const event of events) {
      seq = event.seq
      timestamp = event.timestamp
      const record = { ...toRecord(event), seq, latestTimestamp: timestamp }
      void transaction.store.add(toStoredEvent(1, record).stored)
    }
    await transaction.done
  }
  const { stored, head } = toStoredSession(
    {
      number: 1,
      id,
      userId: USER,
      createdAt: START,
      expiresAt: null,
      slidingTimeToLive: null,
      metadata: '{}',
      lastSeq: seq,
      version: seq,
      lastEventAt: timestamp,
      latestTimestamp: timestamp,
      boundary: null,
    },
    0,
  )
  await database.put('sessions', stored)
  await database.put('heads', head)
  database.close()
}
