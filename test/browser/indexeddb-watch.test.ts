// Hints about changes, within one page: instances on one database hear each other. (Between tabs:
// test/node/e2e-indexeddb.test.ts.)

import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { afterEach, expect, test, vi } from 'vitest'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { replace } from './request-counter.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

const hello = { role: 'user', content: 'hello' } as const

/** Waits until `heard` holds what is expected, for as long as the test may take. */
async function expectHeard(heard: readonly string[], expected: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect([...new Set(heard)].sort()).toEqual([...expected].sort()))
}

test('only instances on the same database hear it', async () => {
  const [databaseName, otherName] = [freshDatabaseName(), freshDatabaseName()]
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const watcher = createIndexedDBRepository({ databaseName })
  const stranger = createIndexedDBRepository({ databaseName: otherName })
  const heard: string[] = []
  const strange: string[] = []
  watcher.watch((id) => heard.push(id))
  stranger.watch((id) => strange.push(id))
  await writer.create({ id: 'a' })
  await writer.create({ id: 'b' })
  await writer.appendMessage('b', hello)
  await expectHeard(heard, ['a', 'b'])
  expect(strange).toEqual([])
  await Promise.all([writer.close(), watcher.close(), stranger.close()])
})

test('deleting many sessions tells of each', async () => {
  const databaseName = freshDatabaseName()
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const ids = Array.from({ length: 20 }, (_, index) => `s${index}`)
  for (const id of ids) await writer.create({ id })
  const watcher = createIndexedDBRepository({ databaseName })
  const heard: string[] = []
  watcher.watch((id) => heard.push(id))
  await writer.deleteUser('me')
  await expectHeard(heard, ids)
  await Promise.all([writer.close(), watcher.close()])
})

test('a burst of appends sends few messages, and the last change is told', async () => {
  const databaseName = freshDatabaseName()
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const watcher = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  await writer.create({ id: 'a' })
  const post = vi.fn()
  const restore = replace(
    BroadcastChannel.prototype,
    'postMessage',
    (original) =>
      function (this: BroadcastChannel, ...args: unknown[]) {
        post(...args)
        return original.apply(this, args)
      },
  )
  const heard: number[] = []
  const stop = await watcher.subscribe(
    'a',
    (change) => {
      if (change.type === 'appended') heard.push(...change.events.map(({ seq }) => seq))
    },
    { pollInterval: 1_000_000 },
  )
  await Promise.all(Array.from({ length: 200 }, () => writer.appendMessage('a', hello)))
  await vi.waitFor(() => expect(heard.length).toBe(200))
  restore()
  expect(heard).toEqual(heard.map((_, index) => index + 1))
  expect(post.mock.calls.length).toBeGreaterThan(0)
  expect(post.mock.calls.length).toBeLessThan(100)
  stop()
  await Promise.all([writer.close(), watcher.close()])
})

test('what was not told yet is told when the writer closes', async () => {
  const databaseName = freshDatabaseName()
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const watcher = createIndexedDBRepository({ databaseName })
  const heard: string[] = []
  watcher.watch((id) => heard.push(id))
  await writer.create({ id: 'a' })
  await writer.create({ id: 'b' })
  await writer.close()
  await expectHeard(heard, ['a', 'b'])
  await watcher.close()
})

test('without BroadcastChannel an instance hears itself', async () => {
  vi.stubGlobal('BroadcastChannel', undefined)
  const repository = createIndexedDBRepository({ databaseName: freshDatabaseName() })
  const heard: string[] = []
  repository.watch((id) => heard.push(id))
  await repository.createSession(
    {
      id: 'a',
      userId: 'me',
      createdAt: 0,
      expiresAt: null,
      slidingTimeToLive: null,
      metadata: '{}',
      lastSeq: 0,
      version: 0,
      lastEventAt: null,
      latestTimestamp: null,
      boundary: null,
    },
    { now: 0 },
  )
  await expectHeard(heard, ['a'])
  await repository.close()
})

test('foreign messages on the channel are no error', async () => {
  const databaseName = freshDatabaseName()
  const watcher = createIndexedDBRepository({ databaseName })
  const heard: string[] = []
  watcher.watch((id) => heard.push(id))
  const channel = new BroadcastChannel(`turnlog:${databaseName}`)
  for (const message of [null, 7, 'a', { a: 1 }, [7, null], ['b']]) channel.postMessage(message)
  await expectHeard(heard, ['b'])
  channel.close()
  await watcher.close()
})

test('a listener that throws disturbs neither the write nor the other listeners', async () => {
  const thrown = vi.fn((event: ErrorEvent) => event.preventDefault())
  window.addEventListener('error', thrown)
  const databaseName = freshDatabaseName()
  const writer = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const watcher = createIndexedDBRepository({ databaseName })
  const heard: string[] = []
  watcher.watch(() => {
    throw new Error('a fault of the application')
  })
  watcher.watch((id) => heard.push(id))
  await writer.create({ id: 'a' })
  await expectHeard(heard, ['a'])
  await vi.waitFor(() => expect(thrown).toHaveBeenCalled())
  window.removeEventListener('error', thrown)
  await Promise.all([writer.close(), watcher.close()])
})
