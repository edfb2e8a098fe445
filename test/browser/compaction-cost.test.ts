// A compaction puts the same few records into IndexedDB whatever it archives.
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { expect, test } from 'vitest'
import {
  describeCosts,
  findExcess,
  INDEXEDDB_LIMITS,
  measureCompaction,
} from '../../scripts/compaction-cost/measure.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests } from './request-counter.ts'
import { untilSealed } from './sealing.ts'

test('10, 1,000 and 50,000 archived events cost the same, and the view what it holds', async () => {
  const databaseName = freshDatabaseName()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'ana' })
  const costs = await measureCompaction(
    service,
    async (operation) => {
      const { result, counts } = await countRequests(operation)
      return { result, read: counts.read, written: counts.written }
    },
    () => untilSealed(databaseName),
  )
  console.info(describeCosts('IndexedDB', 'records', costs))
  expect(findExcess(costs, INDEXEDDB_LIMITS)).toEqual([])
  await service.close()
})
