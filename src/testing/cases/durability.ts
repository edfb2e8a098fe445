/** Durability: what was acknowledged is there for whoever opens the store next. */

import { assertEqual } from '../assertions.ts'
import { boundaryCommit, createLog, idsOf, numbers, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const durabilityCases: readonly StoreCase[] = [
  {
    name: 'durability: a new instance sees everything at once',
    async run({ service, repository, openService, open, clock }) {
      await createLog(service, 3)
      await service.update('s', { metadata: { title: 'x' } })
      assertEqual((await (await openService()).getEvents('s')).length, 3, 'how many events')
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          summaries: ['sum'],
          kept: [[3, 3]],
          through: 3,
          operationId: 'op',
        }),
      )
      const other = await openService()
      assertEqual(await other.findById('s'), await service.findById('s'), 'the session')
      assertEqual(
        idsOf(await other.getEvents('s', { excludeArchived: true })),
        ['sum', 'e3'],
        'the view',
      )
      const { now } = clock
      assertEqual(
        await (await open()).readBoundaries('s', { now }),
        await repository.readBoundaries('s', { now }),
        'the boundaries',
      )
    },
  },
  {
    name: 'durability: closing all instances loses nothing, and numbering goes on',
    async run({ service, openService }) {
      await createLog(service, 3)
      await service.close()
      const second = await openService()
      assertEqual((await second.appendEvent('s', userEvent('e4'))).seq, 4, 'the next seq')
      assertEqual((await second.appendEvent('s', userEvent('e2'))).seq, 2, 'the seq of a repeat')
      await second.create({ id: 't' })
      await second.close()
      const third = await openService()
      assertEqual((await third.getEvents('s')).length, 4, 'how many events')
      await third.create({ id: 'u' })
      const { sessions } = await third.listSessions({ order: 'created' })
      assertEqual(idsOf(sessions), ['s', 't', 'u'], 'the sessions, in the order of their creation')
    },
  },
  {
    name: 'durability: an eviction after every write loses and doubles nothing',
    needs: ['evict'],
    async run({ service, repository, evict, clock }) {
      await service.create({ id: 's', timeToLive: { sliding: 1_000_000 }, metadata: { a: 1 } })
      await evict()
      for (const index of numbers(1, 5)) {
        assertEqual((await service.appendEvent('s', userEvent(`e${index}`))).seq, index, 'the seq')
        await evict()
      }
      assertEqual((await service.appendEvent('s', userEvent('e2'))).seq, 2, 'the seq of a repeat')
      await evict()
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          summaries: ['sum'],
          kept: [[5, 5]],
          through: 5,
          operationId: 'op',
        }),
      )
      await evict()
      assertEqual(
        idsOf(await service.getEvents('s', { excludeArchived: true })),
        ['sum', 'e5'],
        'the view',
      )
      assertEqual(await service.getEventVersion('s'), 6, 'the version')
      await service.eraseEvent('s', 'e1')
      await evict()
      assertEqual(
        await service.getEvents('s', { keyword: 'e1' }),
        [],
        'a search for an erased text',
      )
      await service.delete('s')
      await evict()
      assertEqual(await service.findById('s'), null, 'the deleted session')
    },
  },
  {
    name: 'durability: an eviction in the middle of an iteration does not show',
    needs: ['evict'],
    async run({ service, evict }) {
      await service.create({ id: 's' })
      const text = 'x'.repeat(1_500_000)
      for (const index of numbers(1, 8))
        await service.appendEvent('s', userEvent(`e${index}`, text))
      const seen: string[] = []
      for await (const event of service.iterateEvents('s')) {
        seen.push(event.id)
        await evict()
      }
      assertEqual(
        seen,
        numbers(1, 8).map((index) => `e${index}`),
        'what the iteration gave',
      )
    },
  },
]
