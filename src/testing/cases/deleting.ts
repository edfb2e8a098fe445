/** Deleting: every byte of a session, and nothing of any other. */

import { assertEqual, assertFails } from '../assertions.ts'
import {
  ALL_EVENTS,
  boundaryCommit,
  createLog,
  idsOf,
  seqsOf,
  userEvent,
  userEvents,
} from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const deletingCases: readonly StoreCase[] = [
  {
    name: 'deleting: twice is as good as once',
    async run({ service }) {
      await createLog(service, 3)
      assertEqual(await service.delete('s'), true, 'the first time')
      assertEqual(await service.delete('s'), false, 'the second time')
      assertEqual(await service.delete('never'), false, 'a session that never was')
      assertEqual(await service.findById('s'), null, 'the session')
    },
  },
  {
    name: 'deleting: at once from two instances, one was the first',
    async run({ service, openService }) {
      await createLog(service, 3)
      const other = await openService()
      const results = await Promise.all([service.delete('s'), other.delete('s')])
      assertEqual(results.filter(Boolean).length, 1, 'how many were told that it was there')
    },
  },
  {
    name: 'deleting: a new session of the same id starts from nothing',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          summaries: ['sum'],
          kept: [[3, 3]],
          through: 3,
          operationId: 'one',
        }),
      )
      await service.delete('s')
      await service.create({ id: 's' })
      const { now } = clock
      assertEqual(await service.getEvents('s'), [], 'the log')
      assertEqual(await service.getEventVersion('s'), 0, 'the version')
      assertEqual(await repository.readBoundaries('s', { now }), [], 'the boundaries')
      assertEqual(await repository.findEvent('s', 'e1', { now }), null, 'an old event')
      assertEqual(seqsOf(await service.appendEvents('s', userEvents(2))), [1, 2], 'the new seqs')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1', 'e2'],
        'view',
      )
      const result = await repository.commit(
        's',
        boundaryCommit(now, { kept: [], through: 1, operationId: 'one' }),
      )
      assertEqual(result.session.boundary?.id, 'one', 'an operation id of the old session is free')
    },
  },
  {
    name: 'deleting: leaves every other session alone',
    async run({ service }) {
      for (const id of ['a', 'ab', 'a\u0000', 'a/', 'b']) await createLog(service, 3, id)
      await service.delete('a')
      for (const id of ['ab', 'a\u0000', 'a/', 'b']) {
        assertEqual(seqsOf(await service.getEvents(id)), [1, 2, 3], `the seqs of ${id}`)
        assertEqual((await service.getEvents(id, { keyword: 'e2' })).length, 1, `a search in ${id}`)
      }
    },
  },
  {
    name: 'deleting: also an expired one',
    needs: ['clock'],
    async run({ service, clock }) {
      await service.create({ id: 's', timeToLive: 1000 })
      await service.appendEvents('s', userEvents(2))
      clock.now += 1000
      assertEqual(await service.delete('s'), true, 'delete')
      assertEqual(await service.deleteExpiredSessions(), 0, 'how many expired ones are left')
    },
  },
  {
    name: 'deleting: a user with all sessions, expired ones too, and no other user',
    needs: ['users', 'clock'],
    async run({ service, repository, clock }) {
      await service.create({ id: 'a1', userId: 'ana' })
      await service.create({ id: 'a2', userId: 'ana', timeToLive: 1000 })
      await service.create({ id: 'a3', userId: 'ana', timeToLive: null })
      await service.create({ id: 'b1', userId: 'bo' })
      for (const id of ['a1', 'a2', 'a3', 'b1']) await service.appendEvent(id, userEvent('x'))
      clock.now += 1000
      assertEqual(await service.deleteUser('ana'), 3, 'how many sessions ana had')
      assertEqual(await service.deleteUser('ana'), 0, 'how many the second time')
      assertEqual((await service.listSessions({ userId: 'ana' })).sessions, [], 'her list')
      assertEqual(
        idsOf((await service.listSessions({ userId: 'bo' })).sessions),
        ['b1'],
        'his list',
      )
      assertEqual((await service.getEvents('b1')).length, 1, 'his events')
      const recalled = await repository.recallEvents({
        now: clock.now,
        userId: 'ana',
        filter: ALL_EVENTS,
        offset: 0,
        limit: 10,
      })
      assertEqual(recalled.events, [], 'what is recalled of her')
    },
  },
  {
    name: 'deleting: a large session goes whole',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', userEvents(1000))
      await service.appendEvent('s', userEvent('big', 'x'.repeat(3_000_000)))
      assertEqual(await service.delete('s'), true, 'delete')
      await service.create({ id: 's' })
      assertEqual(await service.getEvents('s'), [], 'the log')
      const event = await service.appendEvent('s', userEvent('big', 'small'))
      assertEqual(event.message.content, 'small', 'an event of the same id and seq as an old one')
      assertEqual(await service.getMessages('s'), [{ role: 'user', content: 'small' }], 'the log')
    },
  },
  {
    name: 'deleting: while others append, they fail or were first',
    async run({ service, openService }) {
      await createLog(service, 5)
      const other = await openService()
      const results = await Promise.allSettled([
        ...Array.from({ length: 5 }, (_, index) => other.appendEvent('s', userEvent(`x${index}`))),
        service.delete('s'),
        ...Array.from({ length: 5 }, (_, index) => other.appendEvent('s', userEvent(`y${index}`))),
      ])
      for (const result of results) {
        if (result.status === 'rejected') {
          const { code } = result.reason as { code?: unknown }
          assertEqual<unknown>(code, 'SESSION_NOT_FOUND', 'why an append failed')
        }
      }
      assertEqual(await service.findById('s'), null, 'the session')
      await assertFails(() => service.getEvents('s'), 'SESSION_NOT_FOUND', 'its events')
    },
  },
]
