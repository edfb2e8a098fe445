// IndexedDB, in Chromium, does what every store must do.

import { describeStoreContract } from 'turnlog/testing'
import { describe, test } from 'vitest'
import { indexedDBHarness } from './indexeddb-harness.ts'
import { SMALL_BLOCKS } from './sealing.ts'

describeStoreContract({ describe, test }, indexedDBHarness())
describeStoreContract(
  { describe, test },
  indexedDBHarness(SMALL_BLOCKS),
  'IndexedDB, with blocks of 4 events',
)
