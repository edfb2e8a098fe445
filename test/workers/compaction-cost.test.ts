// A compaction writes the same few rows whatever it archives.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { createSessionService } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { expect, test } from 'vitest'
import {
  describeCosts,
  findExcess,
  measureCompaction,
  SQLITE_LIMITS,
} from '../../scripts/compaction-cost/measure.ts'
import { MeteredStorage } from './metered-storage.ts'

test('10, 1,000 and 50,000 archived events cost the same, and the view what it holds', async () => {
  await runInDurableObject(env.SESSIONS.getByName('compaction-cost'), async (_object, state) => {
    const storage = new MeteredStorage(state.storage)
    const service = createSessionService(createSqlRepository(storage), { defaultUserId: 'ana' })
    const costs = await measureCompaction(service, async (operation) => {
      const { result, rowsRead, rowsWritten } = await storage.measure(operation)
      return { result, read: rowsRead, written: rowsWritten }
    })
    console.log(describeCosts('Durable Object', 'rows', costs))
    expect(findExcess(costs, SQLITE_LIMITS)).toEqual([])
  })
})
