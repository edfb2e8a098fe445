/** Reading: every field of a filter, alone and together, and the snapshot that a read sees. */

import { EventFilter } from '../../core/event-filter.ts'
import type { Message, MessageType } from '../../core/message.ts'
import type { EventInput } from '../../core/session.ts'
import type { SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails, assertPresent, assertTrue } from '../assertions.ts'
import {
  ALL_EVENTS,
  boundaryCommit,
  createLog,
  idsOf,
  numbers,
  seqsOf,
  userEvent,
  userEvents,
} from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

const ROLES: readonly MessageType[] = ['system', 'user', 'assistant', 'tool']

/** A log with every role, branches, summaries and times out of order. */
async function createVariedLog(service: SessionService): Promise<void> {
  await service.create({ id: 's' })
  const events: EventInput[] = Array.from({ length: 24 }, (_, index) => {
    const role = ROLES[index % 4] as MessageType
    const content =
      role === 'tool'
        ? [
            {
              type: 'tool-result',
              toolCallId: `c${index}`,
              toolName: 't',
              output: { type: 'text', value: 'red' },
            },
          ]
        : `${role} ${index % 3 === 0 ? 'red' : 'blue'} ${index}`
    return {
      id: `e${index + 1}`,
      message: { role, content } as Message,
      timestamp: 1_000_000 + ((index * 7) % 24) * 1000,
      branch: [null, 'a', 'a.b', 'c'][(index >> 2) % 4] ?? null,
      synthetic: index % 11 === 5,
    }
  })
  await service.appendEvents('s', events)
}

const FILTERS: readonly object[] = [
  {},
  { messageTypes: ['user'] },
  { messageTypes: ['tool', 'system'] },
  { messageTypes: [] },
  { excludeSynthetic: true },
  { from: 1_005_000 },
  { to: 1_005_000 },
  { from: 1_005_000, to: 1_005_000 },
  { from: 1_003_001, to: 1_019_999 },
  { from: 2, to: 1 },
  { from: 1_019_000, to: 1_003_000 },
  { branch: 'a' },
  { branch: 'a.b' },
  { branch: 'a.b.c' },
  { branch: 'none' },
  { branch: '' },
  { keyword: 'RED' },
  { keyword: '  ' },
  { keyword: 'nowhere' },
  { keywords: ['red', 'user'], matchMode: 'any' },
  { keywords: ['red', 'user'], matchMode: 'all' },
  { keywords: ['', ' '], matchMode: 'all' },
  { keyword: 'blue', keywords: ['1'] },
  { lastN: 5 },
  { lastN: 24 },
  { lastN: 1_000_000 },
  { lastN: 3, keyword: 'red' },
  { lastN: 2, messageTypes: ['assistant'], branch: 'c' },
  { page: 0, pageSize: 5 },
  { page: 4, pageSize: 5 },
  { page: 5, pageSize: 5 },
  { page: 1_000_000_000, pageSize: 1_000_000 },
  { pageSize: 7 },
  { page: 1, pageSize: 2, keyword: 'red' },
  { page: 1, pageSize: 3, from: 1_002_000, excludeSynthetic: true },
  {
    from: 1_002_000,
    to: 1_020_000,
    messageTypes: ['user', 'assistant'],
    branch: 'a',
    keyword: 'e',
    lastN: 4,
  },
]

export const readingCases: readonly StoreCase[] = [
  {
    name: 'reading: every filter gives what apply gives over the whole log',
    async run({ service }) {
      await createVariedLog(service)
      const log = await service.getEvents('s')
      assertEqual(seqsOf(log), numbers(1, 24), 'the seqs of the log')
      for (const options of FILTERS) {
        for (const more of [{}, { excludeRewound: true }]) {
          const filter = EventFilter.of({ ...options, ...more })
          assertEqual(
            await service.getEvents('s', filter),
            filter.apply(log),
            JSON.stringify({ ...options, ...more }),
          )
        }
      }
    },
  },
  {
    name: 'reading: every filter on the view gives what apply gives over the view',
    async run({ service, repository, clock }) {
      await createVariedLog(service)
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          summaries: ['red sum', 'blue sum'],
          kept: [
            [3, 3],
            [8, 10],
            [15, 22],
          ],
          through: 23,
          rewound: [[9, 9]],
        }),
      )
      await service.appendEvents('s', userEvents(3, 'red since '))
      const view = await service.getEvents('s', { excludeArchived: true })
      assertEqual(seqsOf(view), [25, 26, 3, 8, 10, ...numbers(15, 22), 24, 27, 28, 29], 'the view')
      const log = await service.getEvents('s')
      for (const options of FILTERS) {
        const active = EventFilter.of({ ...options, excludeArchived: true })
        assertEqual(
          await service.getEvents('s', active),
          active.apply(view),
          `of the view: ${JSON.stringify(options)}`,
        )
        const kept = EventFilter.of({ ...options, excludeRewound: true })
        assertEqual(
          await service.getEvents('s', kept),
          kept.apply(log),
          `of the log: ${JSON.stringify(options)}`,
        )
      }
    },
  },
  {
    name: 'reading: an empty log gives nothing to every filter',
    async run({ service }) {
      await service.create({ id: 's' })
      for (const options of FILTERS) {
        for (const more of [{}, { excludeArchived: true }]) {
          assertEqual(
            await service.getEvents('s', { ...options, ...more }),
            [],
            JSON.stringify({ ...options, ...more }),
          )
        }
      }
    },
  },
  {
    name: 'reading: a branch sees itself, its ancestors by segments, and the root',
    async run({ service }) {
      await service.create({ id: 's' })
      const long = `root.${'x'.repeat(60)}`
      const branches = [
        null,
        'root',
        'root.agent_1',
        'root.agent_10',
        'root.agentX1',
        'root.agent_1.x',
        'root.%',
        long,
        '',
      ]
      await service.appendEvents(
        's',
        branches.map((branch, index) =>
          userEvent(branch || `(${branch})`, `text ${index}`, { branch }),
        ),
      )
      const visible = async (branch: string) => idsOf(await service.getEvents('s', { branch }))
      assertEqual(
        await visible('root.agent_10'),
        ['(null)', 'root', 'root.agent_10'],
        'root.agent_10',
      )
      assertEqual(await visible('root.agent_1'), ['(null)', 'root', 'root.agent_1'], 'root.agent_1')
      assertEqual(
        await visible('root.agent_1.x'),
        ['(null)', 'root', 'root.agent_1', 'root.agent_1.x'],
        'root.agent_1.x',
      )
      assertEqual(await visible('root.%'), ['(null)', 'root', 'root.%'], 'root.%')
      assertEqual(await visible(long), ['(null)', 'root', long], 'a branch of 65 characters')
      assertEqual(await visible(''), ['(null)', '()'], 'the empty branch')
      assertEqual(await visible('Root'), ['(null)'], 'another case')
      assertEqual(await visible('roo'), ['(null)'], 'a beginning of a segment')
    },
  },
  {
    name: 'reading: filters that are none are refused by field, before anything is read',
    async run({ service }) {
      await createLog(service, 3)
      const bad: readonly (readonly [string, object])[] = [
        ['lastN', { lastN: 0 }],
        ['lastN', { lastN: -1 }],
        ['lastN', { lastN: 2.5 }],
        ['lastN', { lastN: '5' }],
        ['lastN', { lastN: Number.NaN }],
        ['lastN', { lastN: 5, pageSize: 5 }],
        ['page', { page: 0 }],
        ['page', { page: -1, pageSize: 5 }],
        ['pageSize', { pageSize: 0 }],
        ['pageSize', { pageSize: 1e300 }],
        ['from', { from: '2026-03-02' }],
        ['to', { to: '2026-03-02T08:00:00' }],
        ['to', { to: Number.NaN }],
        ['from', { from: new Date('garbage') }],
        ['messageTypes', { messageTypes: ['robot'] }],
        ['messageTypes', { messageTypes: 'user' }],
        ['keyword', { keyword: 5 }],
        ['keywords', { keywords: ['a', 5] }],
        ['matchMode', { keywords: ['a'], matchMode: 'none' }],
        ['excludeArchived', { excludeArchived: 'false' }],
        ['branch', { branch: 5 }],
        ['since', { since: 5 }],
      ]
      for (const [field, filter] of bad) {
        await assertFails(
          () => service.getEvents('s', filter),
          'INVALID_FILTER',
          JSON.stringify(filter),
          [field],
        )
      }
    },
  },
  {
    name: 'reading: events after a seq, to follow a log',
    async run({ service, repository, clock }) {
      await createLog(service, 6)
      const after = async (afterSeq: number, filter: object = {}) => {
        const events = []
        for await (const event of service.iterateEvents('s', filter, { afterSeq }))
          events.push(event)
        return idsOf(events)
      }
      assertEqual(await after(0), ['e1', 'e2', 'e3', 'e4', 'e5', 'e6'], 'after 0')
      assertEqual(await after(4), ['e5', 'e6'], 'after 4')
      assertEqual(await after(6), [], 'after the last')
      assertEqual(await after(1000), [], 'after a seq that is none yet')
      assertEqual(await after(2, { keyword: 'e', page: 1, pageSize: 2 }), ['e5', 'e6'], 'a page')
      assertEqual(await after(4, { lastN: 5 }), ['e5', 'e6'], 'the last five after 4')
      await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['sum'], kept: [[4, 6]], through: 6 }),
      )
      assertEqual(await after(5), ['e6', 'sum'], 'after 5, with a summary')
      assertEqual(await after(5, { excludeArchived: true }), ['sum', 'e6'], 'after 5 of the view')
    },
  },
  {
    name: 'reading: findEvent gives one event by its id',
    async run({ service, repository, clock }) {
      const [, second] = await createLog(service, 3)
      const { now } = clock
      const found = assertPresent(await repository.findEvent('s', 'e2', { now }), 'the event')
      assertEqual(found.seq, 2, 'its seq')
      assertEqual(found.timestamp, second?.timestamp.getTime(), 'its timestamp')
      assertEqual<unknown>(
        JSON.parse(found.body),
        { message: { role: 'user', content: 'e2' }, metadata: {} },
        'its body',
      )
      assertEqual(await repository.findEvent('s', 'E2', { now }), null, 'another case')
      assertEqual(await repository.findEvent('s', 'e', { now }), null, 'a beginning of an id')
    },
  },
  {
    name: 'reading: messages come as they were given',
    async run({ service }) {
      await service.create({ id: 's' })
      const messages: Message[] = [
        { role: 'system', content: 'Be polite.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] as never },
        { role: 'assistant', content: 'Hello!' },
      ]
      for (const message of messages) await service.appendMessage('s', message)
      assertEqual(await service.getMessages('s'), messages, 'all messages')
      assertEqual(await service.getMessages('s', { lastN: 1 }), messages.slice(-1), 'the last')
    },
  },
  {
    name: 'reading: an iteration sees the log as it was at its start',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(1_500_000)
      for (let index = 1; index <= 8; index++)
        await service.appendEvent('s', userEvent(`e${index}`, text))
      const other = await openService()
      const seen: string[] = []
      for await (const event of service.iterateEvents('s')) {
        seen.push(event.id)
        if (seen.length <= 3) await other.appendEvent('s', userEvent(`late${seen.length}`))
      }
      assertEqual(
        seen,
        numbers(1, 8).map((index) => `e${index}`),
        'what the iteration gave',
      )
      assertEqual((await service.getEvents('s')).length, 11, 'how many events there are then')
    },
  },
  {
    name: 'reading: an iteration of the view goes on with the view of its start',
    async run({ service, openService, open, clock }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(1_500_000)
      for (let index = 1; index <= 8; index++)
        await service.appendEvent('s', userEvent(`e${index}`, text))
      const repository = await open()
      const other = await openService()
      const seen: string[] = []
      for await (const event of service.iterateEvents('s', { excludeArchived: true })) {
        seen.push(event.id)
        assertTrue(!event.archived, 'no event of the view is archived')
        if (seen.length === 1) {
          await repository.commit(
            's',
            boundaryCommit(clock.now, { summaries: ['sum'], kept: [[8, 8]], through: 8 }),
          )
          await other.appendEvent('s', userEvent('late'))
        }
      }
      assertEqual(
        seen,
        numbers(1, 8).map((index) => `e${index}`),
        'what the iteration gave',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e8', 'late'],
        'the view then',
      )
    },
  },
  {
    name: 'reading: an iteration that is abandoned half-way holds nothing up',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(1_500_000)
      for (let index = 1; index <= 8; index++)
        await service.appendEvent('s', userEvent(`e${index}`, text))
      for await (const event of service.iterateEvents('s')) {
        if (event.seq === 2) break
      }
      const iterator = service.iterateEvents('s')[Symbol.asyncIterator]()
      assertEqual((await iterator.next()).value?.id, 'e1', 'the first event of another iteration')
      await repository.commit('s', boundaryCommit(clock.now, { kept: [[8, 8]], through: 8 }))
      assertEqual((await service.appendEvent('s', userEvent('e9'))).seq, 9, 'the next seq')
      assertEqual(idsOf(await service.getEvents('s', { lastN: 1 })), ['e9'], 'the last event')
    },
  },
  {
    name: 'reading: a deletion in the middle of an iteration ends it with a typed error',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(1_500_000)
      for (let index = 1; index <= 8; index++)
        await service.appendEvent('s', userEvent(`e${index}`, text))
      const other = await openService()
      await assertFails(
        async () => {
          for await (const event of service.iterateEvents('s')) {
            if (event.seq === 1) await other.delete('s')
          }
        },
        'SESSION_NOT_FOUND',
        'the iteration',
      )
    },
  },
  {
    name: 'reading: one answer is bounded, and its cursor gives the rest',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      for (let index = 1; index <= 12; index++) {
        await service.appendEvent('s', userEvent(`e${index}`, `${index} `.padEnd(1_500_000, 'y')))
      }
      const { now } = clock
      const walk = async (filter: object) => {
        const ids: string[] = []
        let answers = 0
        let cursor: Awaited<ReturnType<typeof repository.readEvents>>['next'] | undefined
        do {
          const answer = await repository.readEvents('s', {
            now,
            filter: EventFilter.of(filter).toJSON(),
            cursor: cursor ?? undefined,
          })
          const size = answer.events.reduce((sum, event) => sum + event.body.length, 0)
          assertTrue(size <= 10 << 20, `an answer holds at most about 8 MiB, not ${size}`)
          ids.push(...idsOf(answer.events))
          answers++
          assertTrue(answers <= 12, 'answers that come to an end')
          cursor = answer.next
        } while (cursor !== null)
        assertTrue(answers > 1, 'more than one answer')
        return ids
      }
      const all = numbers(1, 12).map((index) => `e${index}`)
      assertEqual(await walk({}), all, 'all')
      assertEqual(await walk({ lastN: 9 }), all.slice(3), 'the last nine')
      assertEqual(await walk({ keyword: 'y', lastN: 9 }), all.slice(3), 'the last nine of a search')
      assertEqual(await walk({ keyword: 'y' }), all, 'a search')
      assertEqual(await walk({ keyword: 'y', page: 1, pageSize: 5 }), all.slice(5, 10), 'a page')
      assertEqual(await walk({ page: 0, pageSize: 8 }), all.slice(0, 8), 'a page without a search')
      assertEqual(ALL_EVENTS, EventFilter.all().toJSON(), 'the filter of all events')
    },
  },
  {
    name: 'reading: many read while many append, and each sees a log without gaps',
    async run({ service, openService }) {
      await createLog(service, 10)
      const other = await openService()
      const readings = Array.from({ length: 10 }, async (_, index) => {
        await other.appendEvents('s', [userEvent(`a${index}`), userEvent(`b${index}`)])
        const log = await service.getEvents('s')
        assertEqual(seqsOf(log), numbers(1, log.length), 'the seqs that a reader sees')
        const position = log.findIndex(({ id }) => id === `a${index}`)
        assertTrue(position >= 0, 'a reader sees what was acknowledged before')
        assertEqual(log[position + 1]?.id, `b${index}`, 'a batch stands together')
        return log.length
      })
      await Promise.all(readings)
      assertEqual((await service.getEvents('s')).length, 30, 'how many events there are')
    },
  },
]
