// The code of README.md and docs/*.md that is for this runtime runs; scripts/doc-snippets.ts tells how.
/// <reference types="vite/types/importMeta.d.ts" />
import { expect, test } from 'vitest'
import snippets from '../../reports/snippets/browser/snippets.json' with { type: 'json' }
import { type SnippetTest, testSnippets } from '../support/run-doc-snippets.ts'

const modules = import.meta.glob('../../reports/snippets/browser/*.ts')

testSnippets(snippets as readonly SnippetTest[], modules)

test('every snippet has been written', () => {
  expect(Object.keys(modules).length).toBeGreaterThanOrEqual(snippets.length)
})
