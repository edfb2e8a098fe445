// The demo's Worker: the operations over Durable Objects. POST { operation, args } gives { value } or
// { error }. It listens on 127.0.0.1 only and knows one user; examples/worker-quickstart asks who it is.
import { durableObjectSessions, type SessionStore } from 'turnlog/worker'
import { createOperations, type SessionOperations } from './session-operations.ts'

export { SessionStore } from 'turnlog/worker'

interface Env {
  readonly SESSIONS: DurableObjectNamespace<SessionStore>
}

export default {
  async fetch(request, env): Promise<Response> {
    const { operation, args } = await request.json<{
      readonly operation: keyof SessionOperations
      readonly args: readonly unknown[]
    }>()
    const operations = createOperations(durableObjectSessions(env.SESSIONS, 'me'))
    const run = operations[operation] as (...args: readonly unknown[]) => Promise<unknown>
    try {
      return Response.json({ value: (await run(...args)) ?? null })
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 500 })
    }
  },
} satisfies ExportedHandler<Env>
