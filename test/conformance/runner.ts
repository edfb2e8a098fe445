// Runs the conformance vectors against any store, in any runtime; see vectors/README.md.
import type { StoreHarness } from '../../src/testing/index.ts'
import { runCompactionVector } from './compaction-vectors.ts'
import { runFilterMatches, runFilterMerge, runFilterValidation } from './filter-vectors.ts'
import { runServiceVector } from './service-vectors.ts'
import { runConversationSearch, runCrossSessionSearch } from './tool-vectors.ts'
import {
  asObject,
  type VectorCase,
  VectorFailure,
  type VectorOutcome,
  VectorSkipped,
  type VectorSuite,
} from './vector-case.ts'

export type VectorResult = VectorOutcome & { readonly name: string }

/** Runs every case of one file, each against an empty store. Data that is no list of cases is skipped as a whole. */
export async function runVectorFile(
  content: unknown,
  harness: StoreHarness,
): Promise<readonly VectorResult[]> {
  if (!Array.isArray(content)) {
    return [{ name: '(the file)', outcome: 'skipped', reason: 'it is no list of cases' }]
  }
  const results: VectorResult[] = []
  for (const [index, item] of content.entries()) {
    const vectorCase: VectorCase = { name: `case ${index + 1}`, ...asObject(item) }
    results.push({ name: vectorCase.name, ...(await runVectorCase(vectorCase, harness)) })
  }
  return results
}

export async function runVectorCase(
  vectorCase: VectorCase,
  harness: StoreHarness,
): Promise<VectorOutcome> {
  const { requires } = vectorCase
  if (requires !== undefined) {
    return { outcome: 'skipped', reason: `it requires ${[requires].flat().join(', ')}` }
  }
  const suite = suiteOf(vectorCase)
  if (suite === null) return { outcome: 'skipped', reason: 'it is of no known shape' }
  try {
    await harness.reset()
    await suite(vectorCase, harness)
    return { outcome: 'passed' }
  } catch (error) {
    if (error instanceof VectorSkipped) return { outcome: 'skipped', reason: error.message }
    const reason = error instanceof VectorFailure ? error.message : describeError(error)
    return { outcome: 'failed', reason }
  }
}

/** A case is known by its fields, so that the name of its file does not matter. */
function suiteOf(vectorCase: VectorCase): VectorSuite | null {
  const has = (...fields: readonly string[]) =>
    fields.every((field) => Object.hasOwn(vectorCase, field))
  if (has('steps')) return runServiceVector
  if (has('kind')) return runCompactionVector
  if (has('base', 'other')) return runFilterMerge
  if (has('userId', 'sessions')) return runCrossSessionSearch
  if (has('context') || has('args')) return runConversationSearch
  if (has('filter', 'log') || has('factory', 'log')) return runFilterMatches
  if (has('filter') || has('factory')) return runFilterValidation
  return null
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack}` : String(error)
}
