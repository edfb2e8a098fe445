// Random operations against the IndexedDB store; TURNLOG_RUNS sets how many sequences.
import { inject, test } from 'vitest'
import { checkRandomOperations } from '../support/random-operations.ts'
import { indexedDBHarness } from './indexeddb-harness.ts'
import { SMALL_BLOCKS } from './sealing.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** From the environment variable `TURNLOG_RUNS`; `null`: not set. */
    randomRuns: number | null
  }
}

const runs = inject('randomRuns') ?? 300

test(
  'the IndexedDB store answers random operations like a naive one',
  async () => {
    await checkRandomOperations(indexedDBHarness(), { runs })
  },
  60_000 + runs * 1000,
)

test(
  'with blocks of 4 events, sealed while the operations run',
  async () => {
    await checkRandomOperations(indexedDBHarness(SMALL_BLOCKS), { runs })
  },
  60_000 + runs * 1000,
)
