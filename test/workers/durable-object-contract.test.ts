// The contract of a store, against the Durable Object's: inside the object, and from outside through a
// stub, as a Worker uses it.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describeStoreContract, type StoreHarness, type TestFramework } from 'turnlog/testing'
import { createSqlRepository } from 'turnlog/worker'
import { describe, test } from 'vitest'
import { durableObjectHarness } from './durable-object-harness.ts'
import { evict } from './evict.ts'

function damage({ sql }: DurableObjectStorage, sessionId: string, seq: number): void {
  const { rowsWritten } = sql.exec(
    `UPDATE turnlog_events SET body = '{"message":', parts = 0
    WHERE seq = ? AND session = (SELECT number FROM turnlog_sessions WHERE id = ?)`,
    seq,
    sessionId,
  )
  if (rowsWritten === 0) throw new Error('there is no such event')
}

const { without, ...fromOutside } = durableObjectHarness(env.SESSIONS, 'contract')
const throughStub: StoreHarness = {
  ...fromOutside,
  evict: () => evict(fromOutside.stub()),
  damage: (sessionId, seq) =>
    runInDurableObject(fromOutside.stub(), (_object, state) =>
      damage(state.storage, sessionId, seq),
    ),
  without: { hints: without?.hints ?? '' },
}

let objects = 0
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
        runInDurableObject(
          env.SESSIONS.getByName(`inside-${objects++}`),
          async (_object, state) => {
            storage = state.storage
            await run()
          },
        ),
      ),
    { skip: test.skip },
  ),
}

describeStoreContract({ describe, test }, throughStub, 'Durable Object, through a stub')
const smallBlocks: StoreHarness = {
  ...inside,
  open: async () =>
    createSqlRepository(storage, {
      limits: { events: 4, units: 100 },
      worthwhile: 1,
      schedule: (seal) => seal(),
    }),
}

describeStoreContract(insideObject, inside, 'Durable Object, inside')
describeStoreContract(insideObject, smallBlocks, 'Durable Object, inside, with blocks of 4 events')
