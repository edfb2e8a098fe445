// The HTTP API over session objects that are evicted, reset after they have done what was asked, or
// just woken up.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { createHttpSessionService } from 'turnlog/client'
import { createSessionApi } from 'turnlog/http'
import { createSessionService } from 'turnlog/store'
import {
  createSqlRepository,
  durableObjectRepository,
  durableObjectSessions,
  type SessionObject,
} from 'turnlog/worker'
import { describe, expect, test } from 'vitest'
import { evict } from './evict.ts'
import { MeteredStorage } from './metered-storage.ts'

const hello = { role: 'user', content: 'hello' } as const
let objects = 0

/** An object whose calls fail, after they were done, as often as is said. */
function resettingObject() {
  const target = env.SESSIONS.getByName(`http-${objects++}`)
  let left = 0
  const getStub = (): SessionObject => {
    let isBroken = false
    return new Proxy(target as unknown as SessionObject, {
      get:
        (_target, method) =>
        async (...args: unknown[]) => {
          const reset = new Error('Durable Object reset because its code was updated.')
          if (isBroken) throw reset
          const real = target as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
          const answer = await real[String(method)]?.(...args)
          if (left === 0) return answer
          left--
          isBroken = true
          throw reset
        },
    })
  }
  const fail = (times: number) => {
    left = times
  }
  return { getStub, fail }
}

describe('an object that is reset after it has done what was asked', () => {
  const { getStub, fail } = resettingObject()
  const api = createSessionApi({
    authenticate: () => 'ana',
    sessions: () =>
      createSessionService(durableObjectRepository(getStub, { attempts: 3, delay: 1 }), {
        defaultUserId: 'ana',
      }),
    log: () => undefined,
  })
  const request = (method: string, path: string, body?: object) =>
    api.request(`http://memory.test${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })

  test('one event is stored, whoever tries again', async () => {
    fail(1)
    const created = await request('POST', '/sessions', { id: 's' })
    expect(created.status).toBe(201)
    fail(2)
    const event = { id: 'e1', message: hello }
    expect((await request('POST', '/sessions/s/events', event)).status).toBe(201)
    // More than the Worker tries: the caller does, with the same id.
    fail(4)
    const given = await request('POST', '/sessions/s/events', { ...event, id: 'e2' })
    expect(given.status).toBe(503)
    expect(await given.json()).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(given.headers.get('retry-after')).toBe('1')
    fail(0)
    const again = await request('POST', '/sessions/s/events', { ...event, id: 'e2' })
    expect(again.status).toBe(201)
    const read = await request('GET', '/sessions/s/events')
    expect(await read.json()).toMatchObject({
      events: [
        { id: 'e1', seq: 1 },
        { id: 'e2', seq: 2 },
      ],
    })
  })

  test('the client does all of that by itself', async () => {
    const client = createHttpSessionService({
      baseUrl: 'http://memory.test',
      fetch: async (input, init) => api.fetch(new Request(input, init)),
      retryDelay: 1,
    })
    await client.create({ id: 't' })
    for (let index = 0; index < 5; index++) {
      fail(4)
      await client.appendMessage('t', hello)
    }
    expect((await client.getEvents('t')).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  })
})

test('an eviction between two requests does not show', async () => {
  const api = createSessionApi({
    authenticate: () => 'eve',
    sessions: (_, userId) => durableObjectSessions(env.SESSIONS, userId),
  })
  const client = createHttpSessionService({
    baseUrl: 'http://memory.test',
    fetch: async (input, init) => api.fetch(new Request(input, init)),
    retryDelay: 1,
  })
  const stub = env.SESSIONS.getByName('user:eve')
  await client.create({ id: 's' })
  for (let index = 1; index <= 5; index++) {
    await evict(stub)
    expect((await client.appendMessage('s', hello)).seq).toBe(index)
  }
})

test('waking up costs the check of the schema, whatever is stored', async () => {
  const stub = env.SESSIONS.getByName('http-cold')
  const sessions = createSessionService(
    durableObjectRepository(() => stub),
    {
      defaultUserId: 'ana',
    },
  )
  await sessions.create({ id: 's' })
  await sessions.appendEvents(
    's',
    Array.from({ length: 2000 }, () => ({ message: hello })),
  )
  await runInDurableObject(stub, async (_object, { storage }) => {
    const metered = new MeteredStorage(storage)
    const statements: string[] = []
    metered.beforeStatement = (statement) => statements.push(statement)
    const { rowsRead, rowsWritten } = await metered.measure(async () =>
      createSqlRepository(metered as never),
    )
    expect({ rowsRead, rowsWritten }).toEqual({ rowsRead: 1, rowsWritten: 0 })
    expect(statements).toHaveLength(2)
  })
})

test('a lifetime of centuries is one like any other', async () => {
  const stub = env.SESSIONS.getByName('http-centuries')
  const sessions = createSessionService(
    durableObjectRepository(() => stub),
    {
      defaultUserId: 'ana',
    },
  )
  await sessions.create({ id: 'fixed', timeToLive: 1e15 })
  await sessions.create({ id: 'sliding', timeToLive: { sliding: 1e15 } })
  expect((await sessions.appendMessage('sliding', hello)).seq).toBe(1)
  const alarm = await runInDurableObject(stub, (_object, { storage }) => storage.getAlarm())
  // The platform refuses dates after 2189: the alarm looks again in a year.
  const year = 365 * 24 * 60 * 60 * 1000
  expect(Math.abs((alarm ?? 0) - Date.now() - year)).toBeLessThan(60_000)
})
