// Sealing in a Durable Object: interrupted at every statement, blocks damaged, large events, and the
// upgrade of an object that knew no blocks.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter } from 'turnlog'
import { createSessionService } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { describe, expect, test } from 'vitest'
import { decodeBlock } from '../../src/search/block.ts'
import { groupOf } from '../../src/search/directory.ts'
import { SEARCH_SETTINGS } from '../../src/search/sealing.ts'
import { migrate, migrations } from '../../src/stores/durable-object/schema.ts'
import {
  BLOCK_DAMAGES,
  checkDamagedBlocks,
  checkInterruptedSealing,
  type SealingHarness,
} from '../support/sealing-check.ts'
import { MeteredStorage } from './metered-storage.ts'

let objects = 0

/** Runs in an object of its own; sealing waits for `seal`. */
function inObject(
  run: (inside: {
    storage: MeteredStorage
    pending: (() => void)[]
    seal: () => void
  }) => Promise<void>,
): Promise<void> {
  const name = `sealing-${objects++}`
  return runInDurableObject(env.SESSIONS.getByName(name), async (_object, state) => {
    const pending: (() => void)[] = []
    const seal = () => {
      for (let next = pending.shift(); next !== undefined; next = pending.shift()) next()
    }
    await run({ storage: new MeteredStorage(state.storage), pending, seal })
  })
}

function harnessOf(
  storage: MeteredStorage,
  pending: (() => void)[],
  seal: () => void,
): SealingHarness {
  let isSealing = false
  const rows = <T extends Record<string, SqlStorageValue>>(query: string, ...values: unknown[]) =>
    storage.sql.exec<T>(query, ...values).toArray()
  return {
    open: async () =>
      createSqlRepository(storage, {
        limits: { events: 4, units: 100 },
        worthwhile: 1,
        schedule: (next) => pending.push(next),
      }),
    async settle() {
      isSealing = true
      seal()
      isSealing = false
    },
    failAt(request) {
      let count = 0
      let reached = false
      storage.beforeStatement = () => {
        if (!isSealing || ++count !== request) return
        reached = true
        throw new Error('broken storage')
      }
      return () => {
        storage.beforeStatement = () => undefined
        return reached
      }
    },
    async sealed() {
      const blocks = rows<{ entries: string; text: string }>('SELECT * FROM turnlog_blocks')
      return blocks.flatMap((block) =>
        decodeBlock(block).entries.map(({ session, seq }) => `${session}:${seq}`),
      )
    },
    async damage(kind, index) {
      const numbers = rows<{ number: number }>('SELECT number FROM turnlog_blocks ORDER BY number')
      const number = numbers.at(index)?.number ?? 0
      const group = groupOf(number)
      const [statement, key] = {
        'no block': ['DELETE FROM turnlog_blocks WHERE number = ?', number] as const,
        'no text': ["UPDATE turnlog_blocks SET text = '' WHERE number = ?", number] as const,
        'broken entries': [
          "UPDATE turnlog_blocks SET entries = '{' WHERE number = ?",
          number,
        ] as const,
        'no group': ['DELETE FROM turnlog_block_groups WHERE number = ?', group] as const,
        'broken group': [
          "UPDATE turnlog_block_groups SET entries = '[' WHERE number = ?",
          group,
        ] as const,
      }[kind]
      storage.sql.exec(statement, key)
    },
    async dump() {
      const tables = rows<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'turnlog%'",
      )
      return JSON.stringify(tables.map(({ name }) => rows(`SELECT * FROM "${name}"`)))
    },
  }
}

test('interrupted at every statement, nothing is lost, doubled or hidden', async () => {
  await inObject(({ storage, pending, seal }) =>
    checkInterruptedSealing(harnessOf(storage, pending, seal)),
  )
})

describe('damage', () => {
  test.for(BLOCK_DAMAGES)('%s: answers stay right, and all is sealed anew', async (kind) => {
    await inObject(({ storage, pending, seal }) =>
      checkDamagedBlocks(harnessOf(storage, pending, seal), kind),
    )
  })
})

test('a large event is sealed without being read, and is found', async () => {
  await inObject(async ({ storage, pending, seal }) => {
    const repository = createSqlRepository(storage, {
      ...SEARCH_SETTINGS,
      worthwhile: 1,
      schedule: (next) => pending.push(next),
    })
    const service = createSessionService(repository, { defaultUserId: 'ana' })
    await service.create({ id: 's' })
    const large = `${'中文 naïve '.repeat(590_000)}needle`
    await service.appendMessage('s', { role: 'user', content: 'a needle before' })
    await service.appendMessage('s', { role: 'user', content: large })
    await service.appendMessage('s', { role: 'user', content: 'between' })
    const parts: string[] = []
    storage.beforeStatement = (statement) => {
      if (statement.includes('turnlog_event_parts')) parts.push(statement)
    }
    seal()
    expect(parts).toEqual([])
    storage.beforeStatement = () => undefined
    const [count] = storage.sql.exec('SELECT count(*) AS blocks FROM turnlog_blocks').toArray()
    expect(count).toEqual({ blocks: 2 })
    const seqs = async (keyword: string) =>
      (await service.getEvents('s', { keyword })).map(({ seq }) => seq)
    expect(await seqs('NEEDLE')).toEqual([1, 2])
    expect(await seqs('between')).toEqual([3])
    expect(await seqs('nothing')).toEqual([])
    const recalled = await service.recallEvents({ keyword: 'needle' }, { userId: 'ana' })
    expect(recalled.map(({ seq }) => seq)).toEqual([1, 2])
  })
})

test('an object of schema version 1 answers at once, and is sealed bit by bit', async () => {
  await inObject(async ({ storage, pending, seal }) => {
    const old = createSqlRepository(storage, {
      limits: { events: Number.POSITIVE_INFINITY, units: Number.POSITIVE_INFINITY },
      worthwhile: 1,
      schedule: () => undefined,
    })
    const writer = createSessionService(old, { defaultUserId: 'ana', timeToLive: null })
    const texts = Array.from({ length: 3000 }, (_, index) => `message ${index} of many`)
    await writer.create({ id: 's' })
    await writer.appendEvents(
      's',
      texts.map((content) => ({ message: { role: 'user', content } })),
    )
    // The second migration undone: that is what version 1 was.
    const undo = [
      'ALTER TABLE turnlog_sessions DROP COLUMN sealed_seq',
      'DROP TABLE turnlog_tails',
      'DROP TABLE turnlog_blocks',
      'DROP TABLE turnlog_block_groups',
      'UPDATE turnlog_schema SET version = 1',
    ]
    for (const statement of undo) storage.sql.exec(statement)
    migrate(storage, migrations)

    const repository = createSqlRepository(storage, {
      ...SEARCH_SETTINGS,
      worthwhile: 1,
      schedule: (next) => pending.push(next),
    })
    const service = createSessionService(repository, { defaultUserId: 'ana', timeToLive: null })
    const log = await service.getEvents('s')
    const filter = EventFilter.of({ keyword: '77', lastN: 7 })
    const expected = filter.apply(log).map(({ seq }) => seq)
    const search = async () => (await service.getEvents('s', filter)).map(({ seq }) => seq)
    expect(expected).toHaveLength(7)
    expect(await search()).toEqual(expected)
    let turns = 0
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      next()
      turns++
      expect(await search()).toEqual(expected)
    }
    expect(turns).toBeGreaterThanOrEqual(11)
    const { rowsRead } = await storage.measure(() => service.getEvents('s', { keyword: 'nowhere' }))
    expect(rowsRead).toBeLessThan(260)
    seal()
  })
})
