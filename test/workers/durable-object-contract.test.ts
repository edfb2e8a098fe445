// The contract of a store, against the Durable Object's: inside the object, and from outside through a
// stub, as a Worker uses it.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describeStoreContract, type StoreHarness, type TestFramework } from 'turnlog/testing'
import { createSqlRepository, durableObjectRepository } from 'turnlog/worker'
import { describe, test } from 'vitest'
import { evict } from './evict.ts'

let objects = 0
const freshStub = () => env.SESSIONS.getByName(`contract-${objects++}`)

function damage({ sql }: DurableObjectStorage, sessionId: string, seq: number): void {
  const { rowsWritten } = sql.exec(
    `UPDATE turnlog_events SET body = '{"message":', parts = 0
    WHERE seq = ? AND session = (SELECT number FROM turnlog_sessions WHERE id = ?)`,
    seq,
    sessionId,
  )
  if (rowsWritten === 0) throw new Error('there is no such event')
}

let stub = freshStub()
const throughStub: StoreHarness = {
  open: async () => durableObjectRepository(() => stub),
  reset: async () => {
    stub = freshStub()
  },
  evict: () => evict(stub),
  damage: (sessionId, seq) =>
    runInDurableObject(stub, (_object, { storage }) => damage(storage, sessionId, seq)),
  without: { hints: 'an object cannot call its callers back; the service polls' },
}

let storage: DurableObjectStorage
const inside: StoreHarness = {
  open: async () => createSqlRepository(storage),
  reset: async () => undefined, // every case runs in an object of its own
  damage: async (sessionId, seq) => damage(storage, sessionId, seq),
  without: { evict: 'the case itself runs in the object' },
}
const insideObject: TestFramework = {
  describe,
  test: Object.assign(
    (name: string, run: () => Promise<void>) =>
      test(name, () =>
        runInDurableObject(freshStub(), async (_object, state) => {
          storage = state.storage
          await run()
        }),
      ),
    { skip: test.skip },
  ),
}

describeStoreContract({ describe, test }, throughStub, 'Durable Object, through a stub')
describeStoreContract(insideObject, inside, 'Durable Object, inside')
