// Compiles a user's program against the built declarations in each kind of project that users
// have, library checks on: a global that leaks into them, or a type that lacks its import, shows
// up here.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listEntries, root } from '../../scripts/entries.ts'

const everywhere = [
  'turnlog',
  'turnlog/in-memory',
  'turnlog/store',
  'turnlog/http',
  'turnlog/client',
  'turnlog/zod',
  'turnlog/ai-sdk',
  'turnlog/openai-agents',
  'turnlog/mcp',
  'turnlog/testing',
]
const projects = [
  {
    name: 'a browser app with a bundler',
    options: { lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [], moduleResolution: 'bundler' },
    entries: [...everywhere, 'turnlog/indexeddb'],
  },
  {
    name: 'a Worker',
    options: {
      lib: ['ES2022'],
      types: ['@cloudflare/workers-types'],
      moduleResolution: 'bundler',
    },
    entries: [...everywhere, 'turnlog/worker'],
  },
  {
    name: 'a Node program',
    options: { lib: ['ES2022'], types: ['node'], moduleResolution: 'nodenext' },
    entries: everywhere,
  },
]

let folder: string
beforeAll(() => {
  // Inside the project, so that `turnlog` and the type packages are found.
  mkdirSync(join(root, 'reports'), { recursive: true })
  folder = mkdtempSync(join(root, 'reports', 'consumer-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'turnlog'), 'junction')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every entry is compiled in some project', () => {
  const compiled = new Set(projects.flatMap(({ entries }) => entries))
  expect(listEntries().map(({ specifier }) => specifier)).toEqual(
    expect.arrayContaining([...compiled]),
  )
  expect(compiled.size).toBe(listEntries().length)
})

test.for(projects)('$name', { timeout: 240_000 }, ({ options, entries }) => {
  const lines = entries.map((entry, index) => `import * as entry${index} from '${entry}'`)
  const names = entries.map((_, index) => `entry${index}`)
  writeFileSync(join(folder, 'main.ts'), `${lines.join('\n')}\nexport default [${names}]\n`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const compilerOptions = {
    ...options,
    target: 'ES2022',
    module: options.moduleResolution === 'nodenext' ? 'NodeNext' : 'ESNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['main.ts'] }),
  )
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' })
  // Errors inside other packages' declarations are not ours.
  const ours = stdout.split('\n').filter((line) => /(^|\/)(dist|main\.ts)/.test(line))
  expect(ours.filter((line) => !line.includes('node_modules/'))).toEqual([])
})
