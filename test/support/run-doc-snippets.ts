// Runs the snippets of the documents that belong to a runtime, and compares what they print.
// scripts/doc-snippets.ts tells how they come about.
import { expect, test, vi } from 'vitest'

export interface SnippetTest {
  readonly file: string
  readonly name: string
  readonly blocks: readonly { readonly line: number; readonly prints: string | null }[]
}

/** As in scripts/doc-snippets.ts, which no browser can import. */
const BLOCK_MARK = 'turnlog docs block '

/** Registers one test for each snippet; `modules` is what a glob of the folder gives, by any path. */
export function testSnippets(
  snippets: readonly SnippetTest[],
  modules: Readonly<Record<string, () => Promise<unknown>>>,
): void {
  test.each(snippets.map((snippet) => [snippet.name, snippet] as const))(
    '%s',
    async (_, snippet) => {
      const path = Object.keys(modules).find((key) => key.endsWith(`/${snippet.file}`))
      const run = modules[path ?? '']
      if (run === undefined) throw new Error(`${snippet.file} has not been written`)
      const printed = new Map<number, string[]>()
      let lines: string[] = []
      printed.set(snippet.blocks[0]?.line ?? 0, lines)
      const log = vi.spyOn(console, 'log').mockImplementation((...values: readonly unknown[]) => {
        const text = values.map(show).join(' ')
        if (text.startsWith(BLOCK_MARK)) {
          lines = []
          printed.set(Number(text.slice(BLOCK_MARK.length)), lines)
        } else lines.push(text)
      })
      try {
        await run()
      } finally {
        log.mockRestore()
      }
      for (const { line, prints } of snippet.blocks) {
        if (prints !== null) expect(printed.get(line)?.join('\n')).toBe(prints)
      }
    },
  )
}

/** As people read it: texts bare, data as JSON. */
function show(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
}
