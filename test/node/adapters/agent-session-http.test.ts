// A session of the OpenAI Agents SDK over HTTP, against a real Worker.
import type { StoreHarness } from 'turnlog/testing'
import { afterAll, beforeAll } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'
import { agentSessionSuite } from '../../support/agent-session-suite.ts'
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

agentSessionSuite(
  {
    open: () => harness.open(),
    reset: () => harness.reset(),
    without: httpHarness({ url: new URL('http://localhost') }).without ?? {},
  },
  10,
)
