// The HTTP API as the suites that run against any store need it: the caller names the store, the user
// and the time, and can damage and evict. Only for tests: a real one believes none of this.

import { createSessionApi } from 'turnlog/http'
import { createSessionService } from 'turnlog/store'
import { durableObjectRepository, SessionStore } from 'turnlog/worker'

/** The session object, with what a harness does to it. */
export class HarnessStore extends SessionStore {
  damage(sessionId: string, seq: number): void {
    const { rowsWritten } = this.ctx.storage.sql.exec(
      `UPDATE turnlog_events SET body = '{"message":', parts = 0
      WHERE seq = ? AND session = (SELECT number FROM turnlog_sessions WHERE id = ?)`,
      seq,
      sessionId,
    )
    if (rowsWritten === 0) throw new Error('there is no such event')
  }

  /** Loses everything that is in memory; whoever calls just then must try again. */
  evict(): void {
    this.ctx.abort('evicted by a test')
  }
}

interface Bindings {
  readonly SESSIONS: DurableObjectNamespace<HarnessStore>
}

export default {
  async fetch(request: Request, env: Bindings, context: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url)
    const [store = '', userId = '', time = ''] = (request.headers.get('x-test-scope') ?? '')
      .split('|')
      .map(decodeURIComponent)
    const stub = () => env.SESSIONS.getByName(`${store}|${userId}`)
    if (pathname === '/test/damage') {
      const { sessionId, seq } = await request.json<{ sessionId: string; seq: number }>()
      await stub().damage(sessionId, seq)
      return new Response()
    }
    if (pathname === '/test/evict') {
      await stub()
        .evict()
        .catch(() => undefined) // the call dies with the object
      return new Response()
    }
    const now = () => (time === '' ? Date.now() : Number(time))
    const api = createSessionApi<Bindings>({
      authenticate: () => userId,
      sessions: () => createSessionService(durableObjectRepository(stub), { now }),
      follow: { pollInterval: 20 },
      crossSessionSearch: true,
      now,
    })
    return api.fetch(request, env, context)
  },
} satisfies ExportedHandler<Bindings>
