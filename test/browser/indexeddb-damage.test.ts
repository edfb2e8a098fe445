// Damaged records in IndexedDB: what can be read is read, what cannot is reported, and it can still be
// erased and deleted.

import { type IDBPDatabase, openDB } from 'idb'
import type { DamageReport, SessionPage, SessionService } from 'turnlog'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { describe, expect, test } from 'vitest'
import { dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests, replace } from './request-counter.ts'
import { openWithSmallBlocks, SMALL_BLOCKS, untilSealed } from './sealing.ts'

const LONG = 'long '.repeat(20_000)

/** Five events `e1` to `e5` in session `a`, the third one long; `break` changes the database. */
async function openDamaged(breakDatabase: (database: IDBPDatabase) => Promise<unknown>) {
  const databaseName = freshDatabaseName()
  const damage: DamageReport[] = []
  const service = createIndexedDBSessionService({
    databaseName,
    defaultUserId: 'me',
    onDamage: (report) => damage.push(report),
  })
  await service.create({ id: 'a' })
  for (let number = 1; number <= 5; number++) {
    await service.appendEvent('a', {
      id: `e${number}`,
      timestamp: number * 1000,
      message: { role: 'user', content: number === 3 ? LONG : `text ${number}` },
    })
  }
  const database = await openDB(databaseName)
  await breakDatabase(database)
  database.close()
  return { databaseName, service, damage }
}

/** Puts the event 2 back with other fields; `undefined` takes one away. */
const changeEvent =
  (change: Record<string, unknown>, key: [number, number] = [1, 2]) =>
  async (database: IDBPDatabase) => {
    const event = { ...(await database.get('events', key)), ...change }
    for (const field of Object.keys(event)) if (event[field] === undefined) delete event[field]
    await database.put('events', event)
  }

/**
 * From now on every request for values of an object store fails, as it does when the browser has lost
 * the file that it keeps a large value in; the result undoes it.
 */
function loseValues(store: string): () => void {
  const restores = (['get', 'getAll', 'openCursor'] as const).map((method) =>
    replace(
      IDBObjectStore.prototype,
      method,
      (original) =>
        function (this: IDBObjectStore, ...args: unknown[]) {
          const request = original.apply(this, args) as IDBRequest
          if (this.name !== store) return request
          const { transaction } = this
          const fail = (event: Event) => {
            event.stopImmediatePropagation()
            const failure = new Event('error', { bubbles: true, cancelable: true })
            if (request.dispatchEvent(failure)) transaction.abort()
          }
          request.addEventListener('success', fail, { capture: true })
          return request
        },
    ),
  )
  return () => {
    for (const restore of restores) restore()
  }
}

describe('an event', () => {
  /** What breaks it, and a word that the reason names. */
  const ways: Record<string, readonly [(database: IDBPDatabase) => Promise<unknown>, string]> = {
    'without an id': [changeEvent({ id: undefined }), '"id"'],
    'without a timestamp': [changeEvent({ timestamp: undefined }), '"timestamp"'],
    'without a timestamp, but a latest one': [
      changeEvent({ timestamp: undefined, latestTimestamp: 2000 }),
      '"timestamp"',
    ],
    'with a timestamp that is no number': [changeEvent({ timestamp: 'yesterday' }), '"timestamp"'],
    'with a latestTimestamp that is no number': [
      changeEvent({ latestTimestamp: 'tomorrow' }),
      '"latestTimestamp"',
    ],
    'without a role': [changeEvent({ role: undefined }), '"role"'],
    'with a branch that is no string': [changeEvent({ branch: 7 }), '"branch"'],
    'without a body': [changeEvent({ body: undefined }), '"body"'],
    'with a body that is no string': [changeEvent({ body: { message: 'hi' } }), '"body"'],
    'with a body that is no JSON': [changeEvent({ body: '{"message":' }), 'message'],
    'with a body that is no message': [
      changeEvent({ body: '{"message":7,"metadata":{}}' }),
      'message',
    ],
    'whose long body is missing': [changeEvent({ body: undefined, bodyLength: 100_000 }), '"body"'],
    'that is missing': [(database) => database.delete('events', [1, 2]), 'missing'],
  }

  test.for(Object.entries(ways))('%s', async ([, [breakDatabase, reason]]) => {
    const { service, damage } = await openDamaged(breakDatabase)
    const events = await service.getEvents('a')
    expect(events.map(({ id }) => id)).toEqual(['e1', 'e3', 'e4', 'e5'])
    expect(damage.map(({ sessionId, seq }) => [sessionId, seq])).toEqual([['a', 2]])
    expect(damage[0]?.reason).toContain(reason)

    expect((await service.getEvents('a', { lastN: 2 })).map(({ id }) => id)).toEqual(['e4', 'e5'])
    expect((await service.getEvents('a', { from: 4000, to: 5000 })).map(({ id }) => id)).toEqual([
      'e4',
      'e5',
    ])
    expect((await service.getEvents('a', { keyword: 'text 4' })).map(({ id }) => id)).toEqual([
      'e4',
    ])
    await service.appendEvent('a', { id: 'e6', message: { role: 'user', content: 'six' } })
    expect((await service.getEvents('a')).map(({ seq }) => seq)).toEqual([1, 3, 4, 5, 6])
    await service.close()
  })

  test('its id stays taken, and it can be erased', async () => {
    const { service, damage } = await openDamaged(
      changeEvent({ body: ['secret'], role: undefined }),
    )
    await expect(
      service.appendEvent('a', { id: 'e2', message: { role: 'user', content: 'again' } }),
    ).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(damage.map(({ seq }) => seq)).toEqual([2])
    expect((await service.findById('a'))?.eventCount).toBe(5)

    await service.eraseEvent('a', 'e2')
    damage.length = 0
    const events = await service.getEvents('a')
    expect(events.map(({ id, metadata }) => [id, metadata['erased'] ?? false])).toEqual([
      ['e1', false],
      ['e2', true],
      ['e3', false],
      ['e4', false],
      ['e5', false],
    ])
    expect(damage).toEqual([])
    await service.close()
  })
})

describe('a long body', () => {
  test('that is missing', async () => {
    const { service, damage } = await openDamaged((database) => database.delete('bodies', [1, 3]))
    expect((await service.getEvents('a')).map(({ id }) => id)).toEqual(['e1', 'e2', 'e4', 'e5'])
    expect(damage.map(({ seq }) => seq)).toEqual([3])
    await service.close()
  })

  test('that the browser cannot read any more', async () => {
    const { service, damage } = await openDamaged(async () => undefined)
    const restore = loseValues('bodies')
    const events = await service.getEvents('a')
    restore()
    expect(events.map(({ id }) => id)).toEqual(['e1', 'e2', 'e4', 'e5'])
    expect(damage.map(({ seq }) => seq)).toEqual([3])
    expect((await service.getEvents('a')).length).toBe(5)
    await service.close()
  })
})

describe('what an append changes of a session', () => {
  const ways: Record<string, (database: IDBPDatabase) => Promise<unknown>> = {
    'is missing': (database) => database.delete('heads', 1),
    'has lost everything': (database) =>
      database.put('heads', { number: 1, recency: ['me', 0, -1] }),
    'has lost its number of events': async (database) =>
      database.put('heads', { ...(await database.get('heads', 1)), lastSeq: 'many' }),
    'has lost its version': async (database) =>
      database.put('heads', { ...(await database.get('heads', 1)), version: undefined }),
    'has a damaged boundary': async (database) =>
      database.put('heads', { ...(await database.get('heads', 1)), boundary: { kept: 'all' } }),
  }

  test.for(Object.entries(ways))('%s: it is found again in the log', async ([, breakDatabase]) => {
    const { service, damage } = await openDamaged(breakDatabase)
    expect((await service.getEvents('a')).map(({ id }) => id)).toEqual([
      'e1',
      'e2',
      'e3',
      'e4',
      'e5',
    ])
    expect(damage).toEqual([])
    expect((await service.listSessions({ order: 'created' })).sessions).toMatchObject([
      { id: 'a', eventCount: 5, lastEventAt: new Date(5000) },
    ])
    const version = await service.getEventVersion('a')
    expect(version).toBeGreaterThanOrEqual(5)
    expect((await service.appendMessage('a', { role: 'user', content: 'six' })).seq).toBe(6)
    expect(await service.getEventVersion('a')).toBe(version + 1)
    expect((await service.listSessions()).sessions).toMatchObject([{ id: 'a', eventCount: 6 }])
    await service.close()
  })

  test('what it says of its place in the list is wrong: every other session is listed, page by page', async () => {
    const databaseName = freshDatabaseName()
    const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
    for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
      await service.create({ id })
      const message = { role: 'user' as const, content: id }
      await service.appendEvent(id, { message, timestamp: 1000 * index })
      await service.update(id, { metadata: {} }) // closed
    }
    const database = await openDB(databaseName)
    await database.put('heads', { number: 3, recency: ['me', -500, -3] })
    database.close()
    const listed: string[] = []
    for (let cursor: string | null = null; ; ) {
      const page: SessionPage = await service.listSessions({ limit: 1, cursor })
      listed.push(...page.sessions.map(({ id }) => id))
      cursor = page.cursor
      if (cursor === null) break
    }
    expect(listed).toEqual(['d', 'b', 'a'])
    await service.update('c', { metadata: {} }) // written anew
    const { sessions } = await service.listSessions()
    expect(sessions.map(({ id }) => id)).toEqual(['d', 'c', 'b', 'a'])
    await service.close()
  })

  test('its boundary is found again among the boundaries', async () => {
    const { service, databaseName } = await openDamaged(async () => undefined)
    await service.rewind('a', { before: 'e4' })
    const database = await openDB(databaseName)
    await database.delete('heads', 1)
    database.close()
    expect((await service.getEvents('a', { excludeArchived: true })).map(({ id }) => id)).toEqual([
      'e1',
      'e2',
      'e3',
    ])
    expect((await service.getEvents('a')).filter(({ rewound }) => rewound).length).toBe(2)
    await service.close()
  })
})

describe('a head that is lost, and the search', () => {
  const open = (databaseName: string) => openWithSmallBlocks(databaseName, { timeToLive: null })
  const say = (content: string) => ({ message: { role: 'user' as const, content } })

  /** Events of `a` and `b`, with a head of `a` that `breakHead` has damaged. */
  async function openWithout(
    breakHead: (database: IDBPDatabase) => Promise<unknown>,
    counts: { readonly a: number; readonly b: number },
  ) {
    const databaseName = freshDatabaseName()
    const service = open(databaseName)
    for (const [id, count] of Object.entries(counts)) {
      await service.create({ id })
      await service.appendEvents(
        id,
        Array.from({ length: count }, (_, index) => say(`${id} ${index}`)),
      )
    }
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    const database = await openDB(databaseName)
    await breakHead(database)
    return { databaseName, service, database }
  }
  const lose = (database: IDBPDatabase) => database.delete('heads', 1)
  const recalled = async (service: SessionService, keyword: string) =>
    (await service.recallEvents({ keyword }, { userId: 'me' })).map(({ seq }) => seq)

  test.for([
    ['missing', lose],
    [
      'without its number of events',
      async (database: IDBPDatabase) =>
        database.put('heads', { ...(await database.get('heads', 1)), lastSeq: undefined }),
    ],
    [
      'without the place that the sealing reached',
      async (database: IDBPDatabase) =>
        database.put('heads', { ...(await database.get('heads', 1)), sealedSeq: 'far' }),
    ],
  ] as const)(
    '%s: its unsealed events are recalled, and sealed with others',
    async ([, breakHead]) => {
      const { service, database, databaseName } = await openWithout(breakHead, { a: 3, b: 0 })
      expect(await recalled(service, 'a ')).toEqual([1, 2, 3])
      await service.appendEvents('b', [say('b 0')])
      await untilSealed(databaseName, SMALL_BLOCKS.limits)
      await expect.poll(() => database.count('blocks')).toBe(1)
      expect(await database.get('heads', 1)).toMatchObject({ lastSeq: 3, sealedSeq: 3 })
      expect(await recalled(service, 'a ')).toEqual([1, 2, 3])
      database.close()
      await service.close()
    },
  )

  test('and all blocks with it: what is appended afterwards is recalled, too', async () => {
    const { service, database, databaseName } = await openWithout(lose, { a: 4, b: 4 })
    await database.delete('groups', 0)
    // Comes by the damage, so that all is sealed anew.
    expect(await service.getEvents('b', { keyword: 'b 1' })).toHaveLength(1)
    await expect.poll(() => database.get('heads', 1)).toMatchObject({ sealedSeq: 4 })
    await service.appendEvents('a', [say('a 4')])
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    expect(await recalled(service, 'a ')).toEqual([1, 2, 3, 4, 5])
    database.close()
    await service.close()
  })

  test('and the last event was damaged when it was sealed: what follows is recalled', async () => {
    const databaseName = freshDatabaseName()
    const service = open(databaseName)
    await service.create({ id: 'a' })
    await service.appendEvents('a', [say('a 0'), say('a 1'), say('a 2')])
    const database = await openDB(databaseName)
    await changeEvent({ body: 7 }, [1, 3])(database)
    await service.close()
    const other = open(databaseName)
    await other.create({ id: 'b' })
    await other.appendEvents('b', [say('b 0')])
    expect(await recalled(other, 'b ')).toEqual([1]) // Comes by the tails, so that they are sealed.
    await expect.poll(() => database.get('heads', 1)).toMatchObject({ sealedSeq: 3 })
    await lose(database)
    await other.appendEvents('a', [say('a 3')])
    expect(await recalled(other, 'a ')).toEqual([1, 2, 4])
    database.close()
    await other.close()
  })

  test('and the last events with it: their numbers are not given again', async () => {
    const { service, database, databaseName } = await openWithout(lose, { a: 4, b: 0 })
    await database.delete('events', [1, 3])
    await database.delete('events', [1, 4])
    expect(await service.appendEvents('a', [say('a new')])).toMatchObject([{ seq: 5 }])
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    expect((await service.getEvents('a', { keyword: 'new' })).map(({ seq }) => seq)).toEqual([5])
    expect(await recalled(service, 'new')).toEqual([5])
    database.close()
    await service.close()
  })
})

describe('blocks that the browser cannot read any more', () => {
  test.for(['blocks', 'groups'])('%s: every search has its answer, and texts go', async (store) => {
    const databaseName = freshDatabaseName()
    const service = openWithSmallBlocks(databaseName)
    await service.create({ id: 'a' })
    await service.appendEvents(
      'a',
      ['zero', 'one', 'two', 'three'].map((content, index) => ({
        id: `e${index}`,
        message: { role: 'user', content },
      })),
    )
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    const restore = loseValues(store)
    const found = await service.getEvents('a', { keyword: 'one' })
    const recalled = await service.recallEvents({ keyword: 'one' }, { userId: 'me' })
    restore()
    expect(found.map(({ id }) => id)).toEqual(['e1'])
    expect(recalled.map(({ id }) => id)).toEqual(['e1'])

    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    const restoreAgain = loseValues(store)
    await service.eraseEvent('a', 'e1')
    await service.delete('a')
    restoreAgain()
    const dump = await dumpDatabase(databaseName)
    expect(dump).not.toContain('zero')
    expect(dump).not.toContain('one')
    await service.close()
  })
})

test.for(['blocks', 'groups', 'bodies'])(
  'a read of %s that is rolled back is no damage',
  async (store) => {
    const databaseName = freshDatabaseName()
    const damage: DamageReport[] = []
    const service = openWithSmallBlocks(databaseName, { onDamage: (report) => damage.push(report) })
    await service.create({ id: 'a' })
    await service.appendEvents(
      'a',
      ['zero', 'one', 'two', LONG].map((content) => ({ message: { role: 'user', content } })),
    )
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
    const { counts } = await countRequests(async () => {
      const restores = (['get', 'getAll'] as const).map((method) =>
        replace(
          IDBObjectStore.prototype,
          method,
          (original) =>
            function (this: IDBObjectStore, ...args: unknown[]) {
              const { transaction } = this
              // As a browser does: not before the task that makes requests has ended.
              if (this.name === store) queueMicrotask(() => transaction.abort())
              return original.apply(this, args)
            },
        ),
      )
      const failed = { code: 'STORAGE_FAILED' }
      await expect(service.getEvents('a', { keyword: 'long' })).rejects.toMatchObject(failed)
      for (const restore of restores) restore()
      await new Promise((resolve) => setTimeout(resolve, 50))
    })
    expect(counts.written).toBe(0) // Nothing was sealed anew.
    expect(damage).toEqual([])
    expect(await service.getEvents('a', { keyword: 'long' })).toHaveLength(1)
    await service.close()
  },
)

test('a damaged session is deleted as a whole', async () => {
  const { service, databaseName } = await openDamaged(async (database) => {
    await changeEvent({ id: undefined, body: 7 })(database)
    await database.delete('heads', 1)
  })
  expect(await service.delete('a')).toBe(true)
  const dump = await dumpDatabase(databaseName)
  expect(dump).not.toContain('text')
  expect(dump).not.toContain('long')
  await service.close()
})
