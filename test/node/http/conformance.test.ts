// The conformance vectors over HTTP, against a real Worker.
import { afterAll, beforeAll } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'
import { describeVectors } from '../../conformance/describe-vectors.ts'
import { httpVectorHarness } from '../../conformance/http-vector-harness.ts'

let worker: LocalWorker
let harness: ReturnType<typeof httpVectorHarness>
beforeAll(async () => {
  worker = await startWorker({
    entry: 'test/workers/http-harness-worker.ts',
    durableObjects: { SESSIONS: 'HarnessStore' },
  })
  harness = httpVectorHarness(worker.url)
})
afterAll(() => worker.close())

describeVectors(
  { open: () => harness.open(), reset: () => harness.reset() },
  { service: 1 }, // two users with one session id are two sessions over HTTP
)
