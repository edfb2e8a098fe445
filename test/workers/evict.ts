// Takes a Durable Object out of memory, as the platform does at any moment.
import { evictDurableObject } from 'cloudflare:test'

/** How often an eviction is tried: what still refers to the object goes with the next garbage collection. */
const ATTEMPTS = 10

/** Evicts the object; one that is not in memory is as wanted already. */
export async function evict(stub: DurableObjectStub): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await evictDurableObject(stub)
      return
    } catch (error) {
      const { message } = error as Error
      if (message.includes('not currently running')) return
      if (!message.includes('active references') || attempt === ATTEMPTS) throw error
    }
  }
}
