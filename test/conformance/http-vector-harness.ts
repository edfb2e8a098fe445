// The HTTP client against test/workers/http-harness-worker.ts, with a client for every user of a case.
import { createHttpSessionRepository } from '../../src/client/index.ts'
import type { StoreHarness } from '../../src/testing/index.ts'
import { oneClientPerUser } from './one-client-per-user.ts'

export function httpVectorHarness(baseUrl: URL): StoreHarness {
  const run = crypto.randomUUID()
  let stores = 0
  const connect = (store: string) => (userId: string) =>
    createHttpSessionRepository({
      baseUrl,
      fetch: (input, init) =>
        fetch(input, {
          ...init,
          headers: {
            ...init?.headers,
            'x-test-scope': [store, userId, ''].map(encodeURIComponent).join('|'),
          },
        }),
    })
  return {
    open: async () => oneClientPerUser(connect(`${run}-${stores}`)),
    async reset() {
      stores++
    },
  }
}
