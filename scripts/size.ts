// Prints what each entry costs an application (bundled, minified, brotli), dependencies included, and
// fails above the budget. An adapter comes to those who have its framework: that is not counted. The budgets are promises to users. The first ones, 7 and 13 kB, were for the log,
// the filter and conversation_search; compaction, edits, following, export and import, session memory
// and recall came to the same entries since (`createSessionMemory` and the strategies are imported from
// the root), and the search index to the stores.
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { type Entry, listEntries, root } from './entries.ts'

const budgets: Readonly<Record<string, number>> = {
  turnlog: 20_000,
  'turnlog/indexeddb': 29_000,
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
  const { outputFiles, metafile } = await build({
    entryPoints: [join(root, built)],
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
    specifier,
    brotli: brotliCompressSync(code).length,
    gzip: gzipSync(code).length,
    minified: code.length,
    metafile,
  }
}

async function printSizes(): Promise<void> {
  for (const entry of listEntries()) {
    const { specifier, brotli, gzip, minified, metafile } = await measureEntry(entry)
    const budget = budgets[specifier]
    const over = budget !== undefined && brotli > budget
    console.log(
      `size: ${specifier.padEnd(20)} ${kilobytes(brotli)} brotli, ${kilobytes(gzip)} gzip, ` +
        `${kilobytes(minified)} minified` +
        (budget === undefined
          ? ''
          : `; budget ${kilobytes(budget)} brotli${over ? ': EXCEEDED' : ''}`),
    )
    if (!over) continue
    process.exitCode = 1
    printShares(metafile)
  }
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
