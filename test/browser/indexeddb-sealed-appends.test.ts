// Appends to a session whose events were sealed in the background since the instance last looked: the
// place that the sealing reached is kept, and the append is not done twice.

import { openDB } from 'idb'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { expect, test } from 'vitest'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { replace } from './request-counter.ts'

test.for([
  [1, 'in part'],
  [3, 'as a whole'],
] as const)('%i of 3 events sealed', async ([sealedSeq]) => {
  const databaseName = freshDatabaseName()
  const service = createIndexedDBSessionService({ databaseName, defaultUserId: 'me' })
  const append = (id: string) =>
    service.appendEvent('a', { id, message: { role: 'user', content: id } })
  await service.create({ id: 'a' })
  for (const id of ['e1', 'e2', 'e3']) await append(id)

  // What a sealing in another tab leaves behind.
  const database = await openDB(databaseName)
  const head = { ...(await database.get('heads', 1)), lastSeq: 3, version: 3, sealedSeq }
  await database.put('heads', head)
  const tails = await database.getAllKeys('tails')

  let rolledBack = 0
  const restore = replace(
    IDBDatabase.prototype,
    'transaction',
    (original) =>
      function (this: IDBDatabase, ...args: unknown[]) {
        const transaction = original.apply(this, args) as IDBTransaction
        transaction.addEventListener('abort', () => {
          rolledBack++
        })
        return transaction
      },
  )
  await append('e4')
  await append('e5')
  restore()
  expect(rolledBack).toBe(0)
  expect(await database.get('heads', 1)).toEqual(head)
  expect(await database.getAllKeys('tails')).toEqual(tails)
  expect(await service.findById('a')).toMatchObject({ eventCount: 5 })
  expect(await service.getEventVersion('a')).toBe(5)
  expect((await service.getEvents('a')).map(({ seq, id }) => `${id} ${seq}`)).toEqual([
    'e1 1',
    'e2 2',
    'e3 3',
    'e4 4',
    'e5 5',
  ])
  database.close()
  await service.close()
})
