/** Recalling: all sessions of a user as one list by time. */

import { EventFilter } from '../../core/event-filter.ts'
import type { SessionRepository } from '../../core/session-repository.ts'
import { assertEqual, assertTrue } from '../assertions.ts'
import { boundaryCommit, createLog, idsOf, userEvent } from '../sample-events.ts'
import type { ManualClock, StoreCase } from '../store-case.ts'

async function recall(
  repository: SessionRepository,
  clock: ManualClock,
  filter: object = {},
  rest: { userId?: string; offset?: number; limit?: number } = {},
): Promise<string[]> {
  const answer = await repository.recallEvents({
    now: clock.now,
    userId: 'ana',
    filter: EventFilter.of(filter).toJSON(),
    offset: 0,
    limit: 100,
    ...rest,
  })
  assertEqual(answer.damage, [], 'the damage')
  return answer.events.map(({ sessionId, id }) => `${sessionId}/${id}`)
}

export const recallingCases: readonly StoreCase[] = [
  {
    name: 'recalling: by timestamp, then session id, then seq',
    async run({ service, repository, clock }) {
      for (const id of ['s2', 's10', 'S', 'é']) await service.create({ id })
      const at = (id: string, timestamp: number) => userEvent(id, 'x', { timestamp })
      await service.appendEvents('s2', [at('a', 300), at('b', 100), at('c', 300)])
      await service.appendEvents('s10', [at('a', 300), at('b', 200)])
      await service.appendEvents('S', [at('a', 300), at('b', 50)])
      await service.appendEvents('é', [at('a', 300)])
      assertEqual(
        await recall(repository, clock),
        ['S/b', 's2/b', 's10/b', 'S/a', 's10/a', 's2/a', 's2/c', 'é/a'],
        'the list',
      )
    },
  },
  {
    name: 'recalling: offset and limit cut one list, past its end there is nothing',
    async run({ service, repository, clock }) {
      const expected: string[] = []
      for (const id of ['a', 'b', 'c']) await service.create({ id })
      for (let index = 0; index < 30; index++) {
        const id = 'abc'.charAt((index * 2) % 3)
        await service.appendEvent(
          id,
          userEvent(`e${index}`, index % 5 ? 'hay' : 'needle', { timestamp: index }),
        )
        expected.push(`${id}/e${index}`)
      }
      assertEqual(await recall(repository, clock), expected, 'all')
      const walked: string[] = []
      for (let offset = 0; offset < 35; offset += 7) {
        walked.push(...(await recall(repository, clock, {}, { offset, limit: 7 })))
      }
      assertEqual(walked, expected, 'all pages together')
      assertEqual(await recall(repository, clock, {}, { offset: 30, limit: 7 }), [], 'past the end')
      const needles = expected.filter((_, index) => index % 5 === 0)
      assertEqual(await recall(repository, clock, { keyword: 'NEEDLE' }), needles, 'a search')
      assertEqual(
        await recall(repository, clock, { keyword: 'needle' }, { offset: 2, limit: 2 }),
        needles.slice(2, 4),
        'a page of a search',
      )
    },
  },
  {
    name: 'recalling: one user only, and no expired or deleted session',
    needs: ['users', 'clock'],
    async run({ service, repository, clock }) {
      await service.create({ id: 'mine' })
      await service.create({ id: 'theirs', userId: 'bo' })
      await service.create({ id: 'short', timeToLive: 1000 })
      await service.create({ id: 'gone' })
      for (const id of ['mine', 'theirs', 'short', 'gone']) {
        await service.appendEvent(id, userEvent('e', 'cedar', { timestamp: 5 }))
      }
      await service.delete('gone')
      assertEqual(
        await recall(repository, clock, { keyword: 'cedar' }),
        ['mine/e', 'short/e'],
        'before',
      )
      clock.now += 1000
      assertEqual(
        await recall(repository, clock, { keyword: 'cedar' }),
        ['mine/e'],
        'after the expiry',
      )
      assertEqual(
        await recall(repository, clock, {}, { userId: 'bo' }),
        ['theirs/e'],
        'the other user',
      )
      assertEqual(await recall(repository, clock, {}, { userId: 'nobody' }), [], 'nobody')
    },
  },
  {
    name: 'recalling: every other field of a filter counts',
    async run({ service, repository, clock }) {
      await service.create({ id: 'a' })
      await service.create({ id: 'b' })
      await service.appendEvents('a', [
        userEvent('1', 'red', { timestamp: 10 }),
        { id: '2', message: { role: 'assistant', content: 'Red and blue' }, timestamp: 20 },
        userEvent('3', 'red summary', { timestamp: 30, synthetic: true }),
        userEvent('4', 'red branch', { timestamp: 40, branch: 'x.y' }),
      ])
      await service.appendEvents('b', [
        userEvent('1', 'blue', { timestamp: 15 }),
        userEvent('2', 'green', { timestamp: 25 }),
      ])
      const find = (filter: object) => recall(repository, clock, filter)
      assertEqual(
        await find({ keywords: ['red', 'blue'] }),
        ['a/1', 'b/1', 'a/2', 'a/3', 'a/4'],
        'any',
      )
      assertEqual(await find({ keywords: ['red', 'blue'], matchMode: 'all' }), ['a/2'], 'all')
      assertEqual(await find({ from: 15, to: 25 }), ['b/1', 'a/2', 'b/2'], 'a time range')
      assertEqual(await find({ from: 30 }), ['a/3', 'a/4'], 'since')
      assertEqual(await find({ messageTypes: ['assistant'] }), ['a/2'], 'a message type')
      assertEqual(
        await find({ excludeSynthetic: true, keyword: 'red' }),
        ['a/1', 'a/2', 'a/4'],
        'real ones',
      )
      assertEqual(await find({ branch: 'x', keyword: 'red' }), ['a/1', 'a/2', 'a/3'], 'a branch')
      assertEqual(await find({ lastN: 1 }), await find({}), 'lastN has no meaning here')
    },
  },
  {
    name: 'recalling: archived events are found, rewound ones as the filter says',
    async run({ service, repository, clock }) {
      await createLog(service, 5)
      await repository.commit(
        's',
        boundaryCommit(clock.now, { kept: [[5, 5]], through: 5, rewound: [[3, 4]] }),
      )
      assertEqual((await recall(repository, clock)).length, 5, 'how many there are')
      assertEqual(
        await recall(repository, clock, { excludeRewound: true }),
        ['s/e1', 's/e2', 's/e5'],
        'without rewound ones',
      )
      assertEqual(await recall(repository, clock, { excludeArchived: true }), ['s/e5'], 'the view')
      const { events } = await repository.recallEvents({
        now: clock.now,
        userId: 'ana',
        filter: EventFilter.all().toJSON(),
        offset: 0,
        limit: 4,
      })
      assertEqual(idsOf(events), ['e1', 'e2', 'e3', 'e4'], 'the first four')
      assertEqual(
        events.map(({ archived, rewound }) => [archived, rewound]),
        [
          [true, false],
          [true, false],
          [false, true],
          [false, true],
        ],
        'archived and rewound',
      )
    },
  },
  {
    name: 'recalling: over many sessions',
    async run({ service, repository, clock }) {
      for (let index = 0; index < 130; index++) {
        const id = `s${index}`
        await service.create({ id })
        await service.appendEvent(
          id,
          userEvent('e', index % 10 ? 'hay' : 'needle', { timestamp: 1000 - index }),
        )
      }
      const expected = Array.from({ length: 13 }, (_, index) => `s${120 - index * 10}/e`)
      assertEqual(await recall(repository, clock, { keyword: 'needle' }), expected, 'the needles')
      assertEqual((await recall(repository, clock, {}, { offset: 128 })).length, 2, 'the last ones')
    },
  },
  {
    name: 'recalling: what is too large for one answer comes in several',
    async run({ service, repository, clock }) {
      const expected: string[] = []
      for (let index = 0; index < 12; index++) {
        const id = `s${index % 3}`
        await service.findOrCreate({ id })
        const text = `needle ${index} `.padEnd(1_500_000, 'x')
        await service.appendEvent(id, userEvent(`e${index}`, text, { timestamp: index }))
        expected.push(`${id}/e${index}`)
      }
      const recalled: string[] = []
      for (let complete = false; !complete; ) {
        const answer = await repository.recallEvents({
          now: clock.now,
          userId: 'ana',
          filter: EventFilter.of({ keyword: 'needle' }).toJSON(),
          offset: recalled.length,
          limit: 11 - recalled.length,
        })
        const size = answer.events.reduce((sum, event) => sum + event.body.length, 0)
        assertTrue(size <= 10 << 20, `an answer holds at most about 8 MiB, not ${size}`)
        assertTrue(answer.events.length > 0, 'an answer that is not complete has events')
        for (const { sessionId, id, body } of answer.events) {
          assertTrue(body.length > 1_500_000, 'the whole event')
          recalled.push(`${sessionId}/${id}`)
        }
        complete = answer.complete
      }
      assertEqual(recalled, expected.slice(0, 11), 'all answers together')
    },
  },
]
