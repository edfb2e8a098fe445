// The vectors as tests: one for each case, skipped ones with their reason.
import { describe, expect, test } from 'vitest'
import type { StoreHarness } from '../../src/testing/index.ts'
import { runVectorCase } from './runner.ts'
import type { VectorCase } from './vector-case.ts'
import { vectorFiles } from './vector-files.ts'

/** How many cases of each file are skipped, each for the reason that the runner gives. */
const SKIPPED: Readonly<Record<string, number>> = {
  'filter-matches': 1,
  'tool-conversation-search': 1,
  service: 7,
}

/** @param skippedBesides what is skipped for this store besides, by file. */
export function describeVectors(
  harness: StoreHarness,
  skippedBesides: Readonly<Record<string, number>> = {},
): void {
  describe.each(Object.entries(vectorFiles))('%s', (file, cases) => {
    const skipped: string[] = []
    test.each((cases as readonly VectorCase[]).map((item) => [item.name, item] as const))(
      '%s',
      async (name, vectorCase) => {
        const result = await runVectorCase(vectorCase, harness)
        if (result.outcome === 'skipped') skipped.push(`${name}: ${result.reason}`)
        else expect(result).toEqual({ outcome: 'passed' })
      },
    )
    test('skips no more than it has to', () => {
      expect(skipped).toHaveLength((SKIPPED[file] ?? 0) + (skippedBesides[file] ?? 0))
    })
  })
}
