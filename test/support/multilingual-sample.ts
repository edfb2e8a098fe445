// The project's own multilingual messages, written to measure the token estimate: a file for each script,
// in it sections of one language or kind. `=== title` begins a section, `---` parts its messages.
import { readdirSync, readFileSync } from 'node:fs'

/** Messages of one language or kind, read as one conversation. */
export interface SampleConversation {
  /** `latin`, `cyrillic`, `code`, … */
  readonly script: string
  /** `German`, `SQL`, … */
  readonly title: string
  readonly messages: readonly string[]
}

const folder = new URL('./multilingual-sample/', import.meta.url)

export function readMultilingualSample(): readonly SampleConversation[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) =>
      readFileSync(new URL(file, folder), 'utf8')
        .split(/^=== /m)
        .slice(1)
        .map((section) => {
          const [title = '', ...lines] = section.split('\n')
          const messages = lines.join('\n').split(/^---$/m)
          return {
            script: file.replace('.txt', ''),
            title,
            messages: messages.map((message) => message.replace(/^\n+|\n+$/g, '')),
          }
        }),
    )
}

/**
 * Of every four messages, the last two: a question and its answer, so that both halves hold both. The
 * constants of the estimate were fitted to the other two, to help pages, user interfaces and the Universal
 * Declaration of Human Rights in some fifty languages, and to one turn of LoCoMo in forty.
 */
export function isHeldOut(index: number): boolean {
  return index % 4 >= 2
}
