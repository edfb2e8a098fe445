/** Erasing: the content of an event is gone, its place stays. */

import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import {
  ALL_EVENTS,
  boundaryCommit,
  createLog,
  idsOf,
  numbers,
  seqsOf,
  userEvent,
} from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const erasingCases: readonly StoreCase[] = [
  {
    name: 'erasing: the content is gone from every read, the place stays',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', [
        userEvent('before', 'a secret too'),
        userEvent('target', 'the secret', {
          metadata: { secret: 'key' },
          branch: 'a.b',
          timestamp: 5,
        }),
        userEvent('after'),
      ])
      await service.eraseEvent('s', 'target')
      const log = await service.getEvents('s')
      assertEqual(
        log[1],
        {
          id: 'target',
          sessionId: 's',
          seq: 2,
          timestamp: new Date(5),
          message: { role: 'user', content: '' },
          metadata: { erased: true },
          branch: 'a.b',
          synthetic: false,
          archived: false,
          rewound: false,
        },
        'the erased event',
      )
      assertEqual(seqsOf(log), [1, 2, 3], 'the seqs')
      assertEqual(
        idsOf(await service.getEvents('s', { keyword: 'secret' })),
        ['before'],
        'a search',
      )
      assertEqual(idsOf(await service.getEvents('s', { keywords: ['the secret'] })), [], 'a phrase')
      const found = await repository.findEvent('s', 'target', { now: clock.now })
      assertTrue(!JSON.stringify(found).includes('secret'), 'findEvent gives nothing of it')
      const recalled = await repository.recallEvents({
        now: clock.now,
        userId: 'ana',
        filter: { ...ALL_EVENTS, keyword: 'secret' },
        offset: 0,
        limit: 10,
      })
      assertEqual(idsOf(recalled.events), ['before'], 'what is recalled')
      assertEqual(await service.getEventVersion('s'), 3, 'the version')
    },
  },
  {
    name: 'erasing: appending it again does not bring it back',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      await service.appendEvent('s', userEvent('target', 'the secret'))
      await service.eraseEvent('s', 'target')
      const other = await openService()
      const again = await other.appendEvent('s', userEvent('target', 'the secret'))
      assertEqual(again.message.content, '', 'the text that the repeat gave')
      assertEqual(again.metadata, { erased: true }, 'its metadata')
      assertEqual(await other.getEvents('s', { keyword: 'secret' }), [], 'a search')
      assertEqual((await other.getEvents('s')).length, 1, 'how many events there are')
    },
  },
  {
    name: 'erasing: a large event, twice, and others of its size stay whole',
    async run({ service }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(3_000_000)
      for (const id of ['a', 'b', 'c'])
        await service.appendEvent('s', userEvent(id, `${id}${text}`))
      await service.eraseEvent('s', 'b')
      await service.eraseEvent('s', 'b')
      const log = await service.getEvents('s')
      assertEqual(
        log.map(({ message }) => (message.content as string).length),
        [3_000_001, 0, 3_000_001],
        'the lengths',
      )
      assertEqual(log[2]?.message.content === `c${text}`, true, 'the last text is the same')
    },
  },
  {
    name: 'erasing: archived events and summaries too, which stay what they are',
    async run({ service, repository, clock }) {
      await createLog(service, 4)
      await repository.commit(
        's',
        boundaryCommit(clock.now, { summaries: ['sum'], kept: [[4, 4]], through: 4 }),
      )
      await service.eraseEvent('s', 'e1')
      await service.eraseEvent('s', 'sum')
      const log = await service.getEvents('s')
      assertEqual(
        log.map(({ archived }) => archived),
        [true, true, true, false, false],
        'archived',
      )
      assertEqual(log[4]?.synthetic, true, 'synthetic of the summary')
      assertEqual(log[4]?.metadata, { erased: true, synthetic: true }, 'its metadata')
      assertEqual(await service.getEvents('s', { keyword: 'summary' }), [], 'a search for its text')
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e4'],
        'the view',
      )
    },
  },
  {
    name: 'erasing: an unknown event or session is refused',
    async run({ service, repository, clock }) {
      await createLog(service, 1)
      await assertFails(
        () => service.eraseEvent('s', 'nowhere'),
        'EVENT_NOT_FOUND',
        'an unknown event',
        ['nowhere'],
      )
      await assertFails(
        () => service.eraseEvent('nowhere', 'e1'),
        'SESSION_NOT_FOUND',
        'an unknown session',
      )
      const { now } = clock
      assertEqual(
        await repository.eraseEvent('s', 'nowhere', { now, body: '{}' }),
        false,
        'what the store says',
      )
    },
  },
  {
    name: 'erasing: while others append, nothing is lost',
    async run({ service, openService }) {
      await createLog(service, 10)
      const other = await openService()
      await Promise.all([
        ...numbers(1, 10).map((index) => service.eraseEvent('s', `e${index}`)),
        ...numbers(1, 10).map((index) => other.appendEvent('s', userEvent(`x${index}`))),
      ])
      const log = await service.getEvents('s')
      assertEqual(seqsOf(log), numbers(1, 20), 'the seqs')
      assertEqual(
        log.filter(({ metadata }) => metadata['erased']).length,
        10,
        'how many are erased',
      )
      assertEqual((await service.getEvents('s', { keyword: 'x' })).length, 10, 'how many are found')
    },
  },
]
