// Random operations against the Durable Object's store, through stubs; TURNLOG_RUNS sets how many.
import { env } from 'cloudflare:workers'
import { test } from 'vitest'
import { checkRandomOperations } from '../support/random-operations.ts'
import { durableObjectHarness } from './durable-object-harness.ts'
import { evict } from './evict.ts'

test('the Durable Object answers random operations like a naive store', async () => {
  const harness = durableObjectHarness(env.SESSIONS, 'random')
  const runs = env.TURNLOG_RUNS === '' ? 300 : Number(env.TURNLOG_RUNS)
  await checkRandomOperations({ ...harness, evict: () => evict(harness.stub()) }, { runs })
}, 300_000)
