// Sealing uses the events that the instance has just appended, without reading them again; but never a
// text that is gone from the database.

import { openDB } from 'idb'
import { expect, test } from 'vitest'
import { dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { countRequests } from './request-counter.ts'
import { openWithSmallBlocks, SMALL_BLOCKS, untilSealed } from './sealing.ts'

const open = (databaseName: string) =>
  openWithSmallBlocks(databaseName, { timeToLive: { sliding: 3_600_000 } })

const messages = (count: number, content = 'words') =>
  Array.from({ length: count }, (_, index) => ({
    id: `${content}-${index}`,
    message: { role: 'user' as const, content: `${content} ${index}` },
  }))

test('what was appended in pieces is sealed without being read, blocks at a time', async () => {
  const databaseName = freshDatabaseName()
  const service = open(databaseName)
  await service.create({ id: 'a' })
  for (const item of messages(3, 'single')) await service.appendEvent('a', item)
  const { counts } = await countRequests(async () => {
    await service.appendEvents('a', messages(29))
    await untilSealed(databaseName, SMALL_BLOCKS.limits)
  })
  expect(counts.readByStore['events'] ?? 0).toBe(0)
  const database = await openDB(databaseName)
  expect(await database.count('blocks')).toBe(8)
  expect(await database.get('heads', 1)).toMatchObject({ lastSeq: 32, sealedSeq: 32 })
  database.close()
  expect(await service.getEvents('a', { keyword: 'words 1' })).toHaveLength(11)
  await service.close()
})

test('what another instance erases or deletes meanwhile is not sealed', async () => {
  const databaseName = freshDatabaseName()
  const [writer, other] = [open(databaseName), open(databaseName)]
  await writer.create({ id: 'a' })
  await writer.create({ id: 'b' })
  await writer.create({ id: 'c' })
  await writer.appendEvent('a', messages(1, 'zugzwang')[0] as never)
  await writer.appendEvent('b', messages(1, 'ephemeral')[0] as never)
  await other.eraseEvent('a', 'zugzwang-0')
  await other.delete('b')
  await writer.appendEvents('c', messages(8))
  await untilSealed(databaseName, SMALL_BLOCKS.limits)
  const dump = await dumpDatabase(databaseName)
  expect(dump).toContain('words 5')
  expect(dump).not.toContain('zugzwang ')
  expect(dump).not.toContain('ephemeral ')
  expect(await writer.getEvents('c', { keyword: 'words' })).toHaveLength(8)
  expect(await writer.getEvents('a', { keyword: 'zugzwang' })).toHaveLength(0)
  await writer.close()
  await other.close()
})
