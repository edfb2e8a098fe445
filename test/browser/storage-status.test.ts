// What the browser says about keeping the data; nothing of it may ever fail.

import { requestPersistence, storageStatus } from 'turnlog/indexeddb'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
})

test('in this browser', async () => {
  const status = await storageStatus()
  expect(typeof status.persisted).toBe('boolean')
  expect(status.quota).toBeGreaterThan(0)
  expect(status.usage).toBeGreaterThanOrEqual(0)
})

test('persistence that is granted, and one that is denied', async () => {
  let persisted = false
  for (const isGranted of [false, true]) {
    vi.stubGlobal('navigator', {
      storage: {
        async persist() {
          persisted = isGranted
          return isGranted
        },
        persisted: async () => persisted,
        estimate: async () => ({ usage: 10, quota: 1000 }),
      },
    })
    expect(await storageStatus()).toEqual({ persisted: false, usage: 10, quota: 1000 })
    expect(await requestPersistence()).toEqual({ persisted: isGranted, usage: 10, quota: 1000 })
  }
})

const unknown = { persisted: false, usage: null, quota: null }
const refusing = async () => {
  throw new DOMException('denied', 'SecurityError')
}

test.for([
  ['no navigator', undefined],
  ['no navigator.storage, as on plain-http pages', {}],
  ['a storage that can do nothing', { storage: {} }],
  [
    'a storage that refuses',
    { storage: { persist: refusing, persisted: refusing, estimate: refusing } },
  ],
  ['an estimate that tells nothing', { storage: { estimate: async () => ({}) } }],
] as const)('%s', async ([, navigator]) => {
  vi.stubGlobal('navigator', navigator)
  expect(await storageStatus()).toEqual(unknown)
  expect(await requestPersistence()).toEqual(unknown)
})
