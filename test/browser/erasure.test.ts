// What is erased or deleted is in no object store and no index of the database.
import { createIndexedDBRepository } from 'turnlog/indexeddb'
import { expect, test } from 'vitest'
import { checkErasure } from '../support/erasure-check.ts'
import { countStored, dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'

test('nothing of an erased text is left in a dump of the database', async () => {
  const databaseName = freshDatabaseName()
  let blocks = 0
  await checkErasure(
    { open: async () => createIndexedDBRepository({ databaseName }) },
    () => dumpDatabase(databaseName),
    async () => {
      // Sealing runs in the background, in transactions of its own: it is done when none comes any more.
      for (let before = -1, stored = 0; before !== stored; ) {
        before = stored
        await new Promise((resolve) => setTimeout(resolve, 100))
        stored = Object.values(await countStored(databaseName)).reduce(
          (sum, count) => sum + count,
          0,
        )
      }
      blocks = Math.max(blocks, (await countStored(databaseName))['blocks'] ?? 0)
    },
  )
  expect(blocks).toBeGreaterThan(0)
})
