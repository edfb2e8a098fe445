// Takes a Durable Object out of memory, as the platform does at any moment.
import { evictDurableObject } from 'cloudflare:test'

/** Evicts the object; one that is not in memory is as wanted already. */
export async function evict(stub: DurableObjectStub): Promise<void> {
  try {
    await evictDurableObject(stub)
  } catch (error) {
    if (!(error as Error).message.includes('not currently running')) throw error
  }
}
