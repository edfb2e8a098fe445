// The code in README.md and docs/*.md runs as tests: this takes the ```ts blocks out of them and writes
// each as a module to reports/snippets/{node,browser,workers}, where the docs tests of that runtime
// (test/*/docs.test.ts) run it and `npm run types` checks it. vitest.config.ts calls it.
//
// A block says after ```ts how it runs; readers do not see that:
//   ```ts                   in Node
//   ```ts browser           in Chromium
//   ```ts worker            in workerd
//   ```ts types             types only, for code that needs what a test has not (a provider's key, a page)
//   ```ts continued         goes on with the block before it, as one module
//   ```ts with=model,reply  some names come from docs/stand-ins/*.ts, where such things as a model stand
//   ```ts file=examples/a.ts  shows that file, which has tests of its own: the two must be the same;
//                           so does ```toml file=…
// Words combine: ```ts worker types. What a block prints (console.log) must be what the next
// ```text prints block says, when the one that follows it is such a block.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './entries.ts'

export type SnippetRuntime = 'node' | 'browser' | 'workers'

/** Blocks that make one module. */
export interface DocSnippet {
  readonly runtime: SnippetRuntime
  /** `docs/editing.md:12`, the line where its first block starts. */
  readonly name: string
  readonly blocks: readonly SnippetBlock[]
  /** Only its types are checked. */
  readonly typesOnly: boolean
  /** Names that come from docs/stand-ins. */
  readonly standIns: readonly string[]
  /** The file that it shows, from the root; it is not run then. */
  readonly file: string | null
}

export interface SnippetBlock {
  readonly code: string
  readonly line: number
  /** What it must print; `null`: anything. */
  readonly prints: string | null
}

const folder = join(root, 'reports/snippets')
const standInFolder = join(root, 'docs/stand-ins')

/** The documents whose code runs, from the root. */
export function listDocuments(): readonly string[] {
  const names = readdirSync(root).filter((name) => name === 'README.md')
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  return [...names, ...docs.sort().map((name) => `docs/${name}`)]
}

/** The snippets of one document's text. */
export function extractSnippets(document: string, text: string): readonly DocSnippet[] {
  const snippets: { -readonly [K in keyof DocSnippet]: DocSnippet[K] }[] = []
  const lines = text.split('\n')
  let isPrintable = false
  for (let index = 0; index < lines.length; index++) {
    const fence = /^(\s*)(```+)(\S*)\s*(.*)$/.exec(lines[index] ?? '')
    if (fence === null) continue
    const [, indent, ticks = '', language, words = ''] = fence
    const line = index + 1
    const where = `${document}:${line}`
    const end = lines.findIndex((other, at) => at > index && other.trim() === ticks)
    if (end < 0) throw new Error(`${where}: the block has no end`)
    const code = lines.slice(index + 1, end).join('\n')
    index = end
    const last = snippets.at(-1)
    const lastBlock = last?.blocks.at(-1)
    if (language === 'text' && words === 'prints') {
      if (last === undefined || lastBlock === undefined || !isPrintable) {
        throw new Error(`${where}: there is no code before it that could print this`)
      }
      last.blocks = [...last.blocks.slice(0, -1), { ...lastBlock, prints: code }]
      isPrintable = false
      continue
    }
    if (language !== 'ts' && !words.startsWith('file=')) continue
    if (indent !== '') throw new Error(`${where}: an indented block would not be run`)
    isPrintable = true
    const block = { code, line, prints: null }
    const { runtime, typesOnly, continued, standIns, file } = readWords(words, where)
    if (!continued) {
      snippets.push({ runtime, name: where, blocks: [block], typesOnly, standIns, file })
    } else if (last === undefined) {
      throw new Error(`${where}: there is nothing to continue`)
    } else {
      last.blocks = [...last.blocks, block]
      last.standIns = [...new Set([...last.standIns, ...standIns])]
    }
  }
  return snippets
}

function readWords(words: string, where: string) {
  let runtime: SnippetRuntime = 'node'
  let typesOnly = false
  let continued = false
  let standIns: readonly string[] = []
  let file: string | null = null
  for (const word of words.split(/\s+/).filter((given) => given !== '')) {
    if (word === 'browser') runtime = 'browser'
    else if (word === 'worker') runtime = 'workers'
    else if (word === 'types') typesOnly = true
    else if (word === 'continued') continued = true
    else if (word.startsWith('with=')) standIns = word.slice('with='.length).split(',')
    else if (word.startsWith('file=')) file = word.slice('file='.length)
    else throw new Error(`${where}: "${word}" is not known; see scripts/doc-snippets.ts`)
  }
  return { runtime, typesOnly, continued, standIns, file }
}

/** A snippet as a module. */
export function toModule(snippet: DocSnippet, standIns: ReadonlyMap<string, string>): string {
  const imports = snippet.standIns.map((name) => {
    const file = standIns.get(name)
    if (file === undefined) throw new Error(`${snippet.name}: no stand-in is named "${name}"`)
    const from = relative(join(folder, snippet.runtime), join(standInFolder, file))
    return `import { ${name} } from '${from}'\n`
  })
  const isSingle = snippet.blocks.length === 1
  const blocks = snippet.blocks.map(({ code, line }) =>
    isSingle ? `${code}\n` : `console.log(${JSON.stringify(`${BLOCK_MARK}${line}`)})\n${code}\n`,
  )
  return `// From ${snippet.name}; written by scripts/doc-snippets.ts.\n${imports.join('')}${blocks.join('')}export {}\n`
}

/** What a module of several blocks prints before each, followed by the block's line. */
export const BLOCK_MARK = 'turnlog docs block '

/** Which file in docs/stand-ins exports a name. */
function findStandIns(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const file of readdirSync(standInFolder)) {
    const text = readFileSync(join(standInFolder, file), 'utf8')
    for (const [, name] of text.matchAll(
      /^export (?:const|async function|function|class) (\w+)/gm,
    )) {
      if (name !== undefined) found.set(name, file)
    }
  }
  return found
}

/** Every snippet of every document. */
export function listSnippets(): readonly DocSnippet[] {
  return listDocuments().flatMap((document) =>
    extractSnippets(document, readFileSync(join(root, document), 'utf8')),
  )
}

/** Writes the modules, and beside them as JSON what the tests of each runtime have to know. */
export function writeDocSnippets(): void {
  const standIns = findStandIns()
  const snippets = listSnippets().filter(({ file }) => file === null)
  for (const runtime of ['node', 'browser', 'workers'] as const) {
    const files = new Map<string, string>()
    const tests = []
    for (const snippet of snippets.filter((other) => other.runtime === runtime)) {
      const file = `${snippet.name.replaceAll(/[^\w]+/g, '-')}.ts`
      files.set(file, toModule(snippet, standIns))
      const { name, blocks, typesOnly } = snippet
      if (typesOnly) continue
      tests.push({ file, name, blocks: blocks.map(({ line, prints }) => ({ line, prints })) })
    }
    files.set('snippets.json', `${JSON.stringify(tests, null, 2)}\n`)
    writeFolder(join(folder, runtime), files)
  }
}

/** Makes a folder hold exactly these files, and touches none that is right already: others may be reading. */
function writeFolder(path: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(path, { recursive: true })
  const present = readdirSync(path)
  for (const file of present) if (!files.has(file)) rmSync(join(path, file))
  for (const [file, text] of files) {
    const isRight = present.includes(file) && readFileSync(join(path, file), 'utf8') === text
    if (!isRight) writeFileSync(join(path, file), text)
  }
}
