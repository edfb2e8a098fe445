// The conformance vectors against IndexedDB.
import { describeVectors } from '../conformance/describe-vectors.ts'
import { indexedDBHarness } from './indexeddb-harness.ts'

describeVectors(indexedDBHarness())
