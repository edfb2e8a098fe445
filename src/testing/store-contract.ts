/** The contract of a store as a list of cases, and its registration with a test framework. */

import { appendingCases } from './cases/appending.ts'
import { reasonToSkip, runStoreCase, type StoreCase, type StoreHarness } from './store-case.ts'

/** Everything that a store has to do. */
export const storeContract: readonly StoreCase[] = [...appendingCases]

/** The two functions of Vitest, Jest or `node:test`. */
export interface TestFramework {
  readonly describe: (name: string, register: () => void) => unknown
  readonly test: {
    (name: string, run: () => Promise<void>): unknown
    readonly skip: (name: string, run: () => Promise<void>) => unknown
  }
}

/**
 * Registers the whole contract, one test a case. Cases that the store's harness cannot run are
 * registered as skipped, with the reason in their name.
 *
 * ```ts
 * import { describe, test } from 'vitest'
 * describeStoreContract({ describe, test }, { open: () => openMyStore(), reset: () => emptyMyStore() })
 * ```
 */
export function describeStoreContract(
  { describe, test }: TestFramework,
  harness: StoreHarness,
  name = 'store contract',
): void {
  describe(name, () => {
    for (const storeCase of storeContract) {
      const reason = reasonToSkip(storeCase, harness)
      if (reason === null) test(storeCase.name, () => runStoreCase(storeCase, harness))
      // biome-ignore lint/suspicious/noSkippedTests: what a store cannot do is shown, with the reason
      else test.skip(`${storeCase.name} (skipped: ${reason})`, async () => undefined)
    }
  })
}
