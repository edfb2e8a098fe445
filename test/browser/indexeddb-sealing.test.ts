// Sealing in IndexedDB: interrupted at every request, blocks damaged, large events, several tabs, and
// the upgrade of a database that knew no blocks.
import { openDB } from 'idb'
import { EventFilter } from 'turnlog'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test } from 'vitest'
import { encodeBody } from '../../src/core/event-input.ts'
import { decodeBlock } from '../../src/search/block.ts'
import { groupOf } from '../../src/search/directory.ts'
import { SEARCH_SETTINGS } from '../../src/search/sealing.ts'
import { MIGRATIONS } from '../../src/stores/indexeddb/migrations.ts'
import type { UpgradeTransaction } from '../../src/stores/indexeddb/schema.ts'
import {
  fromBlockRecord,
  toStoredEvent,
  toStoredSession,
} from '../../src/stores/indexeddb/stored-records.ts'
import {
  BLOCK_DAMAGES,
  checkDamagedBlocks,
  checkInterruptedSealing,
  type SealingHarness,
} from '../support/sealing-check.ts'
import { dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests, replace } from './request-counter.ts'
import { openRepository, openWithSmallBlocks, SMALL_BLOCKS, untilSealed } from './sealing.ts'

const METHODS = [
  'get',
  'getAll',
  'getAllKeys',
  'openCursor',
  'openKeyCursor',
  'add',
  'put',
  'delete',
  'clear',
] as const

/** How a request fails: it throws, or the browser rolls its transaction back. */
type Failure = 'throws' | 'aborts'

function harnessOf(databaseName: string, failure: Failure): SealingHarness {
  const sealedEntries = async () => {
    const database = await openDB(databaseName)
    const blocks = await database.getAll('blocks')
    database.close()
    return blocks.flatMap((block) => decodeBlock(fromBlockRecord(block)).entries)
  }
  return {
    open: async () => openRepository(databaseName, SMALL_BLOCKS),

    async settle() {
      // A few turns of the sealer, with a writing transaction after each, until nothing changes.
      const database = await openDB(databaseName)
      for (let before = '', now = ' '; before !== now; ) {
        before = now
        for (let turn = 0; turn < 3; turn++) {
          await new Promise((resolve) => setTimeout(resolve, 10))
          await database.transaction('heads', 'readwrite').store.count()
        }
        now = JSON.stringify([await database.getAllKeys('blocks'), await database.getAll('heads')])
      }
      database.close()
    },

    failAt(request) {
      // What is sealed is made in a transaction that begins with the tails, and written in one that
      // begins with the last group.
      const sealing = new WeakMap<IDBTransaction, number>()
      let reached = false
      const restores = METHODS.map((method) =>
        replace(
          IDBObjectStore.prototype,
          method,
          (original) =>
            function (this: IDBObjectStore, ...args: unknown[]) {
              const { transaction } = this
              const isFirst =
                (this.name === 'tails' && method === 'getAllKeys') ||
                (this.name === 'groups' && method === 'openKeyCursor')
              const count = sealing.get(transaction) ?? 0
              if (isFirst || count > 0) {
                sealing.set(transaction, count + 1)
                if (count + 1 === request) {
                  reached = true
                  if (failure === 'throws') throw new DOMException('broken', 'UnknownError')
                  // As a browser does: not before the task that makes requests has ended.
                  queueMicrotask(() => transaction.abort())
                }
              }
              return original.apply(this, args)
            },
        ),
      )
      return () => {
        for (const restore of restores) restore()
        return reached
      }
    },

    async sealed() {
      return (await sealedEntries()).map(({ session, seq }) => `${session}:${seq}`)
    },

    async damage(kind, index) {
      const database = await openDB(databaseName)
      const number = (await database.getAllKeys('blocks')).map(Number).at(index) ?? 0
      const group = groupOf(number)
      if (kind === 'no block') await database.delete('blocks', number)
      if (kind === 'no text') {
        await database.put('blocks', { ...(await database.get('blocks', number)), text: '' })
      }
      if (kind === 'broken entries') {
        await database.put('blocks', { ...(await database.get('blocks', number)), entries: '{' })
      }
      if (kind === 'no group') await database.delete('groups', group)
      if (kind === 'broken group') {
        await database.put('groups', { ...(await database.get('groups', group)), entries: '[' })
      }
      database.close()
    },

    dump: () => dumpDatabase(databaseName),
  }
}

describe('interrupted at every request, nothing is lost, doubled or hidden', () => {
  test.for(['throws', 'aborts'] as const)('a request %s', async (failure) => {
    await checkInterruptedSealing(harnessOf(freshDatabaseName(), failure))
  })
})

describe('damage', () => {
  test.for(BLOCK_DAMAGES)('%s: answers stay right, and all is sealed anew', async (kind) => {
    await checkDamagedBlocks(harnessOf(freshDatabaseName(), 'throws'), kind)
  })
})

test('two tabs that seal at once seal every event once', async () => {
  const databaseName = freshDatabaseName()
  const { sealed, settle } = harnessOf(databaseName, 'throws')
  const repositories = [1, 2].map(() => openRepository(databaseName, SMALL_BLOCKS))
  const services = repositories.map((repository) =>
    createSessionService(repository, { defaultUserId: 'me', timeToLive: null }),
  )
  await services[0]?.create({ id: 'a' })
  await Promise.all(
    services.flatMap((service, tab) =>
      Array.from({ length: 60 }, (_, index) =>
        service.appendMessage('a', { role: 'user', content: `tab ${tab} message ${index}` }),
      ),
    ),
  )
  await settle()
  const places = await sealed()
  expect(new Set(places).size).toBe(places.length)
  expect(places.length).toBeGreaterThan(120 - 4)
  for (const service of services) {
    const found = await service.getEvents('a', { keyword: 'tab 1 ' })
    expect(found).toHaveLength(60)
    expect(await service.getEvents('a', { keyword: 'message 59' })).toHaveLength(2)
  }
  for (const repository of repositories) await repository.close()
})

test('a large event is sealed without being read, and is found', async () => {
  const databaseName = freshDatabaseName()
  const service = createSessionService(
    openRepository(databaseName, { ...SEARCH_SETTINGS, worthwhile: 1 }),
    { defaultUserId: 'me' },
  )
  await service.create({ id: 'a' })
  const large = `${'中文 naïve '.repeat(590_000)}needle`
  await service.appendMessage('a', { role: 'user', content: 'a needle before' })
  const { counts } = await countRequests(async () => {
    await service.appendMessage('a', { role: 'user', content: large })
    await untilSealed(databaseName)
  })
  expect(counts.readByStore['bodies']).toBe(undefined)
  await service.appendMessage('a', { role: 'user', content: 'between' })
  const database = await openDB(databaseName)
  expect(await database.count('blocks')).toBe(2)
  database.close()
  const seqs = async (keyword: string) =>
    (await service.getEvents('a', { keyword })).map(({ seq }) => seq)
  expect(await seqs('NEEDLE')).toEqual([1, 2])
  expect(await seqs('between')).toEqual([3])
  expect(await seqs('nothing')).toEqual([])
  const recalled = await service.recallEvents({ keyword: 'needle' }, { userId: 'me' })
  expect(recalled.map(({ seq }) => seq)).toEqual([1, 2])
  await service.close()
})

test('a block whose text begins with a byte order mark is no damage', async () => {
  const databaseName = freshDatabaseName()
  const service = openWithSmallBlocks(databaseName)
  await service.create({ id: 'a' })
  await service.appendEvents(
    'a',
    ['\ufeffΔx plain', 'two', 'three', 'four'].map((content) => ({
      message: { role: 'user', content },
    })),
  )
  await untilSealed(databaseName, SMALL_BLOCKS.limits)
  const database = await openDB(databaseName)
  const block = await database.get('blocks', 1)
  expect(block.text).toBeInstanceOf(Uint8Array)
  expect(fromBlockRecord(block).text).toBe('\ufeffδx plaintwothreefour')
  const { counts } = await countRequests(async () => {
    expect(await service.getEvents('a', { keyword: '\ufeffδ' })).toHaveLength(1)
    expect(await service.getEvents('a', { keyword: 'four' })).toHaveLength(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  expect(counts.written).toBe(0) // Nothing was sealed anew.
  database.close()
  await service.close()
})

test('an instance that only reads what is short and known leaves no transaction behind', async () => {
  const databaseName = freshDatabaseName()
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  await writer.create({ id: 'a' })
  await writer.appendMessage('a', { role: 'user', content: 'hello' })
  await writer.close()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const { counts } = await countRequests(async () => {
    await service.getEvents('a', { keyword: 'hello' })
    await service.recallEvents({ keyword: 'hello' }, { userId: 'me' })
    await service.appendMessage('a', { role: 'user', content: 'hello again' })
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  // The identity of the database, two reads, one append.
  expect(counts.transactions).toBe(4)
  await service.close()
})

test('a database of schema version 1 answers at once, and is sealed bit by bit', async () => {
  const databaseName = freshDatabaseName()
  const size = 3000
  const database = await openDB(databaseName, 1, {
    async upgrade(opened, _old, _new, transaction) {
      await MIGRATIONS[0]?.[1](opened as never, transaction as unknown as UpgradeTransaction)
    },
  })
  const session = {
    number: 1,
    id: 'a',
    userId: 'me',
    createdAt: 0,
    expiresAt: null,
    slidingTimeToLive: null,
    metadata: '{}',
    lastSeq: size,
    version: size,
    lastEventAt: 0,
    latestTimestamp: 0,
    boundary: null,
  }
  const { stored, head } = toStoredSession(session, 0)
  await database.put('sessions', stored)
  await database.put('heads', head)
  for (let seq = 1; seq <= size; seq++) {
    const body = encodeBody({ role: 'user', content: `message ${seq} of many` }, {})
    const event = {
      id: `e${seq}`,
      seq,
      timestamp: 0,
      latestTimestamp: 0,
      role: 'user' as const,
      branch: null,
      synthetic: false,
      body,
    }
    const isLate = seq === 2000
    await database.put('events', {
      ...toStoredEvent(1, event).stored,
      ...(isLate ? { timestamp: -5000, latestTimestamp: 0 } : {}),
    })
    if (isLate) await database.put('late', { session: 1, timestamp: -5000, seq })
  }
  // Another session, whose head is lost.
  await database.put('sessions', { ...stored, number: 2, id: 'b' })
  const event = await database.get('events', [1, 5])
  await database.put('events', { ...event, session: 2, seq: 1, id: '2:e5' })
  database.close()

  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const recalled = await service.recallEvents({ keyword: 'message 5 ' }, { userId: 'me' })
  expect(recalled.map(({ sessionId, seq }) => [sessionId, seq])).toEqual([
    ['a', 5],
    ['b', 1],
  ])
  const filter = EventFilter.of({ keyword: '77', lastN: 7 })
  const expected = filter.apply(await service.getEvents('a')).map(({ seq }) => seq)
  expect(expected).toHaveLength(7)
  const early = await service.getEvents('a', { to: -1000 })
  expect(early.map(({ seq }) => seq)).toEqual([2000])
  expect(await service.findEvent('a', 'e77')).toMatchObject({ id: 'e77', seq: 77 })
  const again = await service.appendEvent('a', {
    id: 'e78',
    message: { role: 'user', content: 'given again' },
  })
  expect(again).toMatchObject({ id: 'e78', seq: 78, message: { content: 'message 78 of many' } })
  const viewer = await openDB(databaseName)
  const blocks = new Set<number>()
  while ((await viewer.count('blocks')) < Math.floor(size / 256)) {
    blocks.add(await viewer.count('blocks'))
    expect((await service.getEvents('a', filter)).map(({ seq }) => seq)).toEqual(expected)
  }
  // It was looked at while it was sealed.
  expect(blocks.size).toBeGreaterThan(1)
  viewer.close()
  await untilSealed(databaseName)
  const { result, counts } = await countRequests(() => service.getEvents('a', filter))
  expect(result.map(({ seq }) => seq)).toEqual(expected)
  expect(counts.readByStore['events']).toBeLessThan(size / 5)
  await service.close()
})
