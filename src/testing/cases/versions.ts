/** Versions: what `expectedVersion` protects, and what it does not stand in the way of. */

import { assertEqual, assertFails } from '../assertions.ts'
import {
  boundaryCommit,
  createLog,
  eventRecord,
  idsOf,
  userEvent,
  userEvents,
} from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const versionCases: readonly StoreCase[] = [
  {
    name: 'versions: grow by one an event, and not for repeats',
    async run({ service }) {
      await service.create({ id: 's' })
      assertEqual(await service.getEventVersion('s'), 0, 'of a new session')
      await service.appendEvents('s', userEvents(3))
      assertEqual(await service.getEventVersion('s'), 3, 'after three events')
      await service.appendEvents('s', [...userEvents(3), userEvent('a'), userEvent('a')])
      assertEqual(await service.getEventVersion('s'), 4, 'after one new event and four repeats')
      await service.update('s', { metadata: { a: 1 } })
      assertEqual(await service.getEventVersion('s'), 4, 'after an update')
    },
  },
  {
    name: 'versions: grow by one a boundary, however many summaries it has',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['x', 'y'], kept: [[3, 4]], through: 4 }),
      )
      assertEqual(await service.getEventVersion('s'), 5, 'after a boundary with two summaries')
      await repository.commit('s', boundaryCommit(now, { kept: [], through: 6 }))
      assertEqual(await service.getEventVersion('s'), 6, 'after one without')
      const both = boundaryCommit(now, { summaries: ['z'], kept: [], through: 6 })
      await repository.commit('s', {
        ...both,
        events: [...both.events, eventRecord('a'), eventRecord('b')],
      })
      assertEqual(await service.getEventVersion('s'), 9, 'after one with two events beside')
    },
  },
  {
    name: 'versions: the expected one is met or nothing is stored',
    async run({ service }) {
      await createLog(service, 2)
      const error = await assertFails(
        () => service.appendEvents('s', [userEvent('a'), userEvent('b')], { expectedVersion: 1 }),
        'VERSION_CONFLICT',
        'an older version',
        ['2', '1'],
      )
      assertEqual(error.details?.['expected'], 1, 'details.expected')
      assertEqual(error.details?.['actual'], 2, 'details.actual')
      await assertFails(
        () => service.appendEvents('s', [userEvent('a')], { expectedVersion: 3 }),
        'VERSION_CONFLICT',
        'a later version',
      )
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2'], 'the log')
      await service.appendEvents('s', [userEvent('a')], { expectedVersion: 2 })
      await assertFails(
        () => service.appendEvents('s', [userEvent('b')], { expectedVersion: 0 }),
        'VERSION_CONFLICT',
        'version 0 of a session with events',
      )
      await service.appendEvents('s', [userEvent('b')], { expectedVersion: null })
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2', 'a', 'b'], 'the log then')
    },
  },
  {
    name: 'versions: a batch that is stored already succeeds, whatever is expected',
    async run({ service }) {
      const stored = await createLog(service, 3)
      await service.appendEvent('s', userEvent('later'))
      const again = await service.appendEvents('s', userEvents(3), { expectedVersion: 0 })
      assertEqual(again, stored, 'the result of the repeat')
      await assertFails(
        () => service.appendEvents('s', [...userEvents(3), userEvent('x')], { expectedVersion: 0 }),
        'VERSION_CONFLICT',
        'a repeat with one new event',
      )
      assertEqual(await service.getEventVersion('s'), 4, 'the version')
    },
  },
  {
    name: 'versions: of two that expect the same version, one wins',
    async run({ service, openService }) {
      await createLog(service, 1)
      const other = await openService()
      const results = await Promise.allSettled([
        service.appendEvents('s', [userEvent('a1'), userEvent('a2')], { expectedVersion: 1 }),
        other.appendEvents('s', [userEvent('b1'), userEvent('b2')], { expectedVersion: 1 }),
      ])
      assertEqual(
        results.filter(({ status }) => status === 'fulfilled').length,
        1,
        'how many succeeded',
      )
      assertEqual((await service.getEvents('s')).length, 3, 'how many events there are')
    },
  },
  {
    name: 'versions: an expected boundary guards the view, and events that came do not break it',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, {
          kept: [[4, 4]],
          through: 4,
          operationId: 'one',
          expectedBoundary: null,
        }),
      )
      await service.appendEvent('s', userEvent('meanwhile'))
      await assertFails(
        () =>
          repository.commit(
            's',
            boundaryCommit(now, {
              kept: [],
              through: 4,
              operationId: 'two',
              expectedBoundary: null,
            }),
          ),
        'BOUNDARY_CONFLICT',
        'a boundary that knows of none',
      )
      await assertFails(
        () =>
          repository.commit('s', {
            ...boundaryCommit(now, { summaries: ['x'], kept: [], through: 4, operationId: 'two' }),
            expectedBoundary: 'another',
          }),
        'BOUNDARY_CONFLICT',
        'a boundary that knows of another',
      )
      assertEqual(await repository.findEvent('s', 'x', { now }), null, 'its summary')
      const { session } = await repository.commit(
        's',
        boundaryCommit(now, { kept: [], through: 4, operationId: 'two', expectedBoundary: 'one' }),
      )
      assertEqual(session.boundary?.id, 'two', 'the boundary that knows of the newest one')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['meanwhile'],
        'the view',
      )
    },
  },
  {
    name: 'versions: of two boundaries that expect the same one, one wins',
    async run({ service, repository, open, clock }) {
      await createLog(service, 6)
      const other = await open()
      const commit = (name: string) =>
        boundaryCommit(clock.now, {
          summaries: [`summary of ${name}`],
          kept: [[5, 6]],
          through: 6,
          operationId: name,
          expectedBoundary: null,
        })
      const results = await Promise.allSettled([
        repository.commit('s', commit('one')),
        other.commit('s', commit('two')),
      ])
      assertEqual(
        results.filter(({ status }) => status === 'fulfilled').length,
        1,
        'how many succeeded',
      )
      const view = await service.getEvents('s', { excludeArchived: true })
      assertEqual(view.length, 3, 'how many events the view has')
      assertEqual(view.filter(({ synthetic }) => synthetic).length, 1, 'how many summaries')
      assertEqual((await service.getEvents('s')).length, 7, 'how many events the log has')
    },
  },
  {
    name: 'versions: bad expectations are refused by name',
    async run({ service }) {
      await createLog(service, 1)
      for (const expectedVersion of [-1, 1.5, Number.NaN, '1']) {
        await assertFails(
          () => service.appendEvents('s', [userEvent('a')], { expectedVersion } as never),
          'INVALID_ARGUMENT',
          `expectedVersion ${expectedVersion}`,
          ['expectedVersion'],
        )
      }
      assertEqual((await service.getEvents('s')).length, 1, 'how many events there are')
    },
  },
  {
    name: 'versions: what was decided about one session does not happen to its successor',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      const { now } = clock
      const first = await repository.findSession('s', { now })
      await service.delete('s')
      await createLog(service, 3)
      const commit = boundaryCommit(now, { kept: [], through: 3 })
      await assertFails(
        () => repository.commit('s', { ...commit, expectedSession: first?.number }),
        'SESSION_NOT_FOUND',
        'a boundary for the session that was deleted',
      )
      assertEqual((await service.getEvents('s', { excludeArchived: true })).length, 3, 'the view')
      const second = await repository.findSession('s', { now })
      assertEqual(second?.number === first?.number, false, 'whether both have one number')
      await repository.commit('s', { ...commit, expectedSession: second?.number })
      assertEqual((await service.getEvents('s', { excludeArchived: true })).length, 0, 'then')
    },
  },
]
