/** Expiry: an expired session is unknown to everybody, and its id free. */

import { assertEqual, assertFails, assertPresent } from '../assertions.ts'
import { ALL_EVENTS, createLog, idsOf, seqsOf, userEvent, userEvents } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

const DAY = 86_400_000

export const lifetimeCases: readonly StoreCase[] = [
  {
    name: 'lifetime: 60 days from creation unless said otherwise, and null is for ever',
    needs: ['clock'],
    async run({ service, clock }) {
      const usual = await service.create({ id: 'usual' })
      assertEqual(usual.expiresAt, new Date(clock.now + 60 * DAY), 'the usual expiry')
      const lasting = await service.create({ id: 'lasting', timeToLive: null })
      assertEqual(lasting.expiresAt, null, 'the expiry of a lasting one')
      clock.now += 61 * DAY
      assertEqual(await service.findById('usual'), null, 'the usual one after 61 days')
      assertEqual(await service.findById('lasting'), lasting, 'the lasting one after 61 days')
    },
  },
  {
    name: 'lifetime: known until the millisecond before its expiry, unknown from it on',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      clock.now += 999
      assertEqual((await service.findById('s'))?.id, 's', 'a millisecond before')
      await service.appendEvent('s', userEvent('a'))
      clock.now += 1
      assertEqual(await service.findById('s'), null, 'at its expiry')
    },
  },
  {
    name: 'lifetime: an expired session is unknown to every method',
    needs: ['clock'],
    async run({ service, repository, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      await service.appendEvents('s', userEvents(3))
      clock.now += 1000
      const { now } = clock
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        getEvents: () => service.getEvents('s'),
        update: () => service.update('s', { expiresAt: null }),
        appendEvent: () => service.appendEvent('s', userEvent('late')),
        'appendEvent of a stored id': () => service.appendEvent('s', userEvent('e1')),
        eraseEvent: () => service.eraseEvent('s', 'e1'),
        findEvent: () => repository.findEvent('s', 'e1', { now }),
        readBoundaries: () => repository.readBoundaries('s', { now }),
      }
      for (const [name, call] of Object.entries(calls)) {
        await assertFails(call, 'SESSION_NOT_FOUND', name)
      }
      assertEqual(await service.getEventVersion('s'), 0, 'its version')
      assertEqual((await service.listSessions()).sessions, [], 'the list')
    },
  },
  {
    name: 'lifetime: creating over an expired id purges its remains',
    needs: ['clock'],
    async run({ service, repository, clock }) {
      await service.create({ id: 's', timeToLive: 1000, metadata: { old: true } })
      await service.appendEvents('s', userEvents(3))
      await repository.commit('s', {
        now: clock.now,
        events: [],
        boundary: { summaries: [], kept: [], through: 3, rewound: [] },
        operationId: 'clear',
      })
      clock.now += 1000
      const created = await service.create({ id: 's', metadata: { fresh: true } })
      assertEqual(created.eventCount, 0, 'eventCount')
      assertEqual(created.metadata, { fresh: true }, 'the metadata')
      assertEqual(await service.getEvents('s'), [], 'the log')
      assertEqual(await service.getEventVersion('s'), 0, 'the version')
      const { now } = clock
      assertEqual(await repository.readBoundaries('s', { now }), [], 'the boundaries')
      const again = await service.appendEvent('s', userEvent('e2', 'another text'))
      assertEqual(again.seq, 1, 'the seq of an id that the expired one had')
      assertEqual(again.message.content, 'another text', 'its text')
      assertEqual(await service.getEvents('s', { keyword: 'e1' }), [], 'a search for an old text')
    },
  },
  {
    name: 'lifetime: an expired id goes to whoever creates it',
    needs: ['clock', 'users'],
    async run({ service, clock }) {
      await service.create({ id: 's', userId: 'ana', timeToLive: 1000 })
      clock.now += 5000
      const session = await service.findOrCreate({ id: 's', userId: 'bo' })
      assertEqual(session.userId, 'bo', 'the owner')
      assertEqual(await service.deleteUser('ana'), 0, 'how many sessions the old owner has')
      assertEqual((await service.findById('s'))?.userId, 'bo', 'the owner after that')
    },
  },
  {
    name: 'lifetime: of many that create over an expired id at once, one wins',
    needs: ['clock'],
    async run({ service, openService, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      await service.appendEvents('s', userEvents(3))
      clock.now += 1000
      const other = await openService()
      const results = await Promise.allSettled(
        Array.from({ length: 6 }, (_, index) => (index % 2 ? other : service).create({ id: 's' })),
      )
      assertEqual(
        results.filter(({ status }) => status === 'fulfilled').length,
        1,
        'how many created it',
      )
      assertEqual(await service.getEvents('s'), [], 'the log')
    },
  },
  {
    name: 'lifetime: a sliding one moves with every append, on and on',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: { sliding: 1000 } })
      for (let index = 1; index <= 5; index++) {
        clock.now += 900
        await service.appendEvent('s', userEvent(`e${index}`))
        assertEqual(
          (await service.findById('s'))?.expiresAt,
          new Date(clock.now + 1000),
          `the expiry after append ${index}`,
        )
      }
      clock.now += 1000
      assertEqual(await service.findById('s'), null, 'the session, when nothing came any more')
    },
  },
  {
    name: 'lifetime: a repeated append is no event and does not prolong',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: { sliding: 1000 } })
      await service.appendEvent('s', userEvent('a'))
      clock.now += 600
      await service.appendEvent('s', userEvent('a'))
      clock.now += 400
      assertEqual(await service.findById('s'), null, 'the session')
    },
  },
  {
    name: 'lifetime: a fixed one does not move with appends',
    needs: ['clock'],
    async run({ service, clock }) {
      const { expiresAt } = await service.create({ id: 's', timeToLive: 1000 })
      clock.now += 500
      await service.appendEvent('s', userEvent('a'))
      assertEqual((await service.findById('s'))?.expiresAt, expiresAt, 'the expiry')
    },
  },
  {
    name: 'lifetime: an explicit expiry ends a sliding one',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: { sliding: 1000 } })
      const expiresAt = new Date(clock.now + 5000)
      assertEqual((await service.update('s', { expiresAt })).expiresAt, expiresAt, 'the expiry')
      clock.now += 3000
      await service.appendEvent('s', userEvent('a'))
      assertEqual((await service.findById('s'))?.expiresAt, expiresAt, 'the expiry after an append')
      await service.update('s', { expiresAt: null })
      clock.now += DAY
      await service.appendEvent('s', userEvent('b'))
      assertEqual((await service.findById('s'))?.expiresAt, null, 'the expiry, taken away')
    },
  },
  {
    name: 'lifetime: changing metadata leaves a sliding lifetime sliding',
    needs: ['clock'],
    async run({ service, clock }) {
      const { expiresAt } = await service.create({ id: 's', timeToLive: { sliding: 1000 } })
      clock.now += 500
      const updated = await service.update('s', { metadata: { title: 'x' } })
      assertEqual(updated.expiresAt, expiresAt, 'the expiry after an update')
      await service.appendEvent('s', userEvent('a'))
      assertEqual(
        (await service.findById('s'))?.expiresAt,
        new Date(clock.now + 1000),
        'the expiry after an append',
      )
    },
  },
  {
    name: 'lifetime: an expiry in the past ends a session at once',
    needs: ['clock'],
    async run({ service, clock }) {
      await createLog(service, 1)
      await service.update('s', { expiresAt: clock.now - 1 })
      assertEqual(await service.findById('s'), null, 'the session')
      assertEqual((await service.listSessions()).sessions, [], 'the list')
      assertEqual((await service.create({ id: 's' })).eventCount, 0, 'a new one of the same id')
    },
  },
  {
    name: 'lifetime: deleteExpiredSessions removes them and nothing else',
    needs: ['clock', 'users'],
    async run({ service, clock }) {
      await service.create({ id: 'short', timeToLive: 1000 })
      await service.create({ id: 'short of bo', userId: 'bo', timeToLive: 1000 })
      await service.create({ id: 'long', timeToLive: 2000 })
      await service.create({ id: 'lasting', timeToLive: null })
      for (const id of ['short', 'long', 'lasting']) {
        await service.appendEvents(id, userEvents(2))
      }
      assertEqual(await service.deleteExpiredSessions(), 0, 'how many before any expired')
      clock.now += 1000
      assertEqual(await service.deleteExpiredSessions(), 2, 'how many after a second')
      assertEqual(await service.deleteExpiredSessions(), 0, 'how many the second time')
      assertEqual(
        await service.deleteExpiredSessions({ before: new Date(clock.now + 10 * DAY) }),
        1,
        'how many expire within ten days',
      )
      assertEqual(idsOf((await service.listSessions()).sessions), ['lasting'], 'what is left')
      assertEqual((await service.getEvents('lasting')).length, 2, 'its events')
    },
  },
  {
    name: 'lifetime: deleteExpiredSessions takes what expires exactly then, and a new session starts over',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      await service.appendEvents('s', userEvents(3))
      const expiry = clock.now + 1000
      assertEqual(await service.deleteExpiredSessions({ before: expiry - 1 }), 0, 'a moment before')
      assertEqual(await service.deleteExpiredSessions({ before: expiry }), 1, 'at its expiry')
      await service.create({ id: 's' })
      assertEqual(seqsOf(await service.appendEvents('s', userEvents(2))), [1, 2], 'the new seqs')
    },
  },
  {
    name: 'lifetime: many expired sessions are removed in one call',
    needs: ['clock'],
    async run({ service, clock }) {
      for (let index = 0; index < 120; index++) {
        await service.create({ id: `s${index}`, timeToLive: index % 4 === 0 ? null : 1000 })
      }
      clock.now += 1000
      assertEqual(await service.deleteExpiredSessions(), 90, 'how many were removed')
      assertEqual(
        (await service.listSessions({ limit: 1000 })).sessions.length,
        30,
        'how many are left',
      )
    },
  },
  {
    name: 'lifetime: a read that is going on stops being answered once the session has expired',
    needs: ['clock'],
    async run({ service, repository, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      const text = 'x'.repeat(3_000_000)
      for (const id of ['a', 'b', 'c']) await service.appendEvent('s', userEvent(id, text))
      const answer = await repository.readEvents('s', { now: clock.now, filter: ALL_EVENTS })
      const cursor = assertPresent(answer.next, 'the cursor of the rest')
      await assertFails(
        () => repository.readEvents('s', { now: clock.now + 1000, filter: ALL_EVENTS, cursor }),
        'SESSION_NOT_FOUND',
        'the rest',
      )
    },
  },
]
