// Deleting and erasing in IndexedDB: no byte stays in any object store or index, and the cost does not
// grow with what is deleted.

import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { expect, test } from 'vitest'
import { countStored, dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests } from './request-counter.ts'
import { untilSealed } from './sealing.ts'

const SECRET = 'zyzzyva'
const EMPTY = {
  properties: 1,
  sessions: 0,
  heads: 0,
  events: 0,
  late: 0,
  bodies: 0,
  boundaries: 0,
  tails: 0,
  blocks: 0,
  // Once something was sealed, an empty group stays in the directory.
  groups: 1,
}

function openService() {
  const databaseName = freshDatabaseName()
  let now = 1_000_000
  const service = createIndexedDBSessionService({
    databaseName,
    defaultUserId: 'me',
    now: () => now,
    timeToLive: null,
  })
  const pass = (milliseconds: number) => {
    now += milliseconds
  }
  return { databaseName, service, pass }
}

type Service = ReturnType<typeof openService>['service']

/** A session with everything that a session can have, sealed in part: the secret is in all of it. */
async function createFull(
  { service, databaseName }: { readonly service: Service; readonly databaseName: string },
  id: string,
  options: { userId?: string; timeToLive?: number | null } = {},
): Promise<void> {
  await service.create({ id: `${SECRET}-${id}`, metadata: { title: SECRET }, ...options })
  const sessionId = `${SECRET}-${id}`
  for (const text of ['one', 'two', 'three']) {
    await service.appendEvent(sessionId, {
      id: `${SECRET}-${text}`,
      message: { role: 'user', content: `${text} ${SECRET}` },
      branch: SECRET,
      metadata: { note: SECRET },
    })
  }
  await service.appendEvent(sessionId, {
    id: 'long',
    message: { role: 'user', content: `${SECRET} `.repeat(20_000) },
  })
  await service.appendEvent(sessionId, {
    id: 'late',
    timestamp: 1000,
    message: { role: 'assistant', content: SECRET },
  })
  await service.compact(sessionId, {
    trigger: () => true,
    strategy: () => ({
      summaries: [{ message: { role: 'user', content: `summary ${SECRET}` } }],
      keep: [],
    }),
  })
  await service.rewind(sessionId, { before: 'late' })
  await untilSealed(databaseName)
}

async function expectNothingLeft(databaseName: string): Promise<void> {
  expect(await countStored(databaseName)).toEqual(EMPTY)
  expect(await dumpDatabase(databaseName)).not.toContain(SECRET)
}

test('the dump sees what is there', async () => {
  const { service, databaseName } = openService()
  await createFull({ service, databaseName }, 'a')
  const counts = await countStored(databaseName)
  expect(counts).toMatchObject({
    sessions: 1,
    heads: 1,
    bodies: 1,
    late: 1,
    tails: 1,
    blocks: 2,
    groups: 1,
  })
  expect(counts['boundaries']).toBeGreaterThanOrEqual(1)
  expect((await dumpDatabase(databaseName)).split(SECRET).length).toBeGreaterThan(20)
  await service.close()
})

test('delete', async () => {
  const { service, databaseName } = openService()
  await createFull({ service, databaseName }, 'a')
  expect(await service.delete(`${SECRET}-a`)).toBe(true)
  expect(await service.delete(`${SECRET}-a`)).toBe(false)
  await expectNothingLeft(databaseName)
  await service.close()
})

test('deleteUser', async () => {
  const { service, databaseName } = openService()
  await createFull({ service, databaseName }, 'a', { userId: `${SECRET}-user` })
  await service.create({ id: `${SECRET}-expired`, userId: `${SECRET}-user`, timeToLive: 0 })
  await service.create({ id: 'other', userId: SECRET.slice(0, 4) })
  await service.appendMessage('other', { role: 'user', content: 'stays' })
  expect(await service.deleteUser(`${SECRET}-user`)).toBe(2)
  expect(await countStored(databaseName)).toEqual({
    ...EMPTY,
    sessions: 1,
    heads: 1,
    events: 1,
    tails: 1,
  })
  expect(await dumpDatabase(databaseName)).not.toContain(SECRET)
  expect((await service.getMessages('other')).length).toBe(1)
  await service.close()
})

test('deleteExpiredSessions', async () => {
  const { service, databaseName, pass } = openService()
  await createFull({ service, databaseName }, 'a', { timeToLive: 1000 })
  await createFull({ service, databaseName }, 'b', { timeToLive: 2000 })
  pass(1500)
  expect(await service.deleteExpiredSessions()).toBe(1)
  expect(await service.deleteExpiredSessions()).toBe(0)
  expect((await service.findById(`${SECRET}-b`))?.id).toBe(`${SECRET}-b`)
  pass(1000)
  expect(await service.deleteExpiredSessions()).toBe(1)
  await expectNothingLeft(databaseName)
  await service.close()
})

test('a session over an expired id', async () => {
  const { service, databaseName, pass } = openService()
  await createFull({ service, databaseName }, 'a', { timeToLive: 1000 })
  pass(1500)
  const { counts } = await countRequests(() => service.create({ id: `${SECRET}-a` }))
  expect(counts.transactions).toBe(1)
  expect(await countStored(databaseName)).toEqual({ ...EMPTY, sessions: 1, heads: 1 })
  expect(await service.getEvents(`${SECRET}-a`)).toEqual([])
  await service.delete(`${SECRET}-a`)
  await expectNothingLeft(databaseName)
  await service.close()
})

test('eraseEvent, of short and of long events', async () => {
  const { service, databaseName } = openService()
  await service.create({ id: 'a' })
  const contents = [SECRET, `${SECRET} `.repeat(20_000), 'stays']
  for (const [index, content] of contents.entries()) {
    await service.appendEvent('a', { id: `e${index}`, message: { role: 'user', content } })
  }
  await untilSealed(databaseName)
  await service.eraseEvent('a', 'e0')
  await service.eraseEvent('a', 'e1')
  expect(await dumpDatabase(databaseName)).not.toContain(SECRET)
  expect(await countStored(databaseName)).toEqual({
    ...EMPTY,
    sessions: 1,
    heads: 1,
    events: 3,
    tails: 1,
    blocks: 2,
  })
  expect(
    (await service.getEvents('a')).map(({ id, metadata }) => [id, metadata['erased']]),
  ).toEqual([
    ['e0', true],
    ['e1', true],
    ['e2', undefined],
  ])
  await service.appendEvent('a', { id: 'e1', message: { role: 'user', content: SECRET } })
  expect(await dumpDatabase(databaseName)).not.toContain(SECRET)
  await service.close()
})

test('deleting 10 or 5,000 events takes a few requests, and one for each block', async () => {
  const { service, databaseName } = openService()
  const repository = createIndexedDBRepository({ databaseName })
  const costs = []
  for (const size of [10, 5_000]) {
    await service.create({ id: 'a' })
    const events = Array.from({ length: size }, (_, index) => ({
      id: `e${index}`,
      timestamp: index,
      role: 'user' as const,
      branch: null,
      synthetic: false,
      body: '{"message":{"role":"user","content":""},"metadata":{}}',
    }))
    await repository.commit('a', { now: 0, events })
    await untilSealed(databaseName)
    const { counts } = await countRequests(() => service.delete('a'))
    expect(counts.transactions).toBe(1)
    expect(counts.readByStore).toMatchObject({ sessions: 1, heads: 1 })
    costs.push(counts)
  }
  expect(costs[0]).toMatchObject({ read: 2, written: 0, deletions: 7 })
  // 19 full blocks in a few groups: their numbers and the last block's are read, then each group. No
  // event and no block is.
  const { groups = 0 } = await countStored(databaseName)
  expect(groups).toBeLessThanOrEqual(3)
  expect(costs[1]).toMatchObject({
    read: 3 + 2 * groups,
    written: groups,
    deletions: 7 + 19,
  })
  expect(await countStored(databaseName)).toEqual({ ...EMPTY, groups })
  await service.close()
  await repository.close()
})
