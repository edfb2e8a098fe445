/** The contract of a store as a list of cases, and its registration with a test framework. */

import { appendingCases } from './cases/appending.ts'
import { argumentCases } from './cases/arguments.ts'
import { boundaryCases } from './cases/boundaries.ts'
import { closingCases } from './cases/closing.ts'
import { compactingCases } from './cases/compacting.ts'
import { damageCases } from './cases/damage.ts'
import { deletingCases } from './cases/deleting.ts'
import { durabilityCases } from './cases/durability.ts'
import { erasingCases } from './cases/erasing.ts'
import { identifierCases } from './cases/identifiers.ts'
import { largeEventCases } from './cases/large-events.ts'
import { lifetimeCases } from './cases/lifetime.ts'
import { listingCases } from './cases/listing.ts'
import { matchingCases } from './cases/matching.ts'
import { readingCases } from './cases/reading.ts'
import { recallingCases } from './cases/recalling.ts'
import { rewindingCases } from './cases/rewinding.ts'
import { sessionCases } from './cases/sessions.ts'
import { storedFormCases } from './cases/stored-form.ts'
import { subscribingCases } from './cases/subscribing.ts'
import { timeRangeCases } from './cases/time-ranges.ts'
import { transferringCases } from './cases/transferring.ts'
import { versionCases } from './cases/versions.ts'
import { watchingCases } from './cases/watching.ts'
import { reasonToSkip, runStoreCase, type StoreCase, type StoreHarness } from './store-case.ts'

/** Everything that a store has to do. */
export const storeContract: readonly StoreCase[] = [
  ...sessionCases,
  ...lifetimeCases,
  ...listingCases,
  ...deletingCases,
  ...appendingCases,
  ...versionCases,
  ...identifierCases,
  ...largeEventCases,
  ...storedFormCases,
  ...boundaryCases,
  ...rewindingCases,
  ...compactingCases,
  ...subscribingCases,
  ...transferringCases,
  ...argumentCases,
  ...readingCases,
  ...matchingCases,
  ...timeRangeCases,
  ...erasingCases,
  ...recallingCases,
  ...damageCases,
  ...watchingCases,
  ...closingCases,
  ...durabilityCases,
]

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
