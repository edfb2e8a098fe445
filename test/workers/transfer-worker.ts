// The Worker of test/node/e2e-transfer.test.ts: sessions in Durable Objects. POST [operation, ...args].
import { durableObjectSessions, type SessionStore } from 'turnlog/worker'
import {
  createTransferOperations,
  type TransferOperations,
} from '../support/transfer-operations.ts'

export { SessionStore } from 'turnlog/worker'

export default {
  async fetch(request, env): Promise<Response> {
    const [operation, ...args] = await request.json<[keyof TransferOperations, ...string[]]>()
    const operations = createTransferOperations(durableObjectSessions(env.SESSIONS, 'ana'))
    const run = operations[operation] as (...args: readonly string[]) => Promise<unknown>
    return Response.json((await run(...args)) ?? null)
  },
} satisfies ExportedHandler<{ readonly SESSIONS: DurableObjectNamespace<SessionStore> }>
