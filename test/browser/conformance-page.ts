// The page of scripts/conformance.ts.
import { runVectorFile } from '../conformance/runner.ts'
import { indexedDBHarness } from './indexeddb-harness.ts'

const harness = indexedDBHarness()

Object.assign(globalThis, {
  runVectors: (cases: unknown) => runVectorFile(cases, harness),
})
