// IndexedDB, in Chromium, does what every store must do.

import { describeStoreContract } from 'turnlog/testing'
import { describe, test } from 'vitest'
import { indexedDBHarness } from './indexeddb-harness.ts'

describeStoreContract({ describe, test }, indexedDBHarness())
