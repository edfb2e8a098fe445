// The code of README.md and docs/*.md runs; scripts/doc-snippets.ts tells how.
/// <reference types="vite/types/importMeta.d.ts" />
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SessionErrorCode } from 'turnlog'
import { expect, test } from 'vitest'
import snippets from '../../reports/snippets/node/snippets.json' with { type: 'json' }
import {
  extractSnippets,
  listDocuments,
  listSnippets,
  toModule,
} from '../../scripts/doc-snippets.ts'
import { root } from '../../scripts/entries.ts'
import { type SnippetTest, testSnippets } from '../support/run-doc-snippets.ts'

testSnippets(
  snippets as readonly SnippetTest[],
  import.meta.glob('../../reports/snippets/node/*.ts'),
)

test('what runs is what the documents say', () => {
  expect(listDocuments()).toContain('docs/editing.md')
  const names = listSnippets()
    .filter(({ runtime, typesOnly, file }) => runtime === 'node' && !typesOnly && file === null)
    .map(({ name }) => name)
  expect(snippets.map(({ name }) => name)).toEqual(names)
})

test('files that documents show are as they are shown', () => {
  const shown = listSnippets().filter(({ file }) => file !== null)
  const files = shown.map(({ file }) => file)
  expect(files).toContain('examples/browser-quickstart/chat.ts')
  expect(files).toContain('examples/worker-quickstart/wrangler.toml')
  for (const { name, file, blocks } of shown) {
    const text = readFileSync(join(root, file ?? ''), 'utf8')
    expect(`${name}\n${blocks.map(({ code }) => code).join('\n')}\n`).toBe(`${name}\n${text}`)
  }
})

test('every error code is explained', () => {
  const text = readFileSync(join(root, 'docs/sessions.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  const explained = rows.flatMap((row) => row.split('|')[1]?.match(/[A-Z_]+/g) ?? [])
  expect(explained.toSorted()).toEqual(Object.keys(codes).toSorted())
})

test('README leads to every document', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const documents = listDocuments().filter((document) => document !== 'README.md')
  expect(documents.filter((document) => !readme.includes(`](${document})`))).toEqual([])
})

test('every link to a file leads to one', () => {
  const broken = [...listDocuments(), 'CHANGELOG.md'].flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8')
    return [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !existsSync(join(root, dirname(document), target)))
      .map((target) => `${document}: ${target}`)
  })
  expect(broken).toEqual([])
})

/** All of them: one that is missing or unknown is a type error. */
const codes: Record<SessionErrorCode, true> = {
  SESSION_NOT_FOUND: true,
  SESSION_EXISTS: true,
  NOT_OWNER: true,
  EVENT_NOT_FOUND: true,
  INVALID_ARGUMENT: true,
  INVALID_FILTER: true,
  INVALID_EVENT: true,
  EVENT_TOO_LARGE: true,
  VERSION_CONFLICT: true,
  BOUNDARY_CONFLICT: true,
  COMPACTION_FAILED: true,
  INVALID_IMPORT: true,
  STORAGE_UNAVAILABLE: true,
  STORAGE_BLOCKED: true,
  STORAGE_OUTDATED: true,
  STORAGE_FAILED: true,
  QUOTA_EXCEEDED: true,
  UNAUTHENTICATED: true,
  RATE_LIMITED: true,
  CLOSED: true,
}

const fence = '```'

test('blocks become modules, with what they print and what stands in', () => {
  const text = [
    `${fence}ts with=model`,
    'const a = 1',
    fence,
    'words',
    `${fence}ts continued`,
    'console.log(a)',
    fence,
    `${fence}text prints`,
    '1',
    fence,
    `${fence}ts worker types`,
    'export default {}',
    fence,
    `${fence}sh`,
    'npm test',
    fence,
    `${fence}ts file=examples/x.ts`,
    'const b = 2',
    fence,
  ].join('\n')
  const [first, second, third, ...rest] = extractSnippets('docs/x.md', text)
  expect(rest).toEqual([])
  expect(first?.blocks).toEqual([
    { code: 'const a = 1', line: 1, prints: null },
    { code: 'console.log(a)', line: 5, prints: '1' },
  ])
  expect(second).toMatchObject({ runtime: 'workers', typesOnly: true, name: 'docs/x.md:11' })
  expect(third).toMatchObject({ file: 'examples/x.ts' })
  if (first === undefined) throw new Error('there is no snippet')
  const code = toModule(first, new Map([['model', 'model.ts']]))
  expect(code).toContain(`import { model } from '../../../docs/stand-ins/model.ts'\n`)
  expect(code).toContain('console.log("turnlog docs block 5")\nconsole.log(a)\n')
  expect(() => toModule(first, new Map())).toThrow('no stand-in is named "model"')
})

test.each([
  ['an indented block', `  ${fence}ts\n  a\n  ${fence}`, 'indented'],
  ['a word that says nothing', `${fence}ts nodejs\na\n${fence}`, '"nodejs" is not known'],
  ['a block without an end', `${fence}ts\na`, 'has no end'],
  ['a print without code', `${fence}text prints\na\n${fence}`, 'no code before it'],
  ['nothing to continue', `${fence}ts continued\na\n${fence}`, 'nothing to continue'],
])('%s is a mistake', (_, text, problem) => {
  expect(() => extractSnippets('docs/x.md', text)).toThrow(problem)
})
