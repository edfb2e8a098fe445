// Random operations against the in-memory store; TURNLOG_RUNS sets how many sequences.
import { test } from 'vitest'
import { inMemoryHarness } from '../support/in-memory-harness.ts'
import { checkRandomOperations } from '../support/random-operations.ts'

const { TURNLOG_RUNS } = process.env
const runs = TURNLOG_RUNS === undefined ? 300 : Number(TURNLOG_RUNS)

test(
  'the in-memory store answers random operations like a naive one',
  async () => {
    await checkRandomOperations(inMemoryHarness(), { runs })
  },
  60_000 + runs * 100,
)
