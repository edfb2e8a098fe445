// Proves that random operations find faults: broken stores of the contract's, each within the number of
// sequences that every store is given.
import { expect, test } from 'vitest'
import { brokenHarness, brokenStores } from '../support/broken-stores.ts'
import { checkRandomOperations } from '../support/random-operations.ts'

/** Faults that these operations do not reach, which the contract's cases are for. */
const OUT_OF_REACH: readonly string[] = [
  // No two calls of these kinds are made at once.
  'writes a batch event by event',
  'lets two create the same session',
  'overwrites metadata with a change made elsewhere',
  // No log, batch or text is large.
  'forgets what comes after 100 events of a batch',
  'ends a read at its first answer',
  'gives everything in one answer',
  'reads on with the log as it has become',
  'judges the rest of a read by the newest boundary',
  'cuts texts at 2 MB',
  // Nothing is damaged, nobody watches, nobody goes on after closing.
  'fails when one record is damaged',
  'says nothing of damage',
  'goes on after it was closed',
  'forgets who stopped listening',
  'keeps hints to itself',
]

const runs = 300
const seed = 20_260_302
const within = brokenStores.filter(({ name }) => !OUT_OF_REACH.includes(name))

test.each(within.map((broken) => [broken.name, broken] as const))(
  'a store that %s is noticed',
  async (_, broken) => {
    const check = checkRandomOperations(brokenHarness(broken), { runs, seed, shrink: false })
    await expect(check).rejects.toThrow(/Counterexample/)
  },
)

test('every fault is known by name', () => {
  const names = brokenStores.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...OUT_OF_REACH]))
})
