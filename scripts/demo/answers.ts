// What the stores' answers are compared with: EventFilter.apply over the whole log, in the words of
// conversation_search.
import { EventFilter } from '../../src/index.ts'
import { snippetAround } from '../../src/tools/snippet.ts'
import type { StoredEvent } from './session-operations.ts'

/** Every page that `conversation_search` has to give for a query. */
export function expectedPages(log: readonly StoredEvent[], query: string): readonly string[] {
  const events = log.map((event) => ({
    ...event,
    timestamp: new Date(event.timestamp),
    message: { role: event.type, content: event.text },
    branch: null,
    rewound: false,
  }))
  const pages: string[] = []
  for (;;) {
    const found = EventFilter.of({
      keyword: query,
      excludeSynthetic: true,
      page: pages.length,
      pageSize: EventFilter.DEFAULT_PAGE_SIZE,
    }).apply(events)
    if (found.length === 0) return [...pages, 'No results found.']
    pages.push(
      JSON.stringify(
        found.map(({ timestamp, type, text }) => ({
          timestamp: timestamp.toISOString().replace('.000Z', 'Z'),
          type,
          ...snippetAround(text, [query]),
        })),
      ),
    )
  }
}

/** One message of an answer. */
export interface Hit {
  readonly timestamp: string
  readonly type: string
  readonly text: string
}

/** The messages of an answer's pages. `No results found.`, and an error text, hold none. */
export function hitsOf(pages: readonly string[]): readonly Hit[] {
  return pages.flatMap((page) => (page.startsWith('[') ? (JSON.parse(page) as Hit[]) : []))
}

/** What a store's log must have in common with every other's: summaries get their id and time in each. */
export function comparableLog(log: readonly StoredEvent[]): string {
  return JSON.stringify(
    log.map((event) => (event.synthetic ? { ...event, id: '', timestamp: 0 } : event)),
  )
}
