// Proves that the contract suite can fail: each of these broken stores is caught, by the topic that
// its fault belongs to.
import { reasonToSkip, runStoreCase, type StoreCase, storeContract } from 'turnlog/testing'
import { expect, test } from 'vitest'
import { type BrokenStore, brokenHarness, brokenStores } from '../support/broken-stores.ts'

/** How long a case of a store that never answers may wait, in milliseconds. */
const PATIENCE = 1000

function casesFor({ topic }: BrokenStore): readonly StoreCase[] {
  return storeContract.filter(({ name }) => name.startsWith(`${topic}: `))
}

/** The first case of its topic that the store fails; `null` when it passes all. */
async function firstFailure(broken: BrokenStore): Promise<string | null> {
  const harness = brokenHarness(broken)
  for (const storeCase of casesFor(broken)) {
    if (reasonToSkip(storeCase, harness) !== null) continue
    const outcome = runStoreCase(storeCase, harness).then(
      () => 'passed',
      () => 'failed',
    )
    const hanging = new Promise((resolve) => setTimeout(resolve, PATIENCE, 'hanging'))
    if ((await (broken.hangs ? Promise.race([outcome, hanging]) : outcome)) !== 'passed') {
      return storeCase.name
    }
  }
  return null
}

test.each(brokenStores.map((broken) => [broken.name, broken] as const))(
  'a store that %s is caught',
  async (_, broken) => {
    expect(casesFor(broken).length).toBeGreaterThan(0)
    expect(await firstFailure(broken)).not.toBeNull()
  },
)

test('the store that they are made from is not', async () => {
  for (const topic of new Set(brokenStores.map((broken) => broken.topic))) {
    expect(await firstFailure({ name: 'works', topic, break: () => ({}) })).toBeNull()
  }
})
