// Prints what each entry costs an application: everything in it, bundled, minified and compressed with
// brotli, dependencies included. (The framework of an adapter is not counted: who uses the adapter has
// it.) Of the two entries that every application in a browser loads, it prints the parts as well:
//
// - `turnlog`: what a program pays that imports only the names of the Foundation, which are the filter,
//   text matching, the errors and `conversation_search`. A bundler leaves out what is not imported.
// - `turnlog/indexeddb`: all methods of the service come with it, so nobody can leave out a part. Each
//   is measured by emptying its modules: what the bundle is smaller by, is what the part costs. What
//   is left in the end is the log, the filter and the store.
//
// Fails above a budget. The first ones were for the Foundation alone, 7 and 13 kB: the one of `turnlog`
// holds; what is left of `turnlog/indexeddb` is larger than 13 kB. The budgets of the wholes lie just
// above what they are.
import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { type Entry, listEntries, root } from './entries.ts'

/** In bytes of brotli. */
const budgets: Readonly<Record<string, number>> = {
  turnlog: 12_500,
  'turnlog/indexeddb': 29_500,
}
const FOUNDATION_BUDGET = 7_000

const foundation = [
  'EventFilter',
  'foldText',
  'matchRanges',
  'messageText',
  'MESSAGE_TYPES',
  'METADATA_SYNTHETIC',
  'MAX_EVENT_BYTES',
  'MAX_BATCH_BYTES',
  'DEFAULT_TIME_TO_LIVE',
  'SessionError',
  'isSessionError',
  'CONVERSATION_ID',
  'CONVERSATION_BRANCH',
  'CONVERSATION_SEARCH',
  'conversationSearchSchema',
  'createSessionEventTools',
]

/** What came to the IndexedDB entry on top of the Foundation, and the modules of each; a folder ends with a slash. */
const parts: Readonly<Record<string, readonly string[]>> = {
  'fast search, in one session and in all': [
    'search/',
    'core/recall.js',
    'stores/indexeddb/block-rows.js',
    'stores/indexeddb/sealer.js',
  ],
  compaction: [
    'core/compact.js',
    'core/turns.js',
    'core/until-aborted.js',
    'core/token-estimate.js',
    'core/token-estimator.js',
    'core/format-event.js',
  ],
  rewind: ['core/rewind.js'],
  'export and import': ['core/transfer.js'],
  'following, also between tabs': ['core/follow.js', 'stores/indexeddb/change-channel.js'],
}

const frameworks = ['ai', '@openai/agents-core', '@modelcontextprotocol/server']

export interface EntrySize {
  readonly specifier: string
  /** In bytes, each. */
  readonly brotli: number
  readonly gzip: number
  readonly minified: number
  readonly metafile: Metafile
}

/** What an entry costs, as built in dist. */
export async function measureEntry({ specifier, built }: Entry): Promise<EntrySize> {
  return { specifier, ...(await measure({ entryPoints: [join(root, built)] })) }
}

async function measure(options: BuildOptions): Promise<Omit<EntrySize, 'specifier'>> {
  const { outputFiles, metafile } = await build({
    ...options,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['cloudflare:*', 'node:*', 'vitest', ...frameworks],
    legalComments: 'none',
    metafile: true,
    write: false,
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  return {
    brotli: brotliCompressSync(code).length,
    gzip: gzipSync(code).length,
    minified: code.length,
    metafile,
  }
}

/** What a program costs that imports these names of an entry and no others. */
async function measureNames(entry: Entry, names: readonly string[]): Promise<number> {
  const contents = `export { ${names.join(', ')} } from './${entry.built}'`
  return (await measure({ stdin: { contents, resolveDir: root } })).brotli
}

/** What an entry would cost if these modules were empty. */
async function measureWithout(entry: Entry, modules: readonly string[]): Promise<number> {
  for (const module of modules) {
    if (!existsSync(join(root, 'dist', module))) throw new Error(`there is no dist/${module}`)
  }
  const emptied: Plugin = {
    name: 'emptied',
    setup({ onLoad }) {
      onLoad({ filter: /[/\\]dist[/\\].*\.js$/ }, async ({ path }) => {
        const module = relative(join(root, 'dist'), path).replaceAll(sep, '/')
        const isEmptied = modules.some((name) => module === name || name === folderOf(module))
        if (!isEmptied) return undefined
        const names = Object.keys(await import(pathToFileURL(path).href))
        return { contents: names.map((name) => `export const ${name} = undefined`).join('\n') }
      })
    },
  }
  const size = await measure({ entryPoints: [join(root, entry.built)], plugins: [emptied] })
  return size.brotli
}

function folderOf(module: string): string {
  return module.slice(0, module.indexOf('/') + 1)
}

async function printSizes(): Promise<void> {
  for (const entry of listEntries()) {
    const { specifier, brotli, gzip, minified, metafile } = await measureEntry(entry)
    const budget = budgets[specifier]
    const isOver = budget !== undefined && brotli > budget
    console.log(
      `size: ${specifier.padEnd(20)} ${kilobytes(brotli)} brotli, ${kilobytes(gzip)} gzip, ` +
        `${kilobytes(minified)} minified${against(budget, brotli)}`,
    )
    if (isOver) {
      process.exitCode = 1
      printShares(metafile)
    }
    if (specifier === 'turnlog') {
      const size = await measureNames(entry, foundation)
      if (size > FOUNDATION_BUDGET) process.exitCode = 1
      printPart('the names of the Foundation', size, against(FOUNDATION_BUDGET, size))
    }
    if (specifier === 'turnlog/indexeddb') await printParts(entry, brotli)
  }
}

async function printParts(entry: Entry, whole: number): Promise<void> {
  let left = whole
  const without: string[] = []
  for (const [part, modules] of Object.entries(parts)) {
    without.push(...modules)
    const size = await measureWithout(entry, without)
    printPart(part, left - size)
    left = size
  }
  printPart('the log, the filter and the store', left, ', its first budget 13.00 kB')
}

function printPart(name: string, bytes: number, note = ''): void {
  console.log(`        ${kilobytes(bytes).padStart(8)} ${name}${note}`)
}

function against(budget: number | undefined, size: number): string {
  if (budget === undefined) return ''
  return `; budget ${kilobytes(budget)} brotli${size > budget ? ': EXCEEDED' : ''}`
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(2)} kB`
}

/** Where the bytes of an entry that is too large come from. */
function printShares({ outputs }: Metafile): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  for (const [file, { bytesInOutput }] of inputs.sort(
    ([, one], [, other]) => other.bytesInOutput - one.bytesInOutput,
  )) {
    console.log(`        ${kilobytes(bytesInOutput).padStart(9)} minified  ${file}`)
  }
}

if (import.meta.main) await printSizes()
