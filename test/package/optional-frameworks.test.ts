// Frameworks are optional: whoever imports an entry gets the framework of that entry and no other, and the
// Worker carries the MCP server only where it is asked for. Proven on what is built.
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { listEntries, root } from '../../scripts/entries.ts'
import { measureEntry } from '../../scripts/size.ts'

const frameworks = [
  'ai',
  '@ai-sdk',
  '@openai',
  '@modelcontextprotocol',
  'openai',
  'react',
  'hono',
  'zod',
]

/** What each entry may import of them, at run time. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'turnlog/ai-sdk': ['ai'],
  'turnlog/openai-agents': ['@openai'],
  'turnlog/mcp': ['@modelcontextprotocol'],
  'turnlog/http': ['hono', 'zod'],
  'turnlog/zod': ['zod'],
}

/** The packages that a bundle holds or leaves to the application. */
function packagesOf({ inputs }: Metafile): string[] {
  const bundled = Object.keys(inputs).flatMap((file) => {
    const [, path] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? []
    return path ?? []
  })
  const external = Object.values(inputs).flatMap(({ imports }) =>
    imports.filter((each) => each.external === true).map(({ path }) => path),
  )
  return [...new Set([...bundled, ...external])]
}

function frameworksOf(packages: readonly string[]): string[] {
  return frameworks.filter((name) =>
    packages.some((each) => each === name || each.startsWith(`${name}/`)),
  )
}

describe.each(listEntries().map((entry) => [entry.specifier, entry] as const))(
  '%s',
  (name, entry) => {
    test('comes with its own framework only', async () => {
      const { metafile } = await measureEntry(entry)
      expect(frameworksOf(packagesOf(metafile))).toEqual(allowed[name] ?? [])
    })
  },
)

test('turnlog alone imports nothing at all', async () => {
  const [entry] = listEntries().filter(({ specifier }) => specifier === 'turnlog')
  if (entry === undefined) throw new Error('there is no root entry')
  expect(packagesOf((await measureEntry(entry)).metafile)).toEqual([])
})

test.each([
  ['src/worker/deploy.ts', false],
  ['src/adapters/mcp/deploy.ts', true],
])('the Worker of %s carries the MCP server: %s', async (file, carries) => {
  const { metafile } = await build({
    entryPoints: [join(root, file)],
    bundle: true,
    minify: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    metafile: true,
    write: false,
  })
  const [output] = Object.values(metafile.outputs)
  const used = Object.entries(output?.inputs ?? {}).filter(
    ([, { bytesInOutput }]) => bytesInOutput > 0,
  )
  const packages = packagesOf({
    ...metafile,
    inputs: Object.fromEntries(used.map(([path]) => [path, { bytes: 0, imports: [] }])),
  })
  expect(frameworksOf(packages).includes('@modelcontextprotocol')).toBe(carries)
})
