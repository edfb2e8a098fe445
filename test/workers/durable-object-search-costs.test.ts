// What searches of a long log cost in rows read, as Cloudflare bills them: what they return, and a small
// part of the log besides. The figures do not depend on the machine.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter, type EventFilterOptions } from 'turnlog'
import { createSessionService } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { expect, test } from 'vitest'
import { SEARCH_SETTINGS } from '../../src/search/sealing.ts'
import { MeteredStorage } from './metered-storage.ts'

const SIZE = 50_000
const SUBJECTS = [
  'the weather',
  'a journey',
  'dinner',
  'music',
  'the garden',
  'work',
  '天气',
] as const

/** One message in seven is about music; some are rare in kind, in branch, or in what they say. */
function eventAt(seq: number) {
  const subject = SUBJECTS[seq % SUBJECTS.length] ?? ''
  const rare = seq % 12_500 === 99 ? ' and an okapi' : ''
  return {
    id: `e${seq}`,
    timestamp: seq * 1000,
    message: {
      role: seq % 10_000 === 5 ? ('system' as const) : ('user' as const),
      content: `message ${seq} about ${subject}${rare}`,
    },
    branch: seq % 10_000 === 17 ? 'a.b' : null,
    synthetic: false,
  }
}

test('searches of a log of 50,000 events', async () => {
  await runInDurableObject(env.SESSIONS.getByName('search-costs'), async (_object, state) => {
    const storage = new MeteredStorage(state.storage)
    const pending: (() => void)[] = []
    const repository = createSqlRepository(storage, {
      ...SEARCH_SETTINGS,
      schedule: (seal) => pending.push(seal),
    })
    const sessions = createSessionService(repository, { defaultUserId: 'ana', timeToLive: null })
    await sessions.create({ id: 's' })
    for (let first = 1; first <= SIZE; first += 5000) {
      await sessions.appendEvents(
        's',
        Array.from({ length: 5000 }, (_, index) => eventAt(first + index)),
      )
    }
    for (let seal = pending.shift(); seal !== undefined; seal = pending.shift()) seal()
    const log = await sessions.getEvents('s')

    const read = async (
      name: string,
      options: EventFilterOptions,
      most: number,
      returned: number,
    ) => {
      const filter = EventFilter.of(options)
      const { result, rowsRead } = await storage.measure(() => sessions.getEvents('s', filter))
      expect(
        result.map(({ id }) => id),
        name,
      ).toEqual(filter.apply(log).map(({ id }) => id))
      expect(result, name).toHaveLength(returned)
      console.log(`${name}: ${result.length} events returned, ${rowsRead} rows read`)
      expect(rowsRead, name).toBeLessThanOrEqual(most)
    }
    // 196 blocks in 25 groups; up to 255 events are in none.
    const page = { pageSize: 10 }
    await read('page 0 of a common word', { keyword: 'MUSIC', ...page }, 30, 10)
    await read('page 50 of a common word', { keyword: 'music', page: 50, ...page }, 100, 10)
    await read('the last 20 of a common word', { keyword: '天气', lastN: 20 }, 300, 20)
    await read('a rare word', { keyword: 'okapi', ...page }, 300, 4)
    await read('the last 3 of a rare word', { keyword: 'okapi', lastN: 3 }, 300, 3)
    await read('both words', { keywords: ['okapi', 'dinner'], matchMode: 'all' }, 300, 1)
    await read('either word', { keywords: ['okapi', 'nowhere'], lastN: 2 }, 300, 2)
    await read('an absent word', { keyword: 'nowhere', ...page }, 300, 0)
    await read('the last 3 of a rare type', { messageTypes: ['system'], lastN: 3 }, 500, 3)
    await read(
      'a rare type with a word',
      { messageTypes: ['system'], keyword: 'message', ...page },
      300,
      5,
    )
    await read('the last 20 of the usual type', { messageTypes: ['user'], lastN: 20 }, 60, 20)
    const branched = { branch: 'x', keyword: 'okapi', lastN: 2 }
    await read('the last 2 that a branch sees', branched, 300, 2)

    await sessions.compact('s', {
      trigger: () => true,
      strategy: (view) => ({
        summaries: [{ message: { role: 'user', content: 'a summary' } }],
        keep: view.slice(-39).map(({ id }) => id),
      }),
    })
    const { result, rowsRead } = await storage.measure(() =>
      sessions.getEvents('s', { excludeArchived: true, keyword: 'weather' }),
    )
    console.log(`a word in a view of 40: ${result.length} events returned, ${rowsRead} rows read`)
    expect(result.length).toBeGreaterThan(3)
    expect(rowsRead).toBeLessThanOrEqual(60)
  })
})
