// Proves that the lint rules on the direction of imports fire: for every layer, imports that it
// may have and imports that it may not.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../scripts/entries.ts'

interface Layer {
  readonly file: string
  readonly allowed: readonly string[]
  readonly refused: readonly string[]
}

const layers: readonly Layer[] = [
  {
    file: 'src/index.ts',
    allowed: ['./core/a.ts', './compaction/a.ts', './search/a.ts'],
    refused: ['./stores/indexeddb/a.ts', './worker/a.ts', './zod/a.ts', './testing/a.ts', 'idb'],
  },
  {
    file: 'src/core/sample.ts',
    allowed: ['./a.ts', './deep/a.ts'],
    refused: ['../tools/a.ts', '../stores/in-memory/a.ts', '../index.ts', 'zod', 'node:fs', 'idb'],
  },
  ...['compaction', 'tools', 'memory', 'search'].map((name) => ({
    file: `src/${name}/sample.ts`,
    allowed: ['./a.ts', '../core/a.ts', '../search/a.ts', '../tools/a.ts'],
    refused: ['../stores/in-memory/a.ts', '../http/a.ts', '../zod/a.ts', 'zod', 'node:fs'],
  })),
  {
    file: 'src/stores/in-memory/sample.ts',
    allowed: ['./a.ts', '../shared.ts', '../../core/a.ts', '../../search/a.ts'],
    refused: ['../indexeddb/a.ts', '../../worker/a.ts', '../../http/a.ts', 'idb'],
  },
  {
    file: 'src/stores/in-memory.ts',
    allowed: ['./shared.ts', '../core/a.ts'],
    refused: ['./indexeddb/a.ts', './durable-object/a.ts', '../zod/a.ts', 'idb'],
  },
  {
    file: 'src/stores/indexeddb/sample.ts',
    allowed: ['./a.ts', '../../core/a.ts', '../../search/a.ts', 'idb'],
    refused: ['../in-memory.ts', '../in-memory/a.ts', '../durable-object/a.ts', 'zod', 'dexie'],
  },
  {
    file: 'src/stores/durable-object/sample.ts',
    allowed: ['./a.ts', '../../core/a.ts', '../../search/a.ts'],
    refused: ['../indexeddb/a.ts', '../../worker/a.ts', 'cloudflare:workers', 'idb'],
  },
  {
    file: 'src/zod/sample.ts',
    allowed: ['./a.ts', '../core/a.ts', '../tools/a.ts', 'zod', 'zod/v4'],
    refused: ['../stores/indexeddb/a.ts', '../http/a.ts', '../memory/a.ts', 'hono'],
  },
  {
    file: 'src/testing/sample.ts',
    allowed: ['./a.ts', '../core/a.ts', '../stores/in-memory/a.ts', '../stores/in-memory.ts'],
    refused: ['../stores/indexeddb/a.ts', '../tools/a.ts', '../worker/a.ts', 'vitest'],
  },
  {
    file: 'src/wire/sample.ts',
    allowed: ['./a.ts', '../core/a.ts'],
    refused: ['../http/a.ts', '../client/a.ts', '../tools/a.ts', 'zod', 'hono'],
  },
  {
    file: 'src/client/sample.ts',
    allowed: ['./a.ts', '../core/a.ts', '../wire/a.ts'],
    refused: ['../http/a.ts', '../stores/in-memory.ts', '../worker/a.ts', 'zod', 'hono', 'idb'],
  },
  {
    file: 'src/http/sample.ts',
    allowed: [
      './a.ts',
      '../core/a.ts',
      '../wire/a.ts',
      '../stores/in-memory/a.ts',
      '../zod/a.ts',
      'zod',
      'hono',
    ],
    refused: ['../worker/a.ts', '../adapters/mcp/a.ts', 'cloudflare:workers', 'node:http', 'idb'],
  },
  {
    file: 'src/worker/sample.ts',
    allowed: ['./a.ts', '../core/a.ts', '../stores/durable-object/a.ts', 'cloudflare:workers'],
    refused: ['../adapters/mcp/a.ts', '../testing/a.ts', 'zod', 'idb', 'node:fs'],
  },
  {
    file: 'src/adapters/ai-sdk/sample.ts',
    allowed: ['./a.ts', '../../core/a.ts', '../../memory/a.ts', 'ai'],
    refused: ['../../testing/a.ts', '../mcp/a.ts', '@ai-sdk/react', '@openai/agents-core', 'zod'],
  },
  {
    file: 'src/adapters/openai-agents/sample.ts',
    allowed: ['./a.ts', '../../core/a.ts', '@openai/agents-core'],
    refused: ['../../testing/a.ts', '../ai-sdk/a.ts', 'ai', 'openai', 'idb'],
  },
  {
    file: 'src/adapters/mcp/sample.ts',
    allowed: [
      './a.ts',
      '../../core/a.ts',
      '../../http/a.ts',
      '../../zod/a.ts',
      '@modelcontextprotocol/server',
    ],
    refused: ['../../testing/a.ts', '../ai-sdk/a.ts', 'ai', 'cloudflare:workers', 'idb', 'openai'],
  },
  {
    file: 'examples/quickstart/sample.ts',
    allowed: ['turnlog', 'turnlog/indexeddb', 'node:fs'],
    refused: ['../../src/index.ts'],
  },
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnlog-lint-'))
  copyFileSync(join(root, 'biome.json'), join(folder, 'biome.json'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.for(layers)('$file', ({ file, allowed, refused }) => {
  test('may import what stands below it', () => {
    expect(restricted(file, allowed)).toEqual([])
  })
  test('may not import anything else', () => {
    expect(restricted(file, refused)).toEqual(refused)
  })
})

test('a cycle of imports is refused', () => {
  writeSample('src/core/one.ts', `import { two } from './two.ts'\nexport const one = () => two`)
  writeSample('src/core/two.ts', `import { one } from './one.ts'\nexport const two = () => one`)
  expect(lint(join('src', 'core', 'one.ts'), 'suspicious/noImportCycles')).toHaveLength(1)
})

/** The sources of `imports` that the linter refuses in `file`. */
function restricted(file: string, imports: readonly string[]): string[] {
  writeSample(file, imports.map((source) => `import '${source}'`).join('\n'))
  return lint(file, 'style/noRestrictedImports').map((line) => imports[line - 1] ?? '')
}

function writeSample(file: string, code: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), `${code}\n`)
}

/** The lines of `file` that break `rule`. */
function lint(file: string, rule: string): number[] {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [biome, 'lint', `--only=${rule}`, '--reporter=json', '--max-diagnostics=100', file],
    { cwd: folder, encoding: 'utf8' },
  )
  const report = parseReport(stdout, stderr)
  return report.diagnostics
    .filter(({ category }) => category === `lint/${rule}`)
    .map(({ location }) => location.start.line)
}

interface Report {
  readonly diagnostics: readonly {
    readonly category: string
    readonly location: { readonly start: { readonly line: number } }
  }[]
}

function parseReport(stdout: string, stderr: string): Report {
  try {
    return JSON.parse(stdout)
  } catch (cause) {
    throw new Error(`The linter gave no report: ${stdout}${stderr}`, { cause })
  }
}
