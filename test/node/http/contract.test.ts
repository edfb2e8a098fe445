// The contract of a store, over HTTP against a real Worker.
import { describeStoreContract, type StoreHarness } from 'turnlog/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'
import { httpHarness } from '../../support/http-harness.ts'

let worker: LocalWorker
let harness: StoreHarness
beforeAll(async () => {
  worker = await startWorker({
    entry: 'test/workers/http-harness-worker.ts',
    durableObjects: { SESSIONS: 'HarnessStore' },
  })
  harness = httpHarness({ url: worker.url })
})
afterAll(() => worker.close())

describeStoreContract(
  { describe, test },
  {
    open: () => harness.open(),
    reset: () => harness.reset(),
    evict: async () => harness.evict?.(),
    damage: async (sessionId, seq) => harness.damage?.(sessionId, seq),
    without: httpHarness({ url: new URL('http://localhost') }).without ?? {},
  },
  'store contract over HTTP',
)
