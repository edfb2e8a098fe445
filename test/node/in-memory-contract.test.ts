// The in-memory store, the reference, does what every store must do.

import { describeStoreContract } from 'turnlog/testing'
import { describe, test } from 'vitest'
import { inMemoryHarness } from '../support/in-memory-harness.ts'

describeStoreContract({ describe, test }, inMemoryHarness())
