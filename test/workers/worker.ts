// The Worker that the tests in workerd run in. From outside it takes the calls of a SessionService as
// JSON: POST { userId, method, args } gives { value } or { error }.
import type { SessionService } from 'turnlog'
import { isSessionError } from 'turnlog'
import { durableObjectSessions } from 'turnlog/worker'

export { SessionStore } from 'turnlog/worker'
export { VisitCounter } from './visit-counter.ts'

interface Call {
  readonly userId: string
  readonly method: keyof SessionService
  readonly args: readonly unknown[]
}

export default {
  async fetch(request: Request, env: Cloudflare.Env): Promise<Response> {
    const { userId, method, args } = await request.json<Call>()
    try {
      const sessions = durableObjectSessions(env.SESSIONS, userId)
      const operation = sessions[method] as (...args: readonly unknown[]) => Promise<unknown>
      return Response.json({ value: (await operation(...args)) ?? null })
    } catch (error) {
      if (!isSessionError(error)) throw error
      const { code, message, details } = error
      return Response.json({ error: { code, message, details } })
    }
  },
} satisfies ExportedHandler<Cloudflare.Env>
