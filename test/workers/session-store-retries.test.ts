// What a caller sees of an object that is reset, evicted, unreachable or overloaded.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter } from 'turnlog'
import { createSessionService, type SessionRecord } from 'turnlog/store'
import {
  durableObjectRepository,
  durableObjectSessions,
  type SessionObject,
  type SessionStore,
} from 'turnlog/worker'
import { describe, expect, test } from 'vitest'
import { evict } from './evict.ts'

const say = (id: string, content = id) => ({ id, message: { role: 'user', content } as const })

const failures = {
  'a reset by a deploy, with its flag': () =>
    Object.assign(new Error('Durable Object reset because its code was updated.'), {
      durableObjectReset: true,
    }),
  'a reset by a deploy, without a flag': () =>
    new Error('Durable Object reset because its code was updated.'),
  'a lost connection': () => new Error('Network connection lost.'),
  'a failure that says it may be retried': () =>
    Object.assign(new Error('internal error; reference = abc'), { retryable: true }),
}
type MakeFailure = () => Error

let names = 0
const newObject = () => env.SESSIONS.getByName(`retries-${names++}`)

/**
 * A stub whose next `times` calls fail after the object has done them, and which then stays broken, as
 * real ones do.
 */
function failingAfterwards(
  target: DurableObjectStub<SessionStore>,
  makeFailure: MakeFailure,
  times = 1,
) {
  let left = times
  let stubs = 0
  const calls: string[] = []
  const getStub = (): SessionObject => {
    stubs++
    let broken: Error | null = null
    return new Proxy(target as unknown as SessionObject, {
      get:
        (_target, method) =>
        async (...args: unknown[]) => {
          calls.push(String(method))
          if (broken !== null) throw broken
          const real = target as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
          const answer = await real[String(method)]?.(...args)
          if (left > 0) {
            left--
            broken = makeFailure()
            throw broken
          }
          return answer
        },
    })
  }
  const repository = durableObjectRepository(getStub, { delay: 1 })
  return {
    repository,
    sessions: createSessionService(repository, { defaultUserId: 'ana' }),
    calls,
    stubs: () => stubs,
    failNext: (count: number) => {
      left = count
    },
  }
}

describe.for(Object.entries(failures))('%s, after the call was applied', ([, makeFailure]) => {
  test('every operation is repeated on a fresh stub and done once', async () => {
    const { repository, sessions, failNext, calls, stubs } = failingAfterwards(
      newObject(),
      makeFailure,
    )
    failNext(1)
    const session = await sessions.create({ id: 's', timeToLive: null })
    expect(session.id).toBe('s')
    expect(stubs()).toBe(2)
    expect(calls).toEqual(['createSession', 'createSession'])

    failNext(3)
    const stored = await sessions.appendEvents('s', [say('e1'), say('e2')], { expectedVersion: 0 })
    expect(stored.map(({ seq }) => seq)).toEqual([1, 2])
    failNext(1)
    await sessions.appendMessage('s', { role: 'user', content: 'with an id of its own' })
    failNext(1)
    await sessions.update('s', { metadata: { title: 'a' } })
    failNext(1)
    await repository.commit('s', {
      now: 1,
      events: [],
      expectedBoundary: null,
      boundary: { summaries: [], kept: [[2, 3]], through: 3, rewound: [] },
    })
    failNext(1)
    await sessions.eraseEvent('s', 'e2')

    failNext(0)
    const events = await sessions.getEvents('s')
    expect(events.map(({ seq, message }) => [seq, message.content])).toEqual([
      [1, 'e1'],
      [2, ''],
      [3, 'with an id of its own'],
    ])
    expect(await sessions.getEventVersion('s')).toBe(4)
    expect(await repository.readBoundaries('s', { now: 1 })).toHaveLength(1)
    failNext(1)
    expect(await sessions.getEvents('s', EventFilter.active())).toHaveLength(2)
    failNext(1)
    await sessions.delete('s')
    expect(await sessions.findById('s')).toBeNull()
  })
})

test('a repeated creation is told from another one of the same id, at the same time', async () => {
  const target = newObject()
  const { repository, failNext } = failingAfterwards(target, failures['a lost connection'])
  const session: Omit<SessionRecord, 'number'> = {
    id: 's',
    userId: 'ana',
    createdAt: 1,
    expiresAt: null,
    slidingTimeToLive: null,
    metadata: '{}',
    lastSeq: 0,
    version: 0,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
  failNext(1)
  expect((await repository.createSession(session, { now: 1 })).created).toBe(true)
  expect((await repository.createSession(session, { now: 1 })).created).toBe(false)
  expect(
    (await durableObjectRepository(() => target).createSession(session, { now: 1 })).created,
  ).toBe(false)
})

test('the tries are bounded, and the error says that the object is out of reach', async () => {
  const { sessions, failNext, calls } = failingAfterwards(
    newObject(),
    failures['a lost connection'],
  )
  failNext(1000)
  await expect(sessions.findById('s')).rejects.toMatchObject({
    name: 'SessionError',
    code: 'STORAGE_UNAVAILABLE',
    details: { overloaded: false, attempts: 5 },
    cause: { message: 'Network connection lost.' },
  })
  expect(calls).toHaveLength(5)
  failNext(0)
  expect(await sessions.findById('s')).toBeNull()
})

test('an overloaded object is not tried again', async () => {
  const { sessions, failNext, calls } = failingAfterwards(newObject(), () =>
    Object.assign(new Error('Durable Object is overloaded. Too many requests queued.'), {
      overloaded: true,
      retryable: true,
    }),
  )
  failNext(1)
  await expect(sessions.findById('s')).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    details: { overloaded: true, attempts: 1 },
  })
  expect(calls).toHaveLength(1)
})

test('any other failure is not tried again either', async () => {
  const { sessions, failNext, calls } = failingAfterwards(
    newObject(),
    () => new TypeError('something is wrong'),
  )
  failNext(1)
  await expect(sessions.findById('s')).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining('something is wrong'),
  })
  expect(calls).toHaveLength(1)
})

test('a watcher hears of changes once, with and without another try', async () => {
  const { repository, sessions, failNext } = failingAfterwards(
    newObject(),
    failures['a lost connection'],
  )
  const heard: string[] = []
  const stop = repository.watch((sessionId) => heard.push(sessionId))
  failNext(1)
  await sessions.create({ id: 'a' })
  await sessions.create({ id: 'b' })
  await sessions.appendEvent('b', say('e1'))
  await sessions.appendEvent('b', say('e1'))
  await sessions.delete('a')
  await sessions.delete('a')
  await sessions.deleteUser('ana')
  stop()
  await sessions.create({ id: 'c' })
  expect(heard).toEqual(['a', 'b', 'b', 'a', 'b'])
})

describe('a real object', () => {
  test('evicted between and during calls: what was acknowledged is there', async () => {
    const stub = env.SESSIONS.get(env.SESSIONS.idFromName('user:evicted'))
    const sessions = durableObjectSessions(env.SESSIONS, 'evicted')
    await sessions.create({ id: 's' })
    const acknowledged: string[] = []
    const append = async (index: number) => {
      const { id } = await sessions.appendEvent('s', say(`e${index}`))
      acknowledged.push(id)
    }
    for (let index = 0; index < 30; index += 3) {
      const appended = [index, index + 1, index + 2].map(append)
      await evict(stub)
      await Promise.all(appended)
    }
    expect(acknowledged).toHaveLength(30)
    const stored = (await sessions.getEvents('s')).map(({ id }) => id)
    expect([...stored].sort()).toEqual([...acknowledged].sort())
  })

  test('aborted in the middle of many appends: each is stored once', async () => {
    const stub = env.SESSIONS.get(env.SESSIONS.idFromName('user:aborted'))
    const sessions = durableObjectSessions(env.SESSIONS, 'aborted')
    await sessions.create({ id: 's' })
    const appended: Promise<unknown>[] = []
    for (let index = 0; index < 60; index++) {
      appended.push(sessions.appendEvent('s', say(`e${index}`)))
      if (index % 20 === 10) {
        await runInDurableObject(stub, (_object, state) => state.abort('the test says so')).catch(
          () => undefined,
        )
      }
    }
    await Promise.all(appended)
    const events = await sessions.getEvents('s')
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(new Set(events.map(({ id }) => id)).size).toBe(60)
    expect(events).toHaveLength(60)
  })
})
