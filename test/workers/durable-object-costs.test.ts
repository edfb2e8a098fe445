// What operations on a long log cost in rows read and written, as Cloudflare bills them. The figures do
// not depend on the machine, so they are asserted; they are printed as well.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter, type SessionEvent, type SessionService } from 'turnlog'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { expect, test } from 'vitest'
import { MeteredStorage } from './metered-storage.ts'

const START = Date.UTC(2026, 0, 1)
const SECOND = 1000
const HOUR = 3600 * SECOND

interface Log {
  readonly storage: MeteredStorage
  readonly repository: SessionRepository
  readonly sessions: SessionService
}

async function inObject(name: string, run: (log: Log) => Promise<void>): Promise<void> {
  await runInDurableObject(env.SESSIONS.getByName(name), async (_object, state) => {
    const storage = new MeteredStorage(state.storage)
    const repository = createSqlRepository(storage)
    const sessions = createSessionService(repository, { defaultUserId: 'ana' })
    await run({ storage, repository, sessions })
  })
}

/** Appends events `e<first>` … `e<last>`, one a second; every 1,000th is six hours late. */
async function fill(sessions: SessionService, id: string, first: number, last: number) {
  for (let start = first; start <= last; start += 5000) {
    const length = Math.min(5000, last - start + 1)
    const events = Array.from({ length }, (_, index) => {
      const seq = start + index
      const late = seq % 1000 === 0 ? 6 * HOUR : 0
      return {
        id: `e${seq}`,
        timestamp: START + seq * SECOND - late,
        message: {
          role: seq % 2 === 1 ? ('user' as const) : ('assistant' as const),
          content: `message ${seq}: ${'what people say to one another '.repeat(3)}`,
        },
      }
    })
    await sessions.appendEvents(id, events)
  }
}

const idsOf = (events: readonly SessionEvent[]) => events.map(({ id }) => id)

test('a log of 100,000 events: a read costs what it returns', async () => {
  await inObject('costs-reading', async ({ storage, sessions }) => {
    await sessions.create({ id: 's' })
    await fill(sessions, 's', 1, 100_000)
    const log = await sessions.getEvents('s')
    expect(log).toHaveLength(100_000)

    const read = async (name: string, filter: EventFilter, most: (returned: number) => number) => {
      const { result, rowsRead } = await storage.measure(() => sessions.getEvents('s', filter))
      expect(idsOf(result), name).toEqual(idsOf(filter.apply(log)))
      console.log(`${name}: ${result.length} events returned, ${rowsRead} rows read`)
      expect(rowsRead, name).toBeGreaterThanOrEqual(result.length)
      expect(rowsRead, name).toBeLessThanOrEqual(most(result.length))
      return result.length
    }
    expect(await read('lastN(20)', EventFilter.lastN(20), () => 30)).toBe(20)
    expect(await read('page 3 of 50', EventFilter.of({ page: 3, pageSize: 50 }), () => 60)).toBe(50)
    const from = START + 20 * HOUR
    const hour = EventFilter.of({ from, to: from + HOUR })
    // 3,601 in a row, 4 of which tell an earlier time, and 4 that came six hours late.
    expect(await read('one hour', hour, (returned) => returned + 60)).toBe(3601)
    await read('one minute', EventFilter.of({ from, to: from + 60 * SECOND }), (n) => n + 60)
    await read('an hour of another year', EventFilter.of({ from: 0, to: HOUR }), () => 60)
    // Where an answer is full, some events that were read already wait for the next one.
    await read('all', EventFilter.all(), (returned) => returned * 1.05)
  })
})

test('an append writes 4 rows, to a log of 100 as to one of 50,000', async () => {
  await inObject('costs-appending', async ({ storage, sessions }) => {
    const append = async (id: string, seq: number, timestamp = START + seq * SECOND) => {
      const { rowsRead, rowsWritten } = await storage.measure(() =>
        sessions.appendEvent(id, {
          id: `e${seq}`,
          timestamp,
          message: { role: 'user', content: 'one more' },
        }),
      )
      return { rowsRead, rowsWritten }
    }
    await sessions.create({ id: 's' })
    await fill(sessions, 's', 1, 100)
    const short = await append('s', 101)
    await fill(sessions, 's', 102, 50_000)
    const long = await append('s', 50_001)
    console.log(`append at 100 events: ${short.rowsWritten} rows written, ${short.rowsRead} read`)
    console.log(`append at 50,000 events: ${long.rowsWritten} rows written, ${long.rowsRead} read`)
    expect(short).toEqual({ rowsRead: expect.any(Number), rowsWritten: 4 })
    expect(long).toEqual(short)
    expect(long.rowsRead).toBeLessThanOrEqual(5)

    const late = await append('s', 50_002, START)
    const repeated = await append('s', 50_002, START)
    expect(late.rowsWritten).toBe(5)
    expect(repeated.rowsWritten).toBe(0)

    // A sliding lifetime moves the expiry with every append, and no index with it.
    await sessions.create({ id: 'sliding', timeToLive: { sliding: HOUR } })
    await append('sliding', 1)
    expect((await append('sliding', 2)).rowsWritten).toBe(4)
  })
})

test('a compaction writes the same rows whatever it archives, and the view is read as it is', async () => {
  await inObject('costs-compacting', async ({ storage, repository, sessions }) => {
    await sessions.create({ id: 's' })
    await fill(sessions, 's', 1, 100)
    let boundary = 0
    const compact = async (keep: number) => {
      const { lastSeq } = (await repository.findSession('s', { now: Date.now() })) ?? { lastSeq: 0 }
      boundary++
      const summary = (part: string, role: 'user' | 'assistant') => ({
        id: `summary-${boundary}-${part}`,
        timestamp: START + lastSeq * SECOND,
        role,
        branch: null,
        synthetic: true,
        body: JSON.stringify({ message: { role, content: part }, metadata: { synthetic: true } }),
      })
      const events = [summary('question', 'user'), summary('answer', 'assistant')]
      const { rowsWritten } = await storage.measure(() =>
        repository.commit('s', {
          now: Date.now(),
          operationId: `operation-${boundary}`,
          expectedBoundary: boundary === 1 ? null : `operation-${boundary - 1}`,
          events,
          boundary: {
            summaries: events.map(({ id }) => id),
            kept: [[lastSeq - keep + 1, lastSeq]],
            through: lastSeq,
            rewound: [],
          },
        }),
      )
      return rowsWritten
    }

    const written = [await compact(90)] // archives 10
    await fill(sessions, 's', 101, 1100)
    written.push(await compact(100)) // archives about 1,000
    await fill(sessions, 's', 1101, 51_100)
    written.push(await compact(38)) // archives about 50,000
    console.log(`a compaction of 10, 1,000, 50,000 events: ${written.join(', ')} rows written`)
    expect(new Set(written).size).toBe(1)
    expect(written[0]).toBeLessThanOrEqual(10)

    const { result, rowsRead } = await storage.measure(() =>
      sessions.getEvents('s', EventFilter.active()),
    )
    console.log(`active(): ${result.length} events returned, ${rowsRead} rows read`)
    expect(idsOf(result).slice(0, 2)).toEqual(['summary-3-question', 'summary-3-answer'])
    expect(result).toHaveLength(40)
    expect(result.at(-1)?.id).toBe('e51100')
    expect(rowsRead).toBeLessThanOrEqual(60)
    const newest = await storage.measure(() => sessions.getEvents('s', EventFilter.lastN(20)))
    expect(newest.result).toHaveLength(20)
    expect(newest.rowsRead).toBeLessThanOrEqual(30)
  })
})

test('a list of sessions reads the sessions it returns and no event', async () => {
  await inObject('costs-listing', async ({ storage, sessions }) => {
    const count = 1000
    for (let number = 0; number < count; number++) {
      // Three hundred have the same time, so that pages end within ties.
      const service = createSessionService(createSqlRepository(storage), {
        defaultUserId: 'ana',
        now: () => START + Math.floor(number / 300),
        timeToLive: null,
      })
      await service.create({ id: `s${number}` })
      if (number % 2 === 0) {
        await service.appendMessage(`s${number}`, { role: 'user', content: 'hi' })
      }
    }
    for (const order of ['recent', 'created'] as const) {
      const ids: string[] = []
      let most = 0
      let cursor: string | null = null
      do {
        const page: { result: Awaited<ReturnType<SessionService['listSessions']>> } & {
          rowsRead: number
        } = await storage.measure(() => sessions.listSessions({ order, limit: 50, cursor }))
        most = Math.max(most, page.rowsRead)
        ids.push(...page.result.sessions.map(({ id }) => id))
        cursor = page.result.cursor
      } while (cursor !== null)
      console.log(`a page of 50 of 1,000 sessions (${order}): at most ${most} rows read`)
      const inOrder = Array.from({ length: count }, (_, number) => `s${number}`)
      expect(ids).toEqual(order === 'recent' ? inOrder.reverse() : inOrder)
      // One row a session and one to look for its boundary.
      expect(most).toBeLessThanOrEqual(2 * 51 + 2)
    }
  })
})
