// What the demo does with a store, written once and run in three places: in Node over the in-memory
// store, in a page over IndexedDB, in a Worker over Durable Objects. Everything that goes in and comes
// out is plain JSON, because it travels there and back.
import {
  CONVERSATION_ID,
  createSessionEventTools,
  EventFilter,
  type MessageType,
  messageText,
  recursiveSummarization,
  type SessionService,
  type SummaryPrompt,
  turnCountTrigger,
} from '../../src/index.ts'

/** A message on its way into a store. */
export interface NewMessage {
  readonly id: string
  readonly role: MessageType
  readonly text: string
  readonly timestamp: number
}

/** A stored event, as JSON. */
export interface StoredEvent {
  readonly id: string
  readonly seq: number
  readonly timestamp: number
  readonly type: MessageType
  readonly text: string
  readonly synthetic: boolean
  readonly archived: boolean
}

export interface CompactionReport {
  readonly status: string
  readonly error: string | null
  /** Events that left the view. */
  readonly archived: number
  /** Events of the view after it, and how many of them are a summary. */
  readonly view: number
  readonly summaries: number
}

export interface SessionOperations {
  append(sessionId: string, messages: readonly NewMessage[]): Promise<void>
  compact(sessionId: string): Promise<CompactionReport>
  /** The whole log, or only the active view in its order. */
  read(sessionId: string, only: 'log' | 'view'): Promise<readonly StoredEvent[]>
  /** Every page that `conversation_search` gives for each query, the last one (`No results found.`) included. */
  search(sessionId: string, queries: readonly string[]): Promise<readonly (readonly string[])[]>
}

/** What the demo's agents keep in view when more than a few turns have come together. */
export const MAX_TURNS = 4
export const MAX_EVENTS_TO_KEEP = 6

/** No conversation of the demo has that many pages; a store that never ends is a broken one. */
const MAX_PAGES = 10_000

export function createOperations(sessions: SessionService): SessionOperations {
  const [conversationSearch] = createSessionEventTools(sessions)
  const trigger = turnCountTrigger(MAX_TURNS)
  const strategy = recursiveSummarization({ summarize, maxEventsToKeep: MAX_EVENTS_TO_KEEP })

  return {
    async append(sessionId, messages) {
      await sessions.findOrCreate({ id: sessionId, timeToLive: null })
      await sessions.appendEvents(
        sessionId,
        messages.map(({ id, role, text, timestamp }) => ({
          id,
          timestamp,
          message: { role, content: text },
        })),
      )
    },

    async compact(sessionId) {
      const result = await sessions.compact(sessionId, { trigger, strategy })
      const { status, error, eventsRemoved, compactedEvents } = result
      return {
        status,
        error: error === undefined ? null : String(error),
        archived: eventsRemoved,
        view: compactedEvents.length,
        summaries: compactedEvents.filter(({ synthetic }) => synthetic).length,
      }
    },

    async read(sessionId, only) {
      const filter = only === 'view' ? EventFilter.active() : EventFilter.all()
      const events = await sessions.getEvents(sessionId, filter)
      return events.map(({ id, seq, timestamp, message, synthetic, archived }) => ({
        id,
        seq,
        timestamp: timestamp.getTime(),
        type: message.role,
        text: messageText(message),
        synthetic,
        archived,
      }))
    },

    async search(sessionId, queries) {
      const context = { [CONVERSATION_ID]: sessionId }
      const answers: (readonly string[])[] = []
      for (const query of queries) {
        const pages: string[] = []
        do {
          const innerThought = 'The user refers to something that I no longer see.'
          const args = { innerThought, query, page: pages.length }
          pages.push(await conversationSearch.execute(args, context))
        } while (pages.at(-1)?.startsWith('[') && pages.length < MAX_PAGES)
        answers.push(pages)
      }
      return answers
    },
  }
}

/** Stands for a model that writes summaries: it says what it would have summarised. */
function summarize({ prompt }: SummaryPrompt): string {
  const messages = /Messages to summarise:\n(.*?)(?:\n\n|$)/s.exec(prompt)?.[1]?.split('\n') ?? []
  const earlier = prompt.startsWith('Earlier summary:') ? 'what the summary before says, and ' : ''
  const begin = [...(messages[0]?.replace(/^.*?: /, '') ?? '')].slice(0, 40).join('')
  return `${earlier}${messages.length} messages from “${begin}…” on`
}
