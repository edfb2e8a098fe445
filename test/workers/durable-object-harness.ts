// The Durable Object's store, reached through a stub as a Worker does, for the suites that run against
// any store: every case gets an object of its own.
import type { StoreHarness } from 'turnlog/testing'
import { durableObjectRepository, type SessionStore } from 'turnlog/worker'

/** @param prefix names the objects; no other test may use it. */
export function durableObjectHarness(
  namespace: DurableObjectNamespace<SessionStore>,
  prefix: string,
): StoreHarness & { readonly stub: () => DurableObjectStub<SessionStore> } {
  let objects = 0
  let stub = namespace.getByName(`${prefix}-0`)
  return {
    /** The object of the case that is running. */
    stub: () => stub,
    open: async () => durableObjectRepository(() => stub),
    async reset() {
      objects++
      stub = namespace.getByName(`${prefix}-${objects}`)
    },
    without: {
      evict: 'the harness has no evict()',
      hints: 'an object cannot call its callers back; the service polls',
    },
  }
}
