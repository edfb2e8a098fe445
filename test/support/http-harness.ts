// The HTTP client against a Worker (test/workers/http-harness-worker.ts), for the suites that run
// against any store. The time that a suite gives goes along in a header, as do the store and the user.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHttpSessionRepository } from 'turnlog/client'
import type { SessionRepository } from 'turnlog/store'
import type { StoreHarness } from 'turnlog/testing'

export interface HttpHarnessOptions {
  /** Where the Worker is. */
  readonly url: URL
  /** Default: the runtime's own. */
  readonly fetch?: typeof fetch
}

/** The time of the call that is being made. */
const times = new AsyncLocalStorage<number | undefined>()

export function httpHarness({ url, fetch: send = fetch }: HttpHarnessOptions): StoreHarness {
  const run = crypto.randomUUID()
  let stores = 0
  const scope = (userId: string) => {
    const time = times.getStore()
    return [`${run}-${stores}`, userId, time === undefined ? '' : `${time}`]
      .map(encodeURIComponent)
      .join('|')
  }
  const connect = (userId: string) =>
    withTime(
      createHttpSessionRepository({
        baseUrl: url,
        retryDelay: 20,
        fetch: (input, init) =>
          send(input, { ...init, headers: { ...init?.headers, 'x-test-scope': scope(userId) } }),
      }),
      times,
    )
  const post = async (path: string, body: object) => {
    const response = await send(new URL(path, url), {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'x-test-scope': scope('ana') },
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  }
  return {
    open: async () => connect('ana'),
    async reset() {
      stores++
    },
    evict: () => post('/test/evict', {}),
    damage: (sessionId, seq) => post('/test/damage', { sessionId, seq }),
    without: { users: 'over HTTP the user is the authenticated one' },
  }
}

/** A repository whose calls run with the `now` that they are made with in `times`. */
export function withTime(
  repository: SessionRepository,
  times: AsyncLocalStorage<number | undefined>,
): SessionRepository {
  const methods = Object.entries(repository).map(([name, method]) => [
    name,
    (...args: readonly unknown[]) => {
      const given = args.find((arg) => typeof arg === 'object' && arg !== null && 'now' in arg)
      const now = (given as { readonly now?: number } | undefined)?.now
      return times.run(now, () => (method as (...args: readonly unknown[]) => unknown)(...args))
    },
  ])
  return Object.fromEntries(methods) as SessionRepository
}
