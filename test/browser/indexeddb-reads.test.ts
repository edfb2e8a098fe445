// Reading from IndexedDB: a read costs what it returns, not what the log holds. Right answers first,
// then the number of records that were fetched for them, which is printed.

import type { SessionEvent } from 'turnlog'
import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { createSessionService, type NewEventRecord, type SessionRepository } from 'turnlog/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests, type RequestCounts } from './request-counter.ts'
import { NO_BLOCKS, openRepository, untilSealed } from './sealing.ts'

const SIZE = 100_000
const START = Date.UTC(2025, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** One event a minute; the thousandth of each thousand arrives two hours late. */
function record(seq: number): NewEventRecord {
  const timestamp = START + seq * MINUTE - (seq % 1000 === 0 ? 2 * HOUR : 0)
  const role = seq % 2 === 1 ? 'user' : 'assistant'
  const message = { role, content: `event ${seq} of a long conversation` }
  const body = JSON.stringify({ message, metadata: {} })
  return { id: `e${seq}`, timestamp, role, branch: null, synthetic: false, body }
}

/** `first`, `first + 1` … `last`. */
function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function seqsOf(events: readonly SessionEvent[]): number[] {
  return events.map(({ seq }) => seq)
}

async function fill(
  repository: SessionRepository,
  sessionId: string,
  size: number,
  make: (seq: number) => NewEventRecord,
): Promise<void> {
  const portion = 5_000
  for (let first = 1; first <= size; first += portion) {
    const seqs = numbers(first, Math.min(size, first + portion - 1))
    await repository.commit(sessionId, { now: START, events: seqs.map(make) })
  }
}

function print(what: string, returned: number, { read, readByStore }: RequestCounts): void {
  const stores = Object.entries(readByStore).map(([store, count]) => `${store} ${count}`)
  console.info(`${what}: ${returned} returned, ${read} records fetched (${stores.join(', ')})`)
}

describe('a log of 100,000 events', () => {
  const databaseName = freshDatabaseName()
  const open = () =>
    createIndexedDBSessionService({ databaseName, defaultUserId: 'me', timeToLive: null })
  const service = open()

  beforeAll(async () => {
    await service.create({ id: 'a' })
    const repository = createIndexedDBRepository({ databaseName })
    await fill(repository, 'a', SIZE, record)
    await untilSealed(databaseName)
    await repository.close()
    await service.findById('a') // knows the end of the log from now on
  }, 120_000)

  afterAll(async () => {
    await service.close()
  })

  // The session is open: the end of its log says what it has come to, which takes a record more.
  test('lastN(20)', async () => {
    const { result, counts } = await countRequests(() => service.getEvents('a', { lastN: 20 }))
    print('lastN(20)', result.length, counts)
    expect(seqsOf(result)).toEqual(numbers(SIZE - 19, SIZE))
    expect(counts.read).toBeLessThanOrEqual(20 + 2)
  })

  test('lastN(20) in an instance that has just been opened', async () => {
    const fresh = open()
    const { result, counts } = await countRequests(() => fresh.getEvents('a', { lastN: 20 }))
    expect(seqsOf(result)).toEqual(numbers(SIZE - 19, SIZE))
    expect(counts.read).toBeLessThanOrEqual(20 + 4)
    expect(counts.transactions).toBe(2) // the database's identity, and the read
    await fresh.close()
  })

  test('page 3 of 50', async () => {
    const filter = { page: 3, pageSize: 50 }
    const { result, counts } = await countRequests(() => service.getEvents('a', filter))
    print('page 3 of 50', result.length, counts)
    expect(seqsOf(result)).toEqual(numbers(151, 200))
    expect(counts.read).toBeLessThanOrEqual(50 + 2)
  })

  test('the last page, and one past the end', async () => {
    const pageSize = 64
    const last = Math.floor((SIZE - 1) / pageSize)
    const { result, counts } = await countRequests(() =>
      service.getEvents('a', { page: last, pageSize }),
    )
    expect(seqsOf(result)).toEqual(numbers(last * pageSize + 1, SIZE))
    expect(counts.read).toBeLessThanOrEqual(result.length + 2)
    expect(await service.getEvents('a', { page: last + 1, pageSize })).toEqual([])
  })

  test('an hour, with an event that came late', async () => {
    // The event 50,000 carries the time of 49,880.
    const from = START + 49_850 * MINUTE
    const to = from + HOUR
    const { result, counts } = await countRequests(() => service.getEvents('a', { from, to }))
    print('from/to of an hour', result.length, counts)
    expect(seqsOf(result)).toEqual([...numbers(49_850, 49_910), 50_000])
    // Both ends are searched in 17 steps each.
    expect(counts.read).toBeLessThanOrEqual(result.length + 2 * 17 + 6)
  })

  test('an hour in which the log is silent', async () => {
    const from = START - 10 * HOUR
    const { result, counts } = await countRequests(() =>
      service.getEvents('a', { from, to: from + HOUR }),
    )
    expect(result).toEqual([])
    expect(counts.read).toBeLessThanOrEqual(2 * 17 + 2)
  })

  test('the session, and the list of sessions, with the end of its log only', async () => {
    const { result, counts } = await countRequests(async () => [
      await service.findById('a'),
      ...(await service.listSessions()).sessions,
      ...(await service.listSessions({ order: 'created' })).sessions,
    ])
    expect(result.map((session) => session?.eventCount)).toEqual([SIZE, SIZE, SIZE])
    // The two lists; the instance knows the last event, and looks whether there is another.
    expect(counts.readByStore['events']).toBe(3)
    expect(counts.read).toBeLessThanOrEqual(5 + 3)
  })

  test('one event by its id', async () => {
    const repository = createIndexedDBRepository({ databaseName })
    const { result, counts } = await countRequests(() =>
      repository.findEvent('a', 'e77777', { now: START }),
    )
    expect(result?.seq).toBe(77_777)
    expect(counts.readByStore['events']).toBe(1 + 1)
    await repository.close()
  })

  test('everything, hardly a record twice', async () => {
    const { result, counts } = await countRequests(() => service.getEvents('a'))
    expect(result.length).toBe(SIZE)
    expect(result.every(({ seq, id }, index) => seq === index + 1 && id === `e${seq}`)).toBe(true)
    // Where one answer is full, the rest of its last request is fetched again.
    expect(counts.readByStore['events']).toBeLessThanOrEqual(SIZE * 1.02)
  })

  test('an iteration that stops early fetches no more than it began', async () => {
    const { result, counts } = await countRequests(async () => {
      for await (const event of service.iterateEvents('a')) if (event.seq === 10) return event
      return null
    })
    expect(result?.seq).toBe(10)
    // An answer is at most about 8 MiB.
    expect(counts.read).toBeLessThan(SIZE / 4)
  })

  test('the active view of 40 after a boundary, and what is archived', async () => {
    const repository = createIndexedDBRepository({ databaseName })
    const kept = [[61, 70] as const, [SIZE - 28, SIZE] as const]
    await repository.commit('a', {
      now: START,
      operationId: 'compaction',
      events: [{ ...record(SIZE + 1), id: 'summary', synthetic: true }],
      boundary: { summaries: ['summary'], kept, through: SIZE, rewound: [] },
    })
    const active = await countRequests(() => service.getEvents('a', { excludeArchived: true }))
    print('active() with a view of 40', active.result.length, active.counts)
    expect(seqsOf(active.result)).toEqual([
      SIZE + 1,
      ...numbers(61, 70),
      ...numbers(SIZE - 28, SIZE),
    ])
    expect(active.result.length).toBe(40)
    expect(active.result.some(({ archived }) => archived)).toBe(false)
    expect(active.counts.read).toBeLessThanOrEqual(40 + 3)

    const scattered = await countRequests(() =>
      repository.commit('a', {
        now: START,
        operationId: 'scattered',
        events: [],
        boundary: {
          summaries: ['summary'],
          kept: numbers(1, 39).map((index) => [index * 100, index * 100] as const),
          through: SIZE + 1,
          rewound: [],
        },
      }),
    )
    expect(scattered.counts.written).toBe(2)
    const view = await countRequests(() => service.getEvents('a', { excludeArchived: true }))
    expect(seqsOf(view.result)).toEqual([SIZE + 1, ...numbers(1, 39).map((index) => index * 100)])
    expect(view.counts.read).toBeLessThanOrEqual(40 + 3)

    const page = await service.getEvents('a', { page: 3, pageSize: 50 })
    expect(page.filter(({ archived }) => !archived).map(({ seq }) => seq)).toEqual([200])

    const before = await countRequests(() =>
      repository.readBoundaries('a', { now: START, beforeSeq: SIZE + 1 }),
    )
    expect(before.result).toEqual([])
    await service.appendMessage('a', { role: 'user', content: 'after' })
    const newest = await countRequests(() =>
      repository.readBoundaries('a', { now: START, beforeSeq: SIZE + 2 }),
    )
    expect(newest.result.map(({ id }) => id)).toEqual(['scattered'])
    expect(newest.counts.readByStore['boundaries']).toBe(1)
    await repository.close()
  })
})

describe('20,000 events of 5 kB', () => {
  test('the last ones, the first page and a list read no more than themselves', async () => {
    const databaseName = freshDatabaseName()
    // Without sealing, which would go on for a minute; a log of short events is sealed above.
    const repository = openRepository(databaseName, NO_BLOCKS)
    const service = createSessionService(repository, { defaultUserId: 'me' })
    await service.create({ id: 'a', timeToLive: null })
    const filling = 'lorem ipsum '.repeat(420)
    await fill(repository, 'a', 20_000, (seq) => ({
      ...record(seq),
      body: JSON.stringify({
        message: { role: 'user', content: `${seq} ${filling}` },
        metadata: {},
      }),
    }))
    const last = await countRequests(() => service.getEvents('a', { lastN: 20 }))
    expect(seqsOf(last.result)).toEqual(numbers(19_981, 20_000))
    expect(last.counts.readByStore).toEqual({ heads: 1, events: 20 + 1 })
    const first = await countRequests(() => service.getEvents('a', { page: 0, pageSize: 20 }))
    expect(seqsOf(first.result)).toEqual(numbers(1, 20))
    expect(first.counts.readByStore).toEqual({ heads: 1, events: 20 + 1 })
    const list = await countRequests(() => service.listSessions())
    expect(list.counts.readByStore).toEqual({ heads: 1, sessions: 1, events: 1 })
    await service.update('a', { metadata: { title: 'closed' } })
    const closed = await countRequests(() => service.listSessions())
    expect(closed.counts.readByStore).toEqual({ heads: 1, sessions: 1 })
    await service.close()
  }, 120_000)
})

describe('lists of sessions', () => {
  test('a page costs what it shows, in both orders, through all pages', async () => {
    const databaseName = freshDatabaseName()
    let now = START
    const service = createIndexedDBSessionService({
      databaseName,
      defaultUserId: 'me',
      timeToLive: null,
      now: () => now,
    })
    const ids = numbers(1, 300).map((number) => `s${String(number).padStart(3, '0')}`)
    for (const id of ids) {
      await service.create({ id })
      await service.create({ id: `other-${id}`, userId: 'somebody' })
      // Three sessions have one time.
      if (Number(id.slice(1)) % 3 === 0) now += 1000
    }
    for (const order of ['created', 'recent'] as const) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const { result, counts } = await countRequests(() =>
          service.listSessions({ order, limit: 7, cursor }),
        )
        seen.push(...result.sessions.map(({ id }) => id))
        expect(counts.read).toBeLessThanOrEqual(2 * 8)
        cursor = result.cursor
      } while (cursor !== null)
      expect(seen).toEqual(order === 'created' ? ids : ids.toReversed())
    }
    await service.close()
  })

  test('an append moves a session to the top; the expired are passed over', async () => {
    const databaseName = freshDatabaseName()
    let now = START
    const service = createIndexedDBSessionService({
      databaseName,
      defaultUserId: 'me',
      now: () => now,
    })
    for (const number of numbers(1, 20)) {
      await service.create({ id: `s${number}`, timeToLive: number % 2 === 0 ? 1000 : null })
      now += 1
    }
    await service.appendMessage('s5', { role: 'user', content: 'hello' })
    now += 10_000
    const { sessions, cursor } = await service.listSessions({ limit: 10 })
    expect(sessions.map(({ id }) => id)).toEqual([
      's5',
      's19',
      's17',
      's15',
      's13',
      's11',
      's9',
      's7',
      's3',
      's1',
    ])
    expect(cursor).toBe(null)
    await service.close()
  })
})

describe('long bodies', () => {
  const megabyte = 'x'.repeat(1 << 20)

  test('are fetched only when they are returned', async () => {
    const databaseName = freshDatabaseName()
    const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
    await service.create({ id: 'a' })
    for (const seq of numbers(1, 40)) {
      await service.appendEvent('a', {
        id: `e${seq}`,
        timestamp: START + seq * MINUTE,
        message: { role: 'user', content: `${seq} ${megabyte}` },
      })
    }
    const last = await countRequests(() => service.getEvents('a', { lastN: 2 }))
    expect(last.result.map(({ message }) => message.content)).toEqual([
      `39 ${megabyte}`,
      `40 ${megabyte}`,
    ])
    expect(last.counts.readByStore['bodies']).toBe(2)

    const hour = await countRequests(() =>
      service.getEvents('a', { from: START + 20 * MINUTE, to: START + 21 * MINUTE }),
    )
    expect(seqsOf(hour.result)).toEqual([20, 21])
    expect(hour.counts.readByStore['bodies']).toBe(2)

    const first = await countRequests(async () => {
      for await (const event of service.iterateEvents('a')) return event
      return null
    })
    expect(first.result?.seq).toBe(1)
    // About 8 MiB at a time.
    expect(first.counts.readByStore['bodies']).toBeLessThanOrEqual(9)

    const all = await countRequests(() => service.getEvents('a'))
    expect(seqsOf(all.result)).toEqual(numbers(1, 40))
    expect(all.result.every(({ seq, message }) => message.content === `${seq} ${megabyte}`)).toBe(
      true,
    )
    await service.close()
  })

  test('on both sides of what is long', async () => {
    const databaseName = freshDatabaseName()
    const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
    await service.create({ id: 'a' })
    const texts = numbers(32_700, 32_780).map((length) => '漢'.repeat(length))
    await service.appendEvents(
      'a',
      texts.map((content) => ({ message: { role: 'user', content } })),
    )
    expect((await service.getMessages('a')).map(({ content }) => content)).toEqual(texts)
    await service.close()
  })
})
