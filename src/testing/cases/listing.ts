/** Listing a user's sessions: two orders, pages that neither miss nor repeat. */

import type { ListSessionsOptions, SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import { idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** A store whose pages go round in circles must not hold up the suite. */
const LONGEST_LIST = 1000

async function listAll(service: SessionService, options: ListSessionsOptions): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const page = await service.listSessions({ ...options, cursor })
    ids.push(...idsOf(page.sessions))
    cursor = page.cursor
    assertTrue(ids.length <= LONGEST_LIST, 'pages that come to an end')
  } while (cursor !== null)
  return ids
}

export const listingCases: readonly StoreCase[] = [
  {
    name: 'listing: nobody has none',
    async run({ service }) {
      assertEqual(await service.listSessions(), { sessions: [], cursor: null }, 'the page')
    },
  },
  {
    name: 'listing: recent is by the last event, or the creation of an empty one, newest first',
    async run({ service, clock }) {
      const start = clock.now
      for (const id of ['a', 'b', 'c', 'd']) {
        await service.create({ id })
        clock.now += 1000
      }
      await service.appendEvent('b', userEvent('1', 'x', { timestamp: start + 1500 }))
      await service.appendEvent('a', userEvent('1', 'x', { timestamp: start + 9000 }))
      await service.appendEvent('c', userEvent('1', 'x', { timestamp: start + 100 }))
      assertEqual(await listAll(service, {}), ['a', 'd', 'b', 'c'], 'recent')
      assertEqual(await listAll(service, { order: 'created' }), ['a', 'b', 'c', 'd'], 'created')
      await service.appendEvent('c', userEvent('2', 'x', { timestamp: start + 9001 }))
      assertEqual(await listAll(service, { order: 'recent' }), ['c', 'a', 'd', 'b'], 'recent then')
      const { sessions } = await service.listSessions({ limit: 1 })
      assertEqual(sessions[0] ?? null, await service.findById('c'), 'the listed session, whole')
    },
  },
  {
    name: 'listing: sessions of one moment stand in the order of their creation, page by page',
    async run({ service }) {
      const ids = Array.from({ length: 25 }, (_, index) => `s${(index * 7) % 25}`)
      for (const id of ids) await service.create({ id })
      for (const limit of [1, 3, 25, 26]) {
        assertEqual(await listAll(service, { order: 'created', limit }), ids, `created by ${limit}`)
        assertEqual(
          await listAll(service, { order: 'recent', limit }),
          [...ids].reverse(),
          `recent by ${limit}`,
        )
      }
    },
  },
  {
    name: 'listing: a full last page has no cursor to an empty one',
    async run({ service }) {
      for (const id of ['a', 'b', 'c', 'd']) await service.create({ id })
      const first = await service.listSessions({ order: 'created', limit: 2 })
      const second = await service.listSessions({
        order: 'created',
        limit: 2,
        cursor: first.cursor,
      })
      assertEqual(idsOf(second.sessions), ['c', 'd'], 'the second page')
      assertEqual(second.cursor, null, 'its cursor')
    },
  },
  {
    name: 'listing: each user sees only their own',
    needs: ['users'],
    async run({ service }) {
      for (const [id, userId] of [
        ['a', 'ana'],
        ['b', 'bo'],
        ['c', 'ana'],
        ['d', 'Ana'],
        ['e', 'ana '],
        ['f', 'an'],
        ['g', 'anaa'],
      ] as const) {
        await service.create({ id, userId })
      }
      assertEqual(await listAll(service, { userId: 'ana', order: 'created' }), ['a', 'c'], 'ana')
      assertEqual(await listAll(service, { userId: 'bo' }), ['b'], 'bo')
      assertEqual(await listAll(service, { userId: 'Ana' }), ['d'], 'Ana')
      assertEqual(await listAll(service, { userId: 'ana ' }), ['e'], 'ana with a space')
      assertEqual(await listAll(service, { userId: 'nobody' }), [], 'nobody')
    },
  },
  {
    name: 'listing: expired and deleted ones are left out, and pages stay full',
    needs: ['clock'],
    async run({ service, clock }) {
      for (let index = 0; index < 12; index++) {
        await service.create({ id: `s${index}`, timeToLive: index % 3 === 0 ? 1000 : 9000 })
      }
      await service.delete('s1')
      clock.now += 1000
      const expected = ['s2', 's4', 's5', 's7', 's8', 's10', 's11']
      const page = await service.listSessions({ order: 'created', limit: 3 })
      assertEqual(idsOf(page.sessions), expected.slice(0, 3), 'the first page')
      assertEqual(await listAll(service, { order: 'created', limit: 3 }), expected, 'all pages')
    },
  },
  {
    name: 'listing: a session that comes or goes between two pages moves no other',
    async run({ service, clock }) {
      for (let index = 0; index < 6; index++) {
        await service.create({ id: `s${index}` })
        clock.now += 1000
      }
      const first = await service.listSessions({ limit: 2 })
      assertEqual(idsOf(first.sessions), ['s5', 's4'], 'the first page')
      await service.create({ id: 'new' })
      await service.delete('s3')
      await service.delete('s4')
      const second = await service.listSessions({ limit: 2, cursor: first.cursor })
      assertEqual(idsOf(second.sessions), ['s2', 's1'], 'the second page')
    },
  },
  {
    name: 'listing: times before 1970 and far in the future are in order as well',
    async run({ service, clock }) {
      await service.create({ id: 'now' })
      await service.create({ id: 'past' })
      await service.create({ id: 'future' })
      await service.create({ id: 'zero' })
      await service.appendEvent('past', userEvent('1', 'x', { timestamp: '1969-07-20T20:17:40Z' }))
      await service.appendEvent('future', userEvent('1', 'x', { timestamp: clock.now * 10 }))
      await service.appendEvent('zero', userEvent('1', 'x', { timestamp: 0 }))
      assertEqual(
        await listAll(service, { limit: 1 }),
        ['future', 'now', 'zero', 'past'],
        'recent, one by one',
      )
    },
  },
  {
    name: 'listing: bad arguments are refused by name',
    async run({ service }) {
      const bad: readonly (readonly [string, unknown])[] = [
        ['limit', { limit: 0 }],
        ['limit', { limit: 1001 }],
        ['limit', { limit: 2.5 }],
        ['order', { order: 'newest' }],
        ['cursor', { cursor: 'made up' }],
        ['cursor', { cursor: 7 }],
        ['userId', { userId: ' ' }],
      ]
      for (const [field, options] of bad) {
        await assertFails(
          () => service.listSessions(options as ListSessionsOptions),
          'INVALID_ARGUMENT',
          `listSessions(${JSON.stringify(options)})`,
          [field],
        )
      }
    },
  },
]
