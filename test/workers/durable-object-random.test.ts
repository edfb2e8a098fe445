// Random operations against the Durable Object's store, through stubs; TURNLOG_RUNS sets how many.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { createSqlRepository } from 'turnlog/worker'
import { test } from 'vitest'
import { checkRandomOperations } from '../support/random-operations.ts'
import { durableObjectHarness } from './durable-object-harness.ts'
import { evict } from './evict.ts'

const runs = env.TURNLOG_RUNS === '' ? 300 : Number(env.TURNLOG_RUNS)

test(
  'the Durable Object answers random operations like a naive store',
  async () => {
    const harness = durableObjectHarness(env.SESSIONS, 'random')
    const store = {
      ...harness,
      evict: () => evict(harness.stub()),
      async reset() {
        await evict(harness.stub()) // hundreds of objects would stay in memory
        await harness.reset()
      },
    }
    await checkRandomOperations(store, { runs })
  },
  60_000 + runs * 2_000, // for a machine that is busy otherwise
)

test(
  'with blocks of 4 events, sealed after every operation',
  async () => {
    await runInDurableObject(env.SESSIONS.getByName('random-blocks'), async (_object, state) => {
      const search = {
        limits: { events: 4, units: 100 },
        worthwhile: 1,
        schedule: (seal: () => void) => seal(),
      }
      await checkRandomOperations(
        {
          open: async () => createSqlRepository(state.storage, search),
          async reset() {
            const { sql } = state.storage
            const tables = sql.exec<{ name: string }>(
              "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'turnlog%'",
            )
            for (const { name } of tables.toArray()) sql.exec(`DROP TABLE "${name}"`)
          },
        },
        { runs },
      )
    })
  },
  60_000 + runs * 2_000,
)
