// Writing to IndexedDB: what a resolved promise means, what a failed one left behind, and what a
// write costs.

import { openDB, unwrap } from 'idb'
import type { EventInput, SessionService } from 'turnlog'
import {
  createIndexedDBRepository,
  createIndexedDBSessionService,
  type IndexedDBOptions,
} from 'turnlog/indexeddb'
import type { NewEventRecord } from 'turnlog/store'
import { describe, expect, test, vi } from 'vitest'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests, replace } from './request-counter.ts'
import { untilSealed } from './sealing.ts'

function openService(options: IndexedDBOptions & { generateId?: () => Promise<string> } = {}) {
  const databaseName = freshDatabaseName()
  const open = () =>
    createIndexedDBSessionService({
      databaseName,
      defaultUserId: 'me',
      timeToLive: null,
      ...options,
    })
  return { databaseName, service: open(), open }
}

function user(id: string, content = id): EventInput {
  return { id, message: { role: 'user', content } }
}

function users(count: number, prefix = 'e'): EventInput[] {
  return Array.from({ length: count }, (_, index) => user(`${prefix}${index + 1}`))
}

function record(id: string, content = id): NewEventRecord {
  const body = JSON.stringify({ message: { role: 'user', content }, metadata: {} })
  return { id, timestamp: 0, role: 'user', branch: null, synthetic: false, body }
}

async function idsOf(service: SessionService, sessionId = 'a'): Promise<string[]> {
  return (await service.getEvents(sessionId)).map(({ id }) => id)
}

/** Every event is stored once, and numbered without a gap. */
async function expectSoundLog(service: SessionService, ids: readonly string[]): Promise<void> {
  const events = await service.getEvents('a')
  expect(events.map(({ id }) => id)).toEqual(ids)
  expect(events.map(({ seq }) => seq)).toEqual(ids.map((_, index) => index + 1))
  expect(await service.findById('a')).toMatchObject({ eventCount: ids.length })
}

const pause = (milliseconds: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })

describe('what a resolved promise means', () => {
  test('the transaction has completed', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await service.appendEvent('a', user('e1'))
    const order: string[] = []
    const restore = replace(
      IDBDatabase.prototype,
      'transaction',
      (original) =>
        function (this: IDBDatabase, ...args: unknown[]) {
          const transaction = original.apply(this, args) as IDBTransaction
          transaction.addEventListener('complete', () => order.push('complete'))
          return transaction
        },
    )
    await service.appendEvent('a', user('e2'))
    order.push('resolved')
    restore()
    expect(order).toEqual(['complete', 'resolved'])
    await service.close()
  })

  test('another instance has the event at once', async () => {
    const { service, open } = openService()
    await service.create({ id: 'a' })
    await service.appendEvent('a', user('e1'))
    const other = open()
    expect(await idsOf(other)).toEqual(['e1'])
    await service.close()
    await other.close()
  })

  test.for(['relaxed', 'strict'] as const)(
    'durability: %s is asked of the browser',
    async (durability) => {
      const { service } = openService({ durability })
      const asked: unknown[] = []
      const restore = replace(
        IDBDatabase.prototype,
        'transaction',
        (original) =>
          function (this: IDBDatabase, ...args: unknown[]) {
            const transaction = original.apply(this, args) as IDBTransaction
            if (transaction.mode === 'readwrite') asked.push(transaction.durability)
            return transaction
          },
      )
      await service.create({ id: 'a' })
      await service.appendEvent('a', user('e1'))
      restore()
      expect(asked).toEqual([durability, durability])
      await service.close()
    },
  )
})

describe("the user's own code", () => {
  test('never runs within a transaction', async () => {
    const running = new Set<IDBTransaction>()
    const seen: number[] = []
    const restore = replace(
      IDBDatabase.prototype,
      'transaction',
      (original) =>
        function (this: IDBDatabase, ...args: unknown[]) {
          const transaction = original.apply(this, args) as IDBTransaction
          if (transaction.mode === 'readonly') return transaction
          running.add(transaction)
          for (const end of ['complete', 'abort']) {
            transaction.addEventListener(end, () => running.delete(transaction))
          }
          return transaction
        },
    )
    let number = 0
    const userCode = async () => {
      seen.push(running.size)
      await pause(5)
      seen.push(running.size)
    }
    const { service } = openService({
      async generateId() {
        await userCode()
        number++
        return `id-${number}`
      },
    })
    await service.create({ id: 'a' })
    for (const content of ['one', 'two', 'three']) {
      await service.appendMessage('a', { role: 'user', content })
      await service.appendMessage('a', { role: 'assistant', content: `answer to ${content}` })
    }
    const { status } = await service.compact('a', {
      trigger: async () => {
        await userCode()
        return true
      },
      strategy: async (view) => {
        await userCode()
        await pause(50)
        return {
          summaries: [{ message: { role: 'user', content: 'summary' } }],
          keep: view.slice(-2).map(({ id }) => id),
        }
      },
    })
    restore()
    expect(status).toBe('compacted')
    expect(
      (await service.getMessages('a', { excludeArchived: true })).map(({ content }) => content),
    ).toEqual(['summary', 'three', 'answer to three'])
    expect(seen.length).toBeGreaterThanOrEqual(16)
    expect(seen.every((count) => count === 0)).toBe(true)
    await service.close()
  })

  test('a message of a reactive framework is stored as plain data', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    const part = { type: 'text', text: 'hi' }
    const message = new Proxy(
      { role: 'user' as const, content: [new Proxy(part, {})] },
      {},
    ) as unknown as EventInput['message']
    const metadata = new Proxy({ a: [1], at: new Date(0), u: undefined, n: null }, {})
    await service.appendEvent('a', { message, metadata })
    part.text = 'changed later'
    metadata.a.push(2)
    const [event] = await service.getEvents('a')
    expect(event?.message).toEqual({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
    expect(event?.metadata).toEqual({ a: [1], at: '1970-01-01T00:00:00.000Z', n: null })
    await service.close()
  })

  test('what cannot be stored is named, and nothing is stored', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await expect(
      service.appendEvents('a', [
        user('e1'),
        { ...user('e2'), metadata: { execute: () => undefined } },
      ]),
    ).rejects.toMatchObject({
      code: 'INVALID_EVENT',
      details: { field: 'events[1].metadata.execute' },
    })
    await expectSoundLog(service, [])
    await service.close()
  })
})

describe('ids that are stored already', () => {
  test('in a batch, twice in a batch, in part and as a whole', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    const [e1, e2, e3, e4] = users(4) as [EventInput, EventInput, EventInput, EventInput]
    expect((await service.appendEvents('a', [e1, e2, e1])).map(({ seq }) => seq)).toEqual([1, 2, 1])
    expect((await service.appendEvents('a', [e1, e2, e1])).map(({ seq }) => seq)).toEqual([1, 2, 1])
    expect((await service.appendEvents('a', [e3, e1, e4])).map(({ seq }) => seq)).toEqual([3, 1, 4])
    expect(
      (await service.appendEvent('a', { ...e2, message: { role: 'user', content: 'other' } }))
        .message,
    ).toEqual({ role: 'user', content: 'e2' })
    await expectSoundLog(service, ['e1', 'e2', 'e3', 'e4'])
    await service.close()
  })

  test('a repeat changes nothing, and what is appended next is right', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await service.appendEvents('a', users(3))
    await service.appendEvents('a', users(3))
    expect(await service.getEventVersion('a')).toBe(3)
    await expectSoundLog(service, ['e1', 'e2', 'e3'])
    await service.appendEvent('a', user('e4'))
    await expectSoundLog(service, ['e1', 'e2', 'e3', 'e4'])
    await service.close()
  })

  test('a thousand new ones and one that is stored', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await service.appendEvent('a', user('e500'))
    const stored = await service.appendEvents('a', users(1000))
    expect(stored.length).toBe(1000)
    expect(stored[499]?.seq).toBe(1)
    expect((await service.findById('a'))?.eventCount).toBe(1000)
    await service.close()
  })
})

describe('other instances', () => {
  test('what one remembers never overwrites what another wrote', async () => {
    const { service: first, open } = openService()
    const second = open()
    await first.create({ id: 'a' })
    await first.appendEvents('a', users(10))
    await second.appendEvents('a', users(5, 'f'))
    await first.appendEvent('a', user('g1'))
    await second.appendEvent('a', user('g2'))
    await first.appendEvent('a', user('g3'))
    await expectSoundLog(second, [
      ...users(10).map(({ id }) => id as string),
      ...users(5, 'f').map(({ id }) => id as string),
      'g1',
      'g2',
      'g3',
    ])
    await first.close()
    await second.close()
  })

  test('a compaction that began before keeps what came meanwhile in the view', async () => {
    const { service: first, open } = openService()
    const second = open()
    await first.create({ id: 'a' })
    await first.appendEvents('a', users(10))
    const { status } = await first.compact('a', {
      trigger: () => true,
      strategy: async (view) => {
        await second.appendEvents('a', users(5, 'f'))
        return {
          summaries: [{ message: { role: 'user', content: 'summary' } }],
          keep: view.slice(-1).map(({ id }) => id),
        }
      },
    })
    expect(status).toBe('compacted')
    const view = await second.getEvents('a', { excludeArchived: true })
    expect(view.slice(1).map(({ id }) => id)).toEqual(['e10', 'f1', 'f2', 'f3', 'f4', 'f5'])
    expect((await second.getEvents('a')).length).toBe(16)
    await first.close()
    await second.close()
  })

  test('a rewind, which appends nothing, is seen by the next append', async () => {
    const { service: first, open } = openService()
    const second = open()
    await first.create({ id: 'a' })
    await first.appendEvents('a', users(4))
    await second.rewind('a', { before: 'e3' })
    await first.appendEvent('a', user('e5'))
    expect((await first.getEvents('a', { excludeArchived: true })).map(({ id }) => id)).toEqual([
      'e1',
      'e2',
      'e5',
    ])
    await first.close()
    await second.close()
  })

  test('changed metadata is not undone by the next append', async () => {
    const { service: first, open } = openService()
    const second = open()
    await first.create({ id: 'a', timeToLive: { sliding: 60_000 } })
    await first.appendEvent('a', user('e1'))
    await second.update('a', { metadata: { title: 'new' } })
    await first.appendEvent('a', user('e2'))
    expect((await second.findById('a'))?.metadata).toEqual({ title: 'new' })
    expect((await first.findById('a'))?.metadata).toEqual({ title: 'new' })
    await first.close()
    await second.close()
  })

  test('a sliding lifetime that an append moved holds for all', async () => {
    let now = 1_000_000
    const databaseName = freshDatabaseName()
    const open = () =>
      createIndexedDBSessionService({ databaseName, defaultUserId: 'me', now: () => now })
    const [first, second] = [open(), open()]
    await first.create({ id: 'a', timeToLive: { sliding: 1000 } })
    now += 900
    await first.appendEvent('a', user('e1'))
    now += 900
    expect((await second.findById('a'))?.expiresAt).toEqual(new Date(1_001_900))
    expect(await second.deleteExpiredSessions()).toBe(0)
    now += 100
    expect(await second.findById('a')).toBe(null)
    expect(await second.deleteExpiredSessions()).toBe(1)
    await first.close()
    await second.close()
  })

  test('a session that was deleted, or made anew, is not written to by what is remembered', async () => {
    const { service: first, databaseName, open } = openService()
    const second = open()
    await first.create({ id: 'a' })
    await first.appendEvent('a', user('e1'))
    await second.delete('a')
    await expect(first.appendEvent('a', user('e2'))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    const database = await openDB(databaseName)
    for (const store of ['sessions', 'heads', 'events', 'bodies', 'boundaries']) {
      expect(await database.count(store), store).toBe(0)
    }
    database.close()

    await second.create({ id: 'a' })
    await first.appendEvent('a', user('e3'))
    await second.delete('a')
    await second.create({ id: 'a' })
    await first.appendEvent('a', user('e4'))
    await expectSoundLog(second, ['e4'])
    await first.close()
    await second.close()
  })

  test('an expiry that another instance moved counts, both ways', async () => {
    let now = 1_000_000
    const databaseName = freshDatabaseName()
    const open = () =>
      createIndexedDBSessionService({ databaseName, defaultUserId: 'me', now: () => now })
    const [first, second] = [open(), open()]
    await first.create({ id: 'a', timeToLive: 1000 })
    await first.appendEvent('a', user('e1'))
    await second.update('a', { expiresAt: now + 5000 })
    now += 2000
    await first.appendEvent('a', user('e2'))
    await second.update('a', { expiresAt: now + 10 })
    now += 20
    await expect(first.appendEvent('a', user('e3'))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    await second.update('a', { expiresAt: null }).catch(() => undefined)
    await first.close()
    await second.close()
  })
})

describe('many at the same time', () => {
  test('appends that nobody waits for keep the order of the calls', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    const ids = users(50).map(({ id }) => id as string)
    const appended = await Promise.all(ids.map((id) => service.appendEvent('a', user(id))))
    expect(appended.map(({ seq }) => seq)).toEqual(ids.map((_, index) => index + 1))
    await expectSoundLog(service, ids)
    await service.close()
  })

  test('one that was called later never comes first', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    const first = service.appendEvent('a', user('e1'))
    const second = service.appendEvent('a', user('e2'))
    await first
    const third = service.appendEvent('a', user('e3'))
    await Promise.all([second, third])
    await expectSoundLog(service, ['e1', 'e2', 'e3'])
    await service.close()
  })

  test('one that fails does not stop those behind it', async () => {
    const { databaseName } = openService()
    const repository = createIndexedDBRepository({ databaseName })
    const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
    await service.create({ id: 'a' })
    const results = await Promise.allSettled([
      repository.commit('a', { now: 0, events: [record('e1')] }),
      repository.commit('a', { now: 0, events: [record('e2')], expectedVersion: 7 }),
      repository.commit('a', { now: 0, events: [record('e3')] }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expectSoundLog(service, ['e1', 'e3'])
    await service.close()
    await repository.close()
  })

  test('two instances, 100 each', async () => {
    const { service: first, open } = openService()
    const second = open()
    await first.create({ id: 'a' })
    await Promise.all(
      [first, second].flatMap((service, instance) =>
        users(100, `i${instance}-`).map((event) => service.appendEvent('a', event)),
      ),
    )
    const events = await first.getEvents('a')
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    for (const instance of [0, 1]) {
      const own = events.map(({ id }) => id).filter((id) => id.startsWith(`i${instance}-`))
      expect(own).toEqual(users(100, `i${instance}-`).map(({ id }) => id))
    }
    await first.close()
    await second.close()
  })
})

describe('a failed write', () => {
  const quota = () => new DOMException('The quota is exceeded', 'QuotaExceededError')

  const ways: Record<string, () => () => void> = {
    'the quota is full at the request': () =>
      replace(IDBObjectStore.prototype, 'add', () => () => {
        throw quota()
      }),
    'the quota is full while requests are pending': () =>
      replace(
        IDBObjectStore.prototype,
        'add',
        (original) =>
          function (this: IDBObjectStore, ...args: unknown[]) {
            const request = original.apply(this, args)
            Object.defineProperty(this.transaction, 'error', { value: quota() })
            this.transaction.abort()
            return request
          },
      ),
    'the quota is full only when the transaction commits': () =>
      replace(
        IDBTransaction.prototype,
        'commit',
        () =>
          function (this: IDBTransaction) {
            Object.defineProperty(this, 'error', { value: quota() })
            this.abort()
          },
      ),
  }

  test.for(Object.entries(ways))('%s', async ([, breakStorage]) => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await service.appendEvent('a', user('e1'))
    const restore = breakStorage()
    const errors = await Promise.all([
      service.appendEvent('a', user('e2')).catch((error: unknown) => error),
      service.appendEvents('a', users(3, 'f')).catch((error: unknown) => error),
    ])
    restore()
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED', cause: { name: 'QuotaExceededError' } })
    }
    await expectSoundLog(service, ['e1'])
    await service.appendEvent('a', user('e2'))
    await expectSoundLog(service, ['e1', 'e2'])
    await service.close()
  })

  test('half-way through a batch stores nothing of it', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    let calls = 0
    const restore = replace(
      IDBObjectStore.prototype,
      'add',
      (original) =>
        function (this: IDBObjectStore, ...args: unknown[]) {
          calls++
          if (calls === 7) throw new DOMException('broken', 'UnknownError')
          return original.apply(this, args)
        },
    )
    const error = await service.appendEvents('a', users(10)).catch((thrown: unknown) => thrown)
    restore()
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', cause: { name: 'UnknownError' } })
    await expectSoundLog(service, [])
    await service.close()
  })

  test('leaves no rejected promise behind that nobody handles', async () => {
    const { service } = openService()
    await service.create({ id: 'a' })
    await service.appendEvents('a', users(3))
    const unhandled = vi.fn((event: PromiseRejectionEvent) => event.preventDefault())
    window.addEventListener('unhandledrejection', unhandled)
    const restore = ways['the quota is full only when the transaction commits']?.()
    await service.appendEvents('a', users(3, 'f')).catch(() => undefined)
    restore?.()
    await service.appendEvents('a', users(5)) // refused by the index at first
    await expect(
      service.appendEvents('a', users(1), { expectedVersion: 99 }),
    ).resolves.toHaveLength(1)
    await expect(
      service.appendEvents('a', users(1, 'g'), { expectedVersion: 99 }),
    ).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    await pause(50)
    window.removeEventListener('unhandledrejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
    await service.close()
  })
})

describe('what a write costs', () => {
  test('an append: one transaction, one key read, and nothing written but the events', async () => {
    const { service } = openService()
    await service.create({ id: 'a', metadata: { note: 'x'.repeat(10_000) } })
    await service.appendEvent('a', user('e1'))
    for (const size of [1, 100]) {
      const { counts } = await countRequests(() =>
        service.appendEvents('a', users(size, `${size}-`)),
      )
      expect(counts).toMatchObject({ transactions: 1, read: 1, written: size, deletions: 0 })
    }
    await service.close()
  })

  test('an append to a session with a sliding lifetime writes its record, too', async () => {
    const { service } = openService()
    await service.create({ id: 'a', timeToLive: { sliding: 60_000 } })
    await service.appendEvent('a', user('e1'))
    await pause(5)
    const { counts } = await countRequests(() => service.appendEvent('a', user('e2')))
    expect(counts).toMatchObject({ transactions: 1, read: 1, written: 3 })
    await service.close()
  })

  test('a boundary with a summary pair: the same few records, whatever it archives', async () => {
    const { service, databaseName } = openService()
    const repository = createIndexedDBRepository({ databaseName })
    const written: number[] = []
    for (const size of [10, 1_000, 50_000]) {
      const id = `s${size}`
      await service.create({ id })
      for (let at = 0; at < size; at += 5_000) {
        const count = Math.min(5_000, size - at)
        const events = Array.from({ length: count }, (_, index) => record(`e${at + index + 1}`))
        await repository.commit(id, { now: 0, events })
      }
      await untilSealed(databaseName)
      const { counts } = await countRequests(() =>
        repository.commit(id, {
          now: 0,
          operationId: 'compaction',
          expectedBoundary: null,
          events: [
            { ...record('summary-question'), synthetic: true },
            { ...record('summary-answer'), role: 'assistant', synthetic: true },
          ],
          boundary: {
            summaries: ['summary-question', 'summary-answer'],
            kept: [[size - 4, size]],
            through: size,
            rewound: [],
          },
        }),
      )
      written.push(counts.written)
      expect(counts.deletions).toBe(1) // the stamp that appends counted on
      expect(counts.read).toBeLessThanOrEqual(6)
    }
    console.info(`records put by a boundary that archives 5, 995 and 49,995 events: ${written}`)
    expect(new Set(written).size).toBe(1)
    expect(written[0]).toBeLessThanOrEqual(6)
    await service.close()
    await repository.close()
  }, 120_000)
})

describe('records and indexes', () => {
  test('nothing that is no key is indexed, and nothing that is not indexed is lost', async () => {
    const { service, databaseName } = openService()
    await service.create({ id: 'never', timeToLive: null })
    await service.create({ id: 'later', timeToLive: 60_000 })
    for (const [index, branch] of [null, undefined, 'a', ''].entries()) {
      await service.appendEvent('later', { ...user(`e${index}`), branch, timestamp: 1000 + index })
    }
    await service.appendEvent('later', { ...user('late'), timestamp: 500, synthetic: true })
    for (const timestamp of [Number.NaN, new Date('garbage')]) {
      await expect(
        service.appendEvent('later', { ...user('bad'), timestamp }),
      ).rejects.toMatchObject({ code: 'INVALID_EVENT' })
    }
    expect((await idsOf(service, 'later')).length).toBe(5)
    expect((await service.getEvents('later', { branch: 'a' })).map(({ id }) => id)).toEqual([
      'e0',
      'e1',
      'e2',
      'late',
    ])
    expect((await service.getEvents('later', { excludeSynthetic: true })).length).toBe(4)

    const database = await openDB(databaseName)
    expect(await database.countFromIndex('sessions', 'expiry')).toBe(1)
    expect(await database.count('late')).toBe(1)
    expect(await database.countFromIndex('events', 'id')).toBe(5)
    expect(await database.countFromIndex('sessions', 'created')).toBe(2)
    expect(await database.countFromIndex('heads', 'recency')).toBe(2)
    expect(unwrap(database).objectStoreNames.length).toBe(10)
    database.close()
    await service.close()
  })
})
