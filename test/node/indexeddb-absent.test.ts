// Where there is no IndexedDB (a server that renders, a test in Node), importing and creating the store
// is harmless, and using it says what is missing.

import type { SessionService } from 'turnlog'
import { expect, test } from 'vitest'

/** Typed here: the types of the entry speak of a browser's globals, which Node has not. */
interface IndexedDBEntry {
  createIndexedDBSessionService(options: { defaultUserId: string }): SessionService
  requestPersistence(): Promise<unknown>
  storageStatus(): Promise<unknown>
}

test('turnlog/indexeddb in Node', async () => {
  expect('indexedDB' in globalThis).toBe(false)
  const before = Reflect.ownKeys(globalThis)
  const entry = new URL('../../src/stores/indexeddb/index.ts', import.meta.url).href
  const { createIndexedDBSessionService, requestPersistence, storageStatus } = (await import(
    entry
  )) as IndexedDBEntry
  const service = createIndexedDBSessionService({ defaultUserId: 'me' })
  expect(Reflect.ownKeys(globalThis)).toEqual(before)

  for (const call of [
    () => service.create({ id: 'a' }),
    () => service.appendMessage('a', { role: 'user', content: 'hello' }),
    () => service.getEvents('a'),
    () => service.listSessions(),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  }
  const unknown = { persisted: false, usage: null, quota: null }
  expect(await storageStatus()).toEqual(unknown)
  expect(await requestPersistence()).toEqual(unknown)
  await service.close()
  await expect(service.findById('a')).rejects.toMatchObject({ code: 'CLOSED' })
})
