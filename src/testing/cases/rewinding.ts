/** Rewinding: events that a boundary takes out as rewound, which stays so. */

import { assertEqual } from '../assertions.ts'
import { boundaryCommit, createLog, idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const rewindingCases: readonly StoreCase[] = [
  {
    name: 'rewinding: null beside the named event means that it is not given',
    async run({ service }) {
      await createLog(service, 4)
      assertEqual(await service.rewind('s', { before: 'e4', after: null }), 1, 'before e4')
      assertEqual(await service.rewind('s', { before: null, after: 'e2' }), 1, 'after e2')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1', 'e2'],
        'the view',
      )
    },
  },
  {
    name: 'rewinding: rewound is not archived, and the log has it still',
    async run({ service, repository, clock }) {
      await createLog(service, 5)
      await repository.commit(
        's',
        boundaryCommit(clock.now, { kept: [[1, 3]], through: 5, rewound: [[4, 5]] }),
      )
      const log = await service.getEvents('s')
      assertEqual(
        log.map(({ archived, rewound }) => [archived, rewound]),
        [
          [false, false],
          [false, false],
          [false, false],
          [false, true],
          [false, true],
        ],
        'archived and rewound of the log',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1', 'e2', 'e3'],
        'the view',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeRewound: true })),
        ['e1', 'e2', 'e3'],
        'the log without what was rewound',
      )
      const found = await repository.findEvent('s', 'e5', { now: clock.now })
      assertEqual([found?.archived, found?.rewound], [false, true], 'as findEvent gives it')
    },
  },
  {
    name: 'rewinding: what is rewound stays so over later boundaries, whatever they keep',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, { kept: [[1, 2]], through: 4, rewound: [[3, 4]] }),
      )
      await service.appendEvents('s', [userEvent('e5'), userEvent('e6')])
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['sum'], kept: [[3, 6]], through: 6 }),
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e5', 'e6'],
        'the view',
      )
      await repository.commit(
        's',
        boundaryCommit(now, { kept: [[1, 5]], through: 7, rewound: [[6, 7]] }),
      )
      const log = await service.getEvents('s')
      assertEqual(idsOf(log.filter(({ rewound }) => rewound)), ['e3', 'e4', 'e6', 'sum'], 'rewound')
      assertEqual(idsOf(log.filter(({ archived }) => archived)), [], 'archived')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeRewound: true })),
        ['e1', 'e2', 'e5'],
        'the log without what was rewound',
      )
    },
  },
  {
    name: 'rewinding: to a view with the summaries of then',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['sum1'], kept: [[4, 4]], through: 4 }),
      )
      await service.appendEvents('s', [userEvent('e6'), userEvent('e7')])
      await repository.commit(
        's',
        boundaryCommit(now, { summaries: ['sum2'], kept: [[7, 7]], through: 7 }),
      )
      await service.appendEvent('s', userEvent('e9'))
      // Back to before e7: the first summary is the view's again, e7 and all later ones are rewound.
      await repository.commit('s', {
        now,
        events: [],
        boundary: {
          summaries: ['sum1'],
          kept: [
            [4, 4],
            [6, 6],
          ],
          through: 9,
          rewound: [[7, 9]],
        },
        operationId: 'rewind',
      })
      await service.appendEvent('s', userEvent('edited'))
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum1', 'e4', 'e6', 'edited'],
        'the view',
      )
      const log = await service.getEvents('s')
      assertEqual(idsOf(log.filter(({ archived }) => archived)), ['e1', 'e2', 'e3'], 'archived')
      assertEqual(idsOf(log.filter(({ rewound }) => rewound)), ['e7', 'sum2', 'e9'], 'rewound')
    },
  },
  {
    name: 'rewinding: events appended meanwhile stay in the view',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      await service.appendEvent('s', userEvent('meanwhile'))
      await repository.commit(
        's',
        boundaryCommit(clock.now, { kept: [[1, 2]], through: 4, rewound: [[3, 4]] }),
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1', 'e2', 'meanwhile'],
        'the view',
      )
    },
  },
  {
    name: 'rewinding: pages, the newest and searches count without what is excluded',
    async run({ service, repository, clock }) {
      await createLog(service, 10)
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          kept: [[8, 10]],
          through: 10,
          rewound: [
            [2, 3],
            [6, 7],
          ],
        }),
      )
      const read = async (filter: object) =>
        idsOf(await service.getEvents('s', { excludeRewound: true, ...filter }))
      assertEqual(await read({}), ['e1', 'e4', 'e5', 'e8', 'e9', 'e10'], 'all')
      assertEqual(await read({ lastN: 4 }), ['e5', 'e8', 'e9', 'e10'], 'the last four')
      assertEqual(await read({ page: 1, pageSize: 2 }), ['e5', 'e8'], 'the second page')
      assertEqual(await read({ keyword: 'e', page: 1, pageSize: 2 }), ['e5', 'e8'], 'of a search')
      assertEqual(await read({ excludeArchived: true }), ['e8', 'e9', 'e10'], 'the view')
    },
  },
  {
    name: 'rewinding: naming a rewound event as a summary does not bring it back',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      const { now } = clock
      await repository.commit(
        's',
        boundaryCommit(now, { kept: [[1, 2]], through: 4, rewound: [[3, 4]] }),
      )
      const { session } = await repository.commit('s', {
        now,
        events: [],
        boundary: { summaries: ['e4', 'e1'], kept: [[2, 2]], through: 4, rewound: [[2, 2]] },
      })
      assertEqual(session.boundary?.summaries, [1], 'the summaries of the boundary')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['e1'],
        'the view',
      )
      const log = await service.getEvents('s')
      assertEqual(idsOf(log.filter(({ rewound }) => rewound)), ['e2', 'e3', 'e4'], 'rewound')
      assertEqual(idsOf(await service.getEvents('s', { excludeRewound: true })), ['e1'], 'the rest')
    },
  },
]
