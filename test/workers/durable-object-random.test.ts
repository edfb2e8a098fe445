// Random operations against the Durable Object's store, through stubs; TURNLOG_RUNS sets how many.
import { env } from 'cloudflare:workers'
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
