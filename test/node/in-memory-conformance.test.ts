// The conformance vectors against the in-memory store.
import { describeVectors } from '../conformance/describe-vectors.ts'
import { inMemoryHarness } from '../support/in-memory-harness.ts'

describeVectors(inMemoryHarness())
