// Proves what the other tests in Chromium rely on.
import { openDB } from 'idb'
import { expect, test } from 'vitest'

test('runs in a browser with a real IndexedDB', async () => {
  const database = await openDB('toolchain', 1, {
    upgrade: (upgrading) => void upgrading.createObjectStore('events'),
  })
  await database.put('events', { text: 'hello' }, 'one')
  expect(await database.get('events', 'one')).toEqual({ text: 'hello' })
  expect(String(indexedDB.open)).toContain('[native code]')
  database.close()
})
