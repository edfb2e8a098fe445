/** Sessions: creating, finding and changing them. */

import { assertEqual, assertFails, assertPresent, assertTrue } from '../assertions.ts'
import { ALL_EVENTS, createLog, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const sessionCases: readonly StoreCase[] = [
  {
    name: 'sessions: a created one is found as it was given',
    async run({ service, clock }) {
      const created = await service.create({
        id: 'chat-1',
        userId: 'ana',
        timeToLive: 60_000,
        metadata: { title: 'Trip', tags: ['a', null], nested: { deep: true } },
      })
      const expected = {
        id: 'chat-1',
        userId: 'ana',
        createdAt: new Date(clock.now),
        expiresAt: new Date(clock.now + 60_000),
        metadata: { title: 'Trip', tags: ['a', null], nested: { deep: true } },
        eventCount: 0,
        lastEventAt: null,
      }
      assertEqual(created, expected, 'the created session')
      assertEqual(await service.findById('chat-1'), expected, 'the session found')
    },
  },
  {
    name: 'sessions: without an id, or with a blank one, each gets a UUID of its own',
    async run({ service }) {
      const sessions = [
        await service.create(),
        await service.create({ id: '  \t' }),
        await service.findOrCreate({ id: '' }),
      ]
      for (const { id } of sessions) {
        assertTrue(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id), `a UUID, not ${id}`)
      }
      assertEqual(new Set(sessions.map(({ id }) => id)).size, 3, 'how many ids there are')
    },
  },
  {
    name: 'sessions: an unknown one is null to findById and at version 0',
    async run({ service }) {
      assertEqual(await service.findById('nowhere'), null, 'findById')
      assertEqual(await service.getEventVersion('nowhere'), 0, 'getEventVersion')
    },
  },
  {
    name: 'sessions: everything else refuses an unknown one',
    async run({ service, repository, clock }) {
      const { now } = clock

      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        getEvents: () => service.getEvents('nowhere'),
        getMessages: () => service.getMessages('nowhere', { lastN: 1 }),
        iterateEvents: () => service.iterateEvents('nowhere')[Symbol.asyncIterator]().next(),
        update: () => service.update('nowhere', { metadata: { a: 1 } }),
        appendEvent: () => service.appendEvent('nowhere', userEvent('a')),
        eraseEvent: () => service.eraseEvent('nowhere', 'a'),
        findEvent: () => repository.findEvent('nowhere', 'a', { now }),
        readBoundaries: () => repository.readBoundaries('nowhere', { now }),
        readEvents: () => repository.readEvents('nowhere', { now, filter: ALL_EVENTS }),
        commit: () => repository.commit('nowhere', { now, events: [] }),
      }
      for (const [name, call] of Object.entries(calls)) {
        await assertFails(call, 'SESSION_NOT_FOUND', name, ['nowhere'])
      }
      assertEqual(await repository.findSession('nowhere', { now }), null, 'findSession')
    },
  },
  {
    name: 'sessions: a taken id is refused and its session left as it is',
    async run({ service }) {
      await createLog(service, 2)
      const before = await service.findById('s')
      await assertFails(
        () => service.create({ id: 's', metadata: { other: true } }),
        'SESSION_EXISTS',
        'creating it again',
        ['"s"'],
      )
      assertEqual(await service.findById('s'), before, 'the session')
      assertEqual((await service.getEvents('s')).length, 2, 'how many events it has')
    },
  },
  {
    name: 'sessions: of many that create one id at once, one wins',
    async run({ service, openService }) {
      const other = await openService()
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 ? other : service).create({ id: 's', metadata: { index } }),
        ),
      )
      const won = results.filter((result) => result.status === 'fulfilled')
      assertEqual(won.length, 1, 'how many were told that they created it')
      for (const result of results) {
        if (result.status === 'rejected') {
          const { code } = result.reason as { code?: unknown }
          assertEqual<unknown>(code, 'SESSION_EXISTS', 'what the others were told')
        }
      }
      assertEqual(
        (await service.findById('s'))?.metadata,
        won[0]?.value.metadata,
        'the metadata is the one of the winner',
      )
    },
  },
  {
    name: 'sessions: findOrCreate at once gives everybody the same session',
    async run({ service, openService }) {
      const other = await openService()
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 ? other : service).findOrCreate({ id: 's', metadata: { index } }),
        ),
      )
      for (const result of results) assertEqual(result, results[0], 'what findOrCreate gave')
    },
  },
  {
    name: 'sessions: findOrCreate gives an existing one to its owner only',
    needs: ['users'],
    async run({ service }) {
      const created = await service.create({ id: 's', userId: 'ana', metadata: { a: 1 } })
      assertEqual(
        await service.findOrCreate({ id: 's', userId: 'ana', metadata: { b: 2 } }),
        created,
        'what the owner gets',
      )
      await assertFails(
        () => service.findOrCreate({ id: 's', userId: 'bo' }),
        'NOT_OWNER',
        'what another user gets',
      )
      assertEqual(await service.findById('s'), created, 'the session')
    },
  },
  {
    name: 'sessions: update merges metadata by key and removes by null',
    async run({ service }) {
      await service.create({ id: 's', metadata: { kept: 1, changed: 'old', gone: true } })
      const updated = await service.update('s', {
        metadata: { changed: { deep: [1] }, gone: null, absent: null, added: false },
      })
      const expected = { kept: 1, changed: { deep: [1] }, added: false }
      assertEqual(updated.metadata, expected, 'the metadata that update gave')
      assertEqual((await service.findById('s'))?.metadata, expected, 'the stored metadata')
      await service.update('s', {})
      assertEqual((await service.findById('s'))?.metadata, expected, 'after an empty update')
    },
  },
  {
    name: 'sessions: metadata keys that look like numbers or __proto__ are plain keys',
    async run({ service }) {
      const metadata = JSON.parse('{"__proto__":{"polluted":1},"10":"ten","constructor":"x"}')
      await service.create({ id: 's', metadata })
      const stored = assertPresent(await service.findById('s'), 'the session').metadata
      assertEqual(JSON.stringify(stored), JSON.stringify(metadata), 'the stored metadata')
      await service.update('s', { metadata: JSON.parse('{"__proto__":null,"10":null}') })
      assertEqual(
        JSON.stringify((await service.findById('s'))?.metadata),
        '{"constructor":"x"}',
        'after removing both',
      )
      assertEqual(
        ({} as { polluted?: unknown }).polluted,
        undefined,
        'the prototype of all objects',
      )
    },
  },
  {
    name: 'sessions: updates at once from two instances all count',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const other = await openService()
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 ? other : service).update('s', { metadata: { [`key${index}`]: index } }),
        ),
      )
      const metadata = assertPresent(await service.findById('s'), 'the session').metadata
      assertEqual(Object.keys(metadata).length, 10, 'how many keys the metadata has')
    },
  },
  {
    name: 'sessions: an update and appends at once keep each other',
    async run({ service, openService }) {
      await service.create({ id: 's', metadata: { step: 0 } })
      const other = await openService()
      await Promise.all([
        ...Array.from({ length: 10 }, (_, index) =>
          service.appendEvent('s', userEvent(`e${index}`)),
        ),
        ...Array.from({ length: 10 }, () => other.update('s', { metadata: { step: 1 } })),
      ])
      const session = assertPresent(await service.findById('s'), 'the session')
      assertEqual(session.metadata, { step: 1 }, 'the metadata')
      assertEqual(session.eventCount, 10, 'how many events it counts')
    },
  },
  {
    name: 'sessions: ones in different stores of ids do not mix',
    async run({ service }) {
      const ids = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', 'a/b', 'a%2Fb', 'a.b', '1', '1.0', '01']
      for (const id of ids) await createLog(service, 1, id)
      for (const id of ids) {
        await service.appendEvent(id, userEvent(`mine-${id}`))
        assertEqual((await service.getEvents(id)).length, 2, `how many events ${id} has`)
        assertEqual((await service.findById(id))?.id, id, 'the id found')
      }
      await service.delete('a')
      for (const id of ids.slice(1)) {
        assertEqual((await service.findById(id))?.eventCount, 2, `how many events ${id} has then`)
      }
    },
  },
]
