/** Boundaries: what the active view is, from one commit on, and that the log itself never changes. */

import { assertEqual, assertFails, assertPresent } from '../assertions.ts'
import {
  boundaryCommit,
  createLog,
  eventRecord,
  idsOf,
  numbers,
  seqsOf,
  summaryRecord,
  userEvent,
  userEvents,
} from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const boundaryCases: readonly StoreCase[] = [
  {
    name: 'boundaries: without one the view is the whole log',
    async run({ service }) {
      const log = await createLog(service, 5)
      assertEqual(await service.getEvents('s', { excludeArchived: true }), log, 'the view')
      assertEqual(await service.getEvents('s'), log, 'the log')
    },
  },
  {
    name: 'boundaries: summaries first, then what is kept, then what came since',
    async run({ service, repository, clock }) {
      await createLog(service, 6)
      const { session, events } = await repository.commit(
        's',
        boundaryCommit(clock.now, {
          summaries: ['second', 'first'],
          kept: [
            [2, 2],
            [5, 6],
          ],
          through: 6,
          operationId: 'op',
        }),
      )
      assertEqual(
        session.boundary,
        {
          id: 'op',
          position: 8,
          summaries: [7, 8],
          kept: [
            [2, 2],
            [5, 6],
          ],
          rewound: [],
          appended: 2,
          createdAt: clock.now,
        },
        'the boundary',
      )
      assertEqual(
        events.map(({ id, seq, synthetic, archived }) => [id, seq, synthetic, archived]),
        [
          ['second', 7, true, false],
          ['first', 8, true, false],
        ],
        'the summaries',
      )
      await service.appendEvents('s', [userEvent('new1'), userEvent('new2')])
      const view = await service.getEvents('s', { excludeArchived: true })
      assertEqual(
        idsOf(view),
        ['second', 'first', 'e2', 'e5', 'e6', 'new1', 'new2'],
        'the view in its order',
      )
      assertEqual(seqsOf(view), [7, 8, 2, 5, 6, 9, 10], 'the seqs of the view')
      const log = await service.getEvents('s')
      assertEqual(seqsOf(log), numbers(1, 10), 'the seqs of the log')
      assertEqual(
        idsOf(log.filter(({ archived }) => archived)),
        ['e1', 'e3', 'e4'],
        'the archived events',
      )
    },
  },
  {
    name: 'boundaries: archiving changes nothing of an event but the derived flag',
    async run({ service, repository, clock }) {
      const before = await createLog(service, 4)
      clock.now += 5000
      await repository.commit('s', boundaryCommit(clock.now, { kept: [[4, 4]], through: 4 }))
      assertEqual(
        await service.getEvents('s'),
        before.map((event) => ({ ...event, archived: event.seq !== 4 })),
        'the log',
      )
      const found = await repository.findEvent('s', 'e1', { now: clock.now })
      assertEqual(found?.archived, true, 'archived, as findEvent gives it')
      const [repeat] = await service.appendEvents('s', [userEvent('e2')])
      assertEqual(repeat?.archived, true, 'archived, as a repeated append gives it')
      assertEqual((await service.findById('s'))?.eventCount, 4, 'eventCount')
    },
  },
  {
    name: 'boundaries: what was appended meanwhile is never covered',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      await service.appendEvents('s', [userEvent('m1'), userEvent('m2')])
      const { session } = await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['sum'], kept: [[4, 4]], through: 4 }),
      )
      assertEqual(session.boundary?.kept, [[4, 6]], 'what the boundary keeps')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e4', 'm1', 'm2'],
        'the view',
      )
    },
  },
  {
    name: 'boundaries: one that keeps nothing and covers nothing archives nothing',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      await repository.commit('s', boundaryCommit(clock.now, { kept: [], through: 0 }))
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1', 'e2', 'e3'],
        'the view',
      )
    },
  },
  {
    name: 'boundaries: a through beyond the log covers the log',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['sum'], kept: [[3, 99]], through: 99 }),
      )
      await service.appendEvent('s', userEvent('new'))
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e3', 'new'],
        'the view',
      )
    },
  },
  {
    name: 'boundaries: events of the same commit stand in the view after what is kept',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      const { now } = clock
      const { events } = await repository.commit('s', {
        now,
        events: [
          eventRecord('before'),
          summaryRecord('sum'),
          eventRecord('after'),
          eventRecord('e1'),
        ],
        boundary: { summaries: ['sum'], kept: [[2, 2]], through: 3, rewound: [] },
        operationId: 'op',
      })
      assertEqual(
        events.map(({ id, seq, archived }) => [id, seq, archived]),
        [
          ['before', 4, false],
          ['sum', 5, false],
          ['after', 6, false],
          ['e1', 1, true],
        ],
        'the result',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e2', 'before', 'after'],
        'the view',
      )
    },
  },
  {
    name: 'boundaries: a superseded summary stays in the log, archived',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['sum1'], kept: [[3, 3]], through: 3 }),
      )
      await service.appendEvents('s', [userEvent('e5'), userEvent('e6')])
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['sum2'], kept: [[6, 6]], through: 6 }),
      )
      const view = await service.getEvents('s', { excludeArchived: true })
      assertEqual(idsOf(view), ['sum2', 'e6'], 'the view')
      const log = await service.getEvents('s')
      assertEqual(idsOf(log), ['e1', 'e2', 'e3', 'sum1', 'e5', 'e6', 'sum2'], 'the log')
      assertEqual(
        log.map(({ archived }) => archived),
        [true, true, true, true, true, false, false],
        'archived',
      )
    },
  },
  {
    name: 'boundaries: a stored event may be a summary again, in the order that is said',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit('s', {
        now,
        events: [summaryRecord('sum2')],
        boundary: { summaries: ['sum2', 'e2'], kept: [[4, 4]], through: 4, rewound: [] },
      })
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum2', 'e2', 'e4'],
        'the view',
      )
      await repository.commit('s', {
        now,
        events: [],
        boundary: { summaries: ['e2', 'sum2'], kept: [[1, 5]], through: 5, rewound: [] },
      })
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e2', 'sum2', 'e1', 'e3', 'e4'],
        'the view then: no event twice',
      )
    },
  },
  {
    name: 'boundaries: an archived event may come back',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit('s', boundaryCommit(now, { kept: [[4, 4]], through: 4 }))
      await repository.commit('s', boundaryCommit(now, { kept: [[2, 4]], through: 4 }))
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e2', 'e3', 'e4'],
        'the view',
      )
    },
  },
  {
    name: 'boundaries: clearing archives all, and the log goes on',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      await repository.commit('s', boundaryCommit(clock.now, { kept: [], through: 3 }))
      assertEqual(await service.getEvents('s', { excludeArchived: true }), [], 'the view')
      assertEqual((await service.appendEvent('s', userEvent('next'))).seq, 4, 'the next seq')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['next'],
        'the view then',
      )
      assertEqual((await service.getEvents('s')).length, 4, 'how many events the log has')
    },
  },
  {
    name: 'boundaries: an unknown summary is refused and nothing stored',
    async run({ service, repository, clock }) {
      await createLog(service, 2)
      const { now } = clock
      await assertFails(
        () =>
          repository.commit('s', {
            now,
            events: [eventRecord('new')],
            boundary: { summaries: ['new', 'nowhere'], kept: [], through: 2, rewound: [] },
          }),
        'EVENT_NOT_FOUND',
        'a boundary that names an unknown summary',
        ['nowhere'],
      )
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2'], 'the log')
      assertEqual(await repository.readBoundaries('s', { now }), [], 'the boundaries')
      assertEqual(await service.getEventVersion('s'), 2, 'the version')
    },
  },
  {
    name: 'boundaries: an operation that is stored changes nothing and succeeds',
    async run({ service, repository, clock }) {
      await createLog(service, 3)
      const commit = boundaryCommit(clock.now, {
        summaries: ['sum'],
        kept: [[3, 3]],
        through: 3,
        operationId: 'op',
        expectedBoundary: null,
        expectedVersion: 3,
      })
      const first = await repository.commit('s', commit)
      await service.appendEvent('s', userEvent('since'))
      const again = await repository.commit('s', commit)
      assertEqual(again.events, first.events, 'the events of the result')
      assertEqual(again.session.boundary, first.session.boundary, 'the boundary')
      await repository.commit(
        's',
        boundaryCommit(clock.now, { kept: [], through: 5, operationId: 'op2' }),
      )
      const late = await repository.commit('s', commit)
      assertEqual(late.session.boundary?.id, 'op2', 'the boundary, when a repeat comes late')
      assertEqual(late.events[0]?.archived, true, 'archived of its summary then')
      const { now } = clock
      assertEqual(
        idsOf(await repository.readBoundaries('s', { now })),
        ['op', 'op2'],
        'the boundaries',
      )
      assertEqual(await service.getEvents('s', { excludeArchived: true }), [], 'the view')
    },
  },
  {
    name: 'boundaries: the same operation at once from two instances counts once',
    async run({ service, repository, open, clock }) {
      await createLog(service, 3)
      const other = await open()
      const commit = boundaryCommit(clock.now, {
        summaries: ['sum'],
        kept: [[3, 3]],
        through: 3,
        operationId: 'op',
        expectedBoundary: null,
      })
      const [first, second] = await Promise.all([
        repository.commit('s', commit),
        other.commit('s', commit),
      ])
      assertEqual(first.events, second.events, 'what both were given')
      const { now } = clock
      assertEqual(idsOf(await repository.readBoundaries('s', { now })), ['op'], 'the boundaries')
      assertEqual(await service.getEventVersion('s'), 4, 'the version')
    },
  },
  {
    name: 'boundaries: operation ids are scoped to the session',
    async run({ service, repository, clock }) {
      await createLog(service, 2, 's')
      await createLog(service, 2, 't')
      for (const id of ['s', 't']) {
        await repository.commit(
          id,
          boundaryCommit(clock.now, { kept: [], through: 2, operationId: 'op' }),
        )
        assertEqual(await service.getEvents(id, { excludeArchived: true }), [], `the view of ${id}`)
      }
    },
  },
  {
    name: 'boundaries: each one has an id of its own, given or not',
    async run({ service, repository, clock }) {
      await createLog(service, 2)
      const { now } = clock
      for (let index = 0; index < 3; index++) {
        await repository.commit('s', boundaryCommit(now, { kept: [], through: 2 }))
      }
      const ids = idsOf(await repository.readBoundaries('s', { now }))
      assertEqual(new Set(ids).size, 3, 'how many ids three boundaries have')
    },
  },
  {
    name: 'boundaries: all are kept and read, oldest first, or the one in force at an event',
    async run({ service, repository, clock }) {
      await createLog(service, 2)
      const { now } = clock
      const expected: unknown[] = []
      for (const name of ['one', 'two', 'three']) {
        const session = assertPresent(await repository.findSession('s', { now }), 'the session')
        const { session: next } = await repository.commit(
          's',
          boundaryCommit(now, {
            summaries: [`summary ${name}`],
            kept: [[session.lastSeq, session.lastSeq]],
            through: session.lastSeq,
            operationId: name,
          }),
        )
        expected.push(next.boundary)
        await service.appendEvents('s', [userEvent(`${name}-1`), userEvent(`${name}-2`)])
      }
      assertEqual<unknown>(
        await repository.readBoundaries('s', { now }),
        expected,
        'all boundaries',
      )
      // Positions are 3, 6 and 9; the log ends at 11.
      const inForce = async (beforeSeq: number) =>
        idsOf(await repository.readBoundaries('s', { now, beforeSeq }))
      assertEqual(await inForce(1), [], 'before seq 1')
      assertEqual(await inForce(3), [], 'before seq 3, the first boundary itself')
      assertEqual(await inForce(4), ['one'], 'before seq 4')
      assertEqual(await inForce(6), ['one'], 'before seq 6')
      assertEqual(await inForce(7), ['two'], 'before seq 7')
      assertEqual(await inForce(10), ['three'], 'before seq 10')
      assertEqual(await inForce(1e9), ['three'], 'before seq 1e9')
    },
  },
  {
    name: 'boundaries: two with no event between are in force one after the other',
    async run({ service, repository, clock }) {
      await createLog(service, 2)
      const { now } = clock
      for (const operationId of ['one', 'two']) {
        await repository.commit(
          's',
          boundaryCommit(now, { kept: [[2, 2]], through: 2, operationId }),
        )
      }
      await service.appendEvent('s', userEvent('e3'))
      assertEqual(idsOf(await repository.readBoundaries('s', { now })), ['one', 'two'], 'all')
      assertEqual(
        idsOf(await repository.readBoundaries('s', { now, beforeSeq: 3 })),
        ['two'],
        'in force before seq 3',
      )
    },
  },
  {
    name: 'boundaries: filters on the view keep its order',
    async run({ service, repository, clock }) {
      await createLog(service, 6)
      await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['e summary'], kept: [[4, 6]], through: 6 }),
      )
      await service.appendEvents('s', [userEvent('e8'), userEvent('other')])
      const view = (filter: object) => service.getEvents('s', { excludeArchived: true, ...filter })
      assertEqual(
        idsOf(await view({ keyword: 'e' })),
        ['e summary', 'e4', 'e5', 'e6', 'e8', 'other'],
        'all with an e',
      )
      assertEqual(idsOf(await view({ lastN: 3 })), ['e6', 'e8', 'other'], 'the last three')
      assertEqual(
        idsOf(await view({ lastN: 99 })),
        ['e summary', 'e4', 'e5', 'e6', 'e8', 'other'],
        'the last 99',
      )
      assertEqual(
        idsOf(await view({ page: 0, pageSize: 2 })),
        ['e summary', 'e4'],
        'the first page',
      )
      assertEqual(idsOf(await view({ page: 2, pageSize: 2 })), ['e8', 'other'], 'the third page')
      assertEqual(
        idsOf(await view({ page: 1, pageSize: 3, keyword: 'e' })),
        ['e6', 'e8', 'other'],
        'the second page of a search',
      )
      assertEqual(
        idsOf(await view({ excludeSynthetic: true, lastN: 5 })),
        ['e4', 'e5', 'e6', 'e8', 'other'],
        'without the summary',
      )
      assertEqual(idsOf(await view({ messageTypes: ['assistant'] })), ['e summary'], 'assistant')
    },
  },
  {
    name: 'boundaries: archived events are found by every other filter',
    async run({ service, repository, clock }) {
      await createLog(service, 30)
      for (let index = 0; index < 3; index++) {
        const session = assertPresent(
          await repository.findSession('s', { now: clock.now }),
          'the session',
        )
        await repository.commit(
          's',
          boundaryCommit(clock.now, {
            summaries: [`sum${index}`],
            kept: [[28, 30]],
            through: session.lastSeq,
          }),
        )
      }
      const found = await service.getEvents('s', { keyword: 'e3', excludeSynthetic: true })
      assertEqual(idsOf(found), ['e3', 'e30'], 'a search, each event once')
      assertEqual(
        found.map(({ archived }) => archived),
        [true, false],
        'archived',
      )
      assertEqual((await service.getEvents('s')).length, 33, 'how many events there are')
    },
  },
  {
    name: 'boundaries: one that archives 5,000 events',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      for (let batch = 0; batch < 5; batch++) {
        await service.appendEvents('s', userEvents(1000, `b${batch}-`))
      }
      await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['sum'], kept: [[4999, 5000]], through: 5000 }),
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'b4-999', 'b4-1000'],
        'the view',
      )
      const [oldest] = await service.getEvents('s', { page: 0, pageSize: 1 })
      assertEqual(oldest?.archived, true, 'archived of the oldest event')
    },
  },
]
