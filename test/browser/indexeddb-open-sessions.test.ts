// Instances append to open sessions on what they remember, while others change them: every append is made
// to the session as it is, or not at all, and lists know where the logs end.

import * as fc from 'fast-check'
import { deleteDB, openDB } from 'idb'
import { isSessionError, type SessionService, type SessionServiceOptions } from 'turnlog'
import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { expect, inject, test } from 'vitest'
import { isOpen } from '../../src/stores/indexeddb/heads.ts'
import { MIGRATIONS } from '../../src/stores/indexeddb/migrations.ts'
import type {
  StoredEvent,
  TurnlogSchema,
  UpgradeTransaction,
} from '../../src/stores/indexeddb/schema.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests } from './request-counter.ts'
import { openWithSmallBlocks } from './sealing.ts'

const say = (id: string, timestamp?: number) => ({
  id,
  timestamp,
  message: { role: 'user' as const, content: id },
})

/** Two instances; the first has opened a session and appended two events, one of them on what it remembers. */
async function openTwo(options: SessionServiceOptions = {}) {
  const databaseName = freshDatabaseName()
  const open = () =>
    createIndexedDBSessionService({ databaseName, defaultUserId: 'me', ...options })
  const [mine, other] = [open(), open()]
  await mine.create({ id: 'a', timeToLive: null })
  await mine.appendEvent('a', say('e1'))
  const { counts } = await countRequests(() => mine.appendEvent('a', say('e2')))
  expect(counts).toMatchObject({ transactions: 1, written: 1 })
  const close = async () => {
    await mine.close()
    await other.close()
  }
  return { databaseName, mine, other, close }
}

async function countEvents(databaseName: string): Promise<number> {
  const database = await openDB(databaseName)
  const count = await database.count('events')
  database.close()
  return count
}

const logOf = async (service: SessionService) =>
  (await service.getEvents('a')).map(({ seq, id }) => `${seq} ${id}`)

test('another instance deletes the session: nothing is left behind', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  await other.delete('a')
  await expect(mine.appendEvent('a', say('e3'))).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  expect(await countEvents(databaseName)).toBe(0)
  await close()
})

test('another instance deletes it and makes another of that id', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  await other.delete('a')
  await other.create({ id: 'a' })
  expect(await mine.appendEvent('a', say('e1'))).toMatchObject({ seq: 1 })
  expect(await logOf(other)).toEqual(['1 e1'])
  expect(await countEvents(databaseName)).toBe(1)
  await close()
})

test('another instance lets it expire', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  await other.update('a', { expiresAt: new Date(Date.now() - 1) })
  await expect(mine.appendEvent('a', say('e3'))).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  expect(await countEvents(databaseName)).toBe(2)
  await close()
})

test('its own time to live ends while it is remembered', async () => {
  const { mine, other, close } = await openTwo()
  await other.update('a', { expiresAt: new Date(Date.now() + 40) })
  await mine.appendEvent('a', say('e3'))
  await mine.appendEvent('a', say('e4'))
  await expect
    .poll(() => mine.appendEvent('a', say('e5')).catch(({ code }) => code))
    .toBe('SESSION_NOT_FOUND')
  await close()
})

test('another instance appends, first what is remembered to be the end', async () => {
  const { mine, other, close } = await openTwo()
  await other.appendEvents('a', [say('f1'), say('f2')])
  await mine.appendEvent('a', say('e3'))
  await other.appendEvent('a', say('f3'))
  await mine.appendEvents('a', [say('f3'), say('e4')])
  expect(await logOf(mine)).toEqual(['1 e1', '2 e2', '3 f1', '4 f2', '5 e3', '6 f3', '7 e4'])
  expect(await other.getEventVersion('a')).toBe(7)
  await close()
})

test('another instance compacts, erases and updates', async () => {
  const { mine, other, close } = await openTwo()
  await other.clearView('a')
  await mine.appendEvent('a', say('e3'))
  expect((await mine.getEvents('a', { excludeArchived: true })).map(({ id }) => id)).toEqual(['e3'])
  expect(await mine.getEventVersion('a')).toBe(4)
  await mine.appendEvent('a', say('e4'))
  await other.eraseEvent('a', 'e4')
  await mine.appendEvent('a', say('e5'))
  await other.update('a', { metadata: { title: 't' } })
  await mine.appendEvent('a', say('e6'))
  expect(await mine.findById('a')).toMatchObject({ eventCount: 6, metadata: { title: 't' } })
  expect((await other.getEvents('a')).map(({ message }) => message.content)).toEqual([
    'e1',
    'e2',
    'e3',
    '',
    'e5',
    'e6',
  ])
  await close()
})

test('what a tab wrote beyond the end of a closed log, and was killed before it took it back', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  await other.update('a', { metadata: {} })
  const database = await openDB<TurnlogSchema>(databaseName)
  const [, second] = await database.getAll('events')
  const strays = [3, 4, 5].map((seq) => ({ ...(second as StoredEvent), seq, id: `1:late${seq}` }))
  const addStrays = async () => {
    for (const stray of strays) await database.add('events', stray)
  }
  await addStrays()
  expect(await logOf(mine)).toEqual(['1 e1', '2 e2'])
  expect(await mine.findEvent('a', 'late3')).toBeNull()
  expect(await mine.findById('a')).toMatchObject({ eventCount: 2 })
  expect(await mine.getEventVersion('a')).toBe(2)
  expect(await mine.recallEvents({ keyword: 'e' })).toHaveLength(2)
  expect((await mine.listSessions()).sessions).toMatchObject([{ eventCount: 2 }])
  await expect(mine.eraseEvent('a', 'late3')).rejects.toMatchObject({ code: 'EVENT_NOT_FOUND' })
  expect(await mine.appendEvent('a', say('late4'))).toMatchObject({ seq: 3 })
  expect(await logOf(other)).toEqual(['1 e1', '2 e2', '3 late4'])
  expect(await database.count('events')).toBe(3)

  await other.clearView('a')
  await database.add('events', { ...(strays[1] as StoredEvent), id: '1:late3' })
  const summary = { ...say('summary'), synthetic: true }
  expect(await other.appendEvents('a', [summary, say('e4')])).toMatchObject([
    { seq: 4 },
    { seq: 5 },
  ])
  expect(await logOf(mine)).toEqual(['1 e1', '2 e2', '3 late4', '4 summary', '5 e4'])

  await other.update('a', { metadata: {} })
  await database.add('events', { ...(strays[1] as StoredEvent), seq: 6, id: '1:late6' })
  await other.delete('a')
  expect(await database.count('events')).toBe(0)
  database.close()
  await close()
})

test('an append by what was remembered of a database that was deleted writes into no other', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  await deleteDB(databaseName)
  await other.create({ id: 'b', userId: 'you', timeToLive: null })
  await other.appendEvents('b', [say('f1'), say('f2')])
  await expect(mine.appendEvent('a', say('e3'))).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  expect(await countEvents(databaseName)).toBe(2)
  await other.appendEvent('b', say('f3'))
  expect((await other.getEvents('b')).map(({ seq, id }) => `${seq} ${id}`)).toEqual([
    '1 f1',
    '2 f2',
    '3 f3',
  ])
  await close()
})

test('an event that comes late into an open session is found by its time', async () => {
  const { mine, other, close } = await openTwo()
  const start = Date.now() + 1_000_000
  await mine.appendEvents(
    'a',
    Array.from({ length: 500 }, (_, index) => say(`n${index}`, start + 1000 * index)),
  )
  await mine.appendEvent('a', say('late', start - 500))
  await mine.appendEvent('a', say('e503', start + 500_000))
  const filter = { from: start - 1000, to: start - 1 }
  for (const service of [mine, other]) {
    expect((await service.getEvents('a', filter)).map(({ id }) => id)).toEqual(['late'])
  }
  await close()
})

test('an instance that has read an open session appends to it at once', async () => {
  const { mine, other, close } = await openTwo()
  for (const [service, id] of [
    [other, 'f3'],
    [mine, 'e4'],
    [other, 'f5'],
  ] as const) {
    await service.findById('a')
    const { counts } = await countRequests(() => service.appendEvent('a', say(id)))
    expect(counts).toMatchObject({ transactions: 1, written: 1 })
  }
  expect(await logOf(mine)).toEqual(['1 e1', '2 e2', '3 f3', '4 e4', '5 f5'])
  await close()
})

test('a commit to the session that it was before is refused, to the one that it is is not', async () => {
  const { databaseName, mine, other, close } = await openTwo()
  const repository = createIndexedDBRepository({ databaseName })
  const now = Date.now()
  const commit = (id: string, expectedSession?: number) => {
    const body = JSON.stringify({ message: { role: 'user', content: id }, metadata: {} })
    const event = {
      id,
      timestamp: now,
      role: 'user' as const,
      branch: null,
      synthetic: false,
      body,
    }
    return repository.commit('a', { now, events: [event], expectedSession })
  }
  const before = (await commit('e3')).session.number
  await commit('e4')
  await other.delete('a')
  await other.create({ id: 'a' })
  const after = (await other.repository.findSession('a', { now }))?.number
  expect(after).not.toBe(before)
  await commit('e5', after)
  await expect(commit('e6', before)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  expect(await logOf(mine)).toEqual(['1 e5'])
  await repository.close()
  await close()
})

test('lists know the last events of many open sessions, page by page', async () => {
  const databaseName = freshDatabaseName()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const stranger = createIndexedDBSessionService({ databaseName, defaultUserId: 'you' })
  const ids = Array.from({ length: 40 }, (_, index) => `s${index}`)
  const start = Date.now() + 1_000_000 // after the sessions' creation
  await stranger.create({ id: 'foreign' })
  await stranger.appendEvent('foreign', say('x', start))
  for (const id of ids) await service.create({ id })
  // Each is appended to twice, in an order that has nothing to do with that of their numbers.
  const lastAt = new Map<string, number>()
  for (const round of [0, 1]) {
    for (const [index, id] of ids.entries()) {
      const at = start + round * 1000 + ((index * 17) % 40)
      await service.appendEvents('s3', [say(`s3 ${round} ${index}`, start + 5000 + index)])
      if (id !== 's3') await service.appendEvent(id, say(`${id} ${round}`, at))
      if (id !== 's3') lastAt.set(id, at)
    }
  }
  lastAt.set('s3', start + 5000 + 39)
  const expected = [...lastAt].sort(([, a], [, b]) => b - a).map(([id]) => id)
  const listed: string[] = []
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof service.listSessions>> = await service.listSessions({
      limit: 7,
      cursor,
    })
    for (const { id, lastEventAt } of page.sessions) {
      listed.push(id)
      expect(lastEventAt?.getTime()).toBe(lastAt.get(id))
    }
    cursor = page.cursor
    if (cursor === null) break
  }
  expect(listed).toEqual(expected)

  const database = await openDB<TurnlogSchema>(databaseName)
  const heads = await database.getAll('heads')
  const open = heads.filter(isOpen)
  expect(open.length).toBeLessThanOrEqual(17) // 16 of "me", one of "you"
  // Every session with a head that may be old has a tail, and only one.
  const tails = (await database.getAllKeys('tails')).map(([session]) => session)
  expect(new Set(tails).size).toBe(tails.length)
  expect(tails).toEqual(expect.arrayContaining(open.map(({ number }) => number)))
  database.close()
  await service.close()
  await stranger.close()
})

test('the place of an open session that got its last event long ago', async () => {
  const databaseName = freshDatabaseName()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  for (const id of ['old', 'new']) await service.create({ id })
  await service.appendEvent('new', say('n', 2_000))
  await service.update('new', { metadata: {} })
  await service.appendEvent('old', say('o1', 1_000))
  await service.appendEvent('old', say('o2', 1_500))
  const { sessions } = await service.listSessions({ limit: 1 })
  expect(sessions.map(({ id }) => id)).toEqual(['new'])
  await service.close()
})

test('three instances at a time: what was acknowledged is stored once, in order and without a gap', {
  timeout: 300_000,
}, async () => {
  const kinds = [
    'append',
    'append',
    'append',
    'again',
    'batch',
    'rename',
    'clear',
    'erase',
    'list',
  ] as const
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    tab: fc.nat(2),
    session: fc.constantFrom('a', 'b'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), async (steps) => {
      const databaseName = freshDatabaseName()
      const services = [0, 1, 2].map(() => openWithSmallBlocks(databaseName, { timeToLive: null }))
      const acknowledged = { a: [] as string[], b: [] as string[] }
      let boundaries = 0
      let named = 0
      for (const id of ['a', 'b']) await services[0]?.create({ id })
      const perform = async (
        service: SessionService,
        kind: (typeof kinds)[number],
        id: 'a' | 'b',
      ) => {
        const ids = Array.from({ length: kind === 'batch' ? 7 : 1 }, () => `e${++named}`)
        switch (kind) {
          case 'append':
          case 'batch': {
            const stored = await service.appendEvents(
              id,
              ids.map((name) => say(name)),
            )
            expect(stored.map((event) => event.id)).toEqual(ids)
            acknowledged[id].push(...ids)
            return
          }
          case 'again': {
            const known = acknowledged[id].at(-1)
            if (known !== undefined) await service.appendEvent(id, say(known))
            return
          }
          case 'rename':
            await service.update(id, { metadata: { named } })
            return
          case 'clear':
            if ((await service.clearView(id)) > 0) boundaries++
            return
          case 'erase':
            await service.eraseEvent(id, acknowledged[id][0] ?? '-')
            return
          case 'list':
            expect((await service.listSessions()).sessions).toHaveLength(2)
        }
      }
      await Promise.all(
        services.map(async (service, tab) => {
          for (const { kind, session } of steps.filter((each) => each.tab === tab)) {
            await perform(service, kind, session).catch((error: unknown) => {
              if (!isSessionError(error) || error.code !== 'EVENT_NOT_FOUND') throw error
            })
          }
        }),
      )
      let versions = 0
      for (const id of ['a', 'b'] as const) {
        const logs = await Promise.all(services.map((service) => service.getEvents(id)))
        for (const log of logs) {
          expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
          expect(log.map((event) => event.id).sort()).toEqual([...acknowledged[id]].sort())
        }
        const found = await Promise.all(services.map((service) => service.findById(id)))
        const last = logs[0]?.at(-1)?.timestamp ?? null
        for (const session of found) {
          expect(session).toMatchObject({ eventCount: acknowledged[id].length, lastEventAt: last })
        }
        versions += (await services[0]?.getEventVersion(id)) ?? 0
      }
      expect(versions).toBe(acknowledged.a.length + acknowledged.b.length + boundaries)
      for (const service of services) await service.close()
    }),
    { numRuns: inject('randomRuns') ?? 40 },
  )
})

test('a database of schema version 4, whose tails had no stamps, goes on', async () => {
  const databaseName = freshDatabaseName()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  for (const id of ['a', 'sealed']) await service.create({ id })
  await service.appendEvents('a', [say('e1'), say('e2')])
  await service.update('a', { metadata: {} }) // its head says what the log has come to
  const source = await openDB<TurnlogSchema>(databaseName)
  const names = ['properties', 'sessions', 'heads', 'events'] as const
  const rows = await Promise.all(names.map((name) => source.getAll(name)))
  source.close()
  await service.close()

  const oldName = freshDatabaseName()
  const old = await openDB(oldName, 4, {
    async upgrade(database, _old, _new, transaction) {
      await MIGRATIONS[0]?.[1](database as never, transaction as unknown as UpgradeTransaction)
      database.createObjectStore('blocks', { keyPath: 'number', autoIncrement: true })
      database.createObjectStore('groups', { keyPath: 'number' })
      database.createObjectStore('tails', { keyPath: 'session' })
    },
  })
  for (const [index, name] of names.entries()) {
    for (const row of rows[index] ?? []) await old.put(name, row)
  }
  await old.put('tails', { session: 1 })
  old.close()

  const upgraded = createIndexedDBSessionService({ databaseName: oldName, defaultUserId: 'me' })
  expect(await logOf(upgraded)).toEqual(['1 e1', '2 e2'])
  const keys = await openDB<TurnlogSchema>(oldName)
  expect(await keys.getAllKeys('tails')).toEqual([[1, 0]])
  for (const id of ['e2', 'e3', 'e4']) await upgraded.appendEvent('a', say(id))
  expect(await logOf(upgraded)).toEqual(['1 e1', '2 e2', '3 e3', '4 e4'])
  expect(await keys.getAllKeys('tails')).toEqual([[1, expect.any(Number)]])
  const found = await upgraded.recallEvents({ keyword: 'e' }, { userId: 'me' })
  expect(found.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3', 'e4'])
  keys.close()
  await upgraded.close()
})
