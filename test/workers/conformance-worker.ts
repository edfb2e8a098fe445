// The Worker of scripts/conformance.ts: POST a list of cases, get their results.
import type { SessionStore } from 'turnlog/worker'
import { runVectorFile } from '../conformance/runner.ts'
import { durableObjectHarness } from './durable-object-harness.ts'

export { SessionStore } from 'turnlog/worker'

interface Bindings {
  readonly SESSIONS: DurableObjectNamespace<SessionStore>
}

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const cases = await request.json()
    const harness = durableObjectHarness(env.SESSIONS, crypto.randomUUID())
    return Response.json(await runVectorFile(cases, harness))
  },
} satisfies ExportedHandler<Bindings>
