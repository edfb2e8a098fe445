// Proves what the other tests in workerd rely on.
import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'

test('runs in workerd, with a Durable Object on SQLite that survives its eviction', async () => {
  expect(navigator.userAgent).toBe('Cloudflare-Workers')
  const counter = env.VISITS.getByName('toolchain')
  // An unread body would keep the object busy, and it could not be evicted.
  await (await counter.fetch('https://test.local/', { method: 'POST' })).text()
  await evictDurableObject(counter)
  const response = await counter.fetch('https://test.local/')
  expect(await response.json()).toEqual({ visits: 1 })
})

test('an error keeps its code on its way through RPC', async () => {
  const counter = env.VISITS.getByName('toolchain')
  // Given to `expect` itself, an RPC promise is awaited twice and one rejection stays unhandled.
  const refused = async () => await counter.refuse()
  await expect(refused()).rejects.toMatchObject({ message: 'refused', code: 'REFUSED' })
})
