// A session goes from IndexedDB into a store of another kind and back without a loss.

import { createInMemorySessionService } from 'turnlog/in-memory'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { test } from 'vitest'
import { checkTransfer } from '../support/transfer-check.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'

const inIndexedDB = () =>
  createIndexedDBSessionService({ databaseName: freshDatabaseName(), defaultUserId: 'ana' })
const inMemory = () => createInMemorySessionService({ defaultUserId: 'ana' })

test('from IndexedDB into memory and back', async () => {
  await checkTransfer(inIndexedDB(), inMemory())
})

test('from memory into IndexedDB and back', async () => {
  await checkTransfer(inMemory(), inIndexedDB())
})

test('from one database into another and back', async () => {
  await checkTransfer(inIndexedDB(), inIndexedDB())
})
