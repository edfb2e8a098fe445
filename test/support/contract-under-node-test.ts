// The contract suite under Node's own test runner, to show that it needs no framework: run by
// test/node/contract-frameworks.test.ts with `node --test`.
import { describe, test } from 'node:test'
import { createInMemoryDatabase, createInMemoryRepository } from '../../src/stores/in-memory.ts'
import { describeStoreContract } from '../../src/testing/index.ts'

let database = createInMemoryDatabase()

describeStoreContract(
  { describe, test },
  {
    open: async () => createInMemoryRepository(database),
    async reset() {
      database = createInMemoryDatabase()
    },
  },
)
