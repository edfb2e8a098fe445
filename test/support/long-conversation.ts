// A long conversation, compacted again and again: nothing is lost, and everything is found.
import {
  CONVERSATION_ID,
  type CompactionStrategy,
  createSessionEventTools,
  EventFilter,
  formatEvent,
  recursiveSummarization,
  type SessionEvent,
  type SessionService,
  slidingWindow,
  tokenCount,
  turnWindow,
} from 'turnlog'
import { expect } from 'vitest'
import { withoutPlace } from './log-invariants.ts'
import { requiredOf } from './turn-safety.ts'

export interface LongTurn {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Epoch milliseconds, of no other turn. */
  readonly timestamp: number
}

export interface StrategyCase {
  readonly strategy: CompactionStrategy
  /** Whether these events are within what the strategy promises. */
  readonly fits: (view: readonly SessionEvent[]) => boolean
}

const real = (view: readonly SessionEvent[]) => view.filter((event) => !event.synthetic)
const length = (text: string) => text.length

/** Every built-in strategy, with a deterministic stand-in for the model. */
export const strategyCases: Readonly<Record<string, () => StrategyCase>> = {
  slidingWindow: () => ({
    strategy: slidingWindow({ maxEvents: 20 }),
    fits: (view) => real(view).length <= 20,
  }),
  turnWindow: () => ({
    strategy: turnWindow({ maxTurns: 8 }),
    fits: (view) => real(view).filter(({ message }) => message.role === 'user').length <= 8,
  }),
  tokenCount: () => ({
    strategy: tokenCount({ maxTokens: 4000, estimateTokens: length }),
    fits: (view) => view.reduce((sum, event) => sum + formatEvent(event).length, 0) <= 4000,
  }),
  recursiveSummarization: () => {
    let summaries = 0
    return {
      strategy: recursiveSummarization({
        maxEventsToKeep: 12,
        summarize: ({ prompt }) => `Summary ${++summaries}, of ${prompt.length} characters.`,
      }),
      fits: (view) => real(view).length <= 12 && view.length - real(view).length <= 2,
    }
  },
}

export interface LongConversationReport {
  readonly turns: number
  readonly compactions: number
  /** The largest view that a compaction left, in events. */
  readonly largestView: number
  readonly archived: number
  readonly words: number
  /** Turns that the searches found, all pages together. */
  readonly hits: number
}

/** Every how many turns it is compacted. */
const STRIDE = 25

/** Fails unless the conversation comes through whole; tells what was done. */
export async function checkLongConversation(
  service: SessionService,
  turns: readonly LongTurn[],
  { strategy, fits }: StrategyCase,
): Promise<LongConversationReport> {
  await service.create({ id: 's' })
  let compactions = 0
  let largestView = 0
  let before: readonly SessionEvent[] = []
  for (let start = 0; start < turns.length; start += STRIDE) {
    await service.appendEvents(
      's',
      turns.slice(start, start + STRIDE).map(({ id, role, text, timestamp }) => ({
        id,
        timestamp,
        message: { role, content: text },
      })),
    )
    const view = await service.getEvents('s', EventFilter.active())
    const result = await service.compact('s', { trigger: () => true, strategy })
    if (result.status === 'compacted') compactions++
    else expect(result.status).toBe('nothing-to-archive')
    // Never over its limit but by the newest turn.
    const after = result.compactedEvents
    largestView = Math.max(largestView, after.length)
    const required = new Set(Array.from(requiredOf(view), ({ id }) => id))
    expect(fits(after) || real(after).every(({ id }) => required.has(id))).toBe(true)

    const log = await service.getEvents('s')
    expect(log.slice(0, before.length).map(withoutPlace)).toEqual(before.map(withoutPlace))
    before = log
    const places = new Set([
      ...after.map(({ id }) => id),
      ...log.filter((event) => event.archived).map(({ id }) => id),
    ])
    expect(places.size).toBe(log.length)
    expect(after.length + log.filter((event) => event.archived).length).toBe(log.length)
  }

  const log = await service.getEvents('s')
  expect(real(log).map(({ id }) => id)).toEqual(turns.map(({ id }) => id))
  const archived = real(log).filter((event) => event.archived)
  const words = chooseWords(archived, 300)
  let hits = 0
  for (const word of words) {
    const expected = turns.filter(({ text }) => text.toLowerCase().includes(word))
    const found = await searchAll(service, word)
    expect(found).toEqual(
      expected.map(({ role, text, timestamp }) => ({
        timestamp: new Date(timestamp).toISOString().replace('.000Z', 'Z'),
        type: role,
        text,
      })),
    )
    const events = await service.getEvents('s', { keyword: word, excludeSynthetic: true })
    expect(events.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    hits += found.length
  }
  return {
    turns: turns.length,
    compactions,
    largestView,
    archived: archived.length,
    words: words.length,
    hits,
  }
}

/** Words of five letters or more from the events, spread over them. */
function chooseWords(events: readonly SessionEvent[], count: number): readonly string[] {
  const words = new Set(
    events.flatMap(({ message }) =>
      typeof message.content === 'string'
        ? (message.content.toLowerCase().match(/[a-z]{5,}/g) ?? [])
        : [],
    ),
  )
  const all = [...words]
  const step = Math.max(1, all.length / count)
  return Array.from(
    { length: Math.min(count, all.length) },
    (_, index) => all[Math.floor(index * step)] ?? '',
  )
}

/** All pages of the model's tool. */
async function searchAll(service: SessionService, query: string): Promise<readonly unknown[]> {
  const [tool] = createSessionEventTools(service)
  const found: unknown[] = []
  for (let page = 0; ; page++) {
    const args = { innerThought: '', query, page }
    const answer = await tool.execute(args, { [CONVERSATION_ID]: 's' })
    if (answer === 'No results found.') return found
    found.push(...(JSON.parse(answer) as readonly unknown[]))
  }
}

/** A made-up conversation: the same each time, with words of its own in most turns. */
export function makeUpConversation(count: number): readonly LongTurn[] {
  let state = 1
  const next = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % limit
  }
  const syllables = ['ba', 'lu', 'mi', 'ro', 'te', 'ka', 'no', 'si', 'ven', 'dor', 'pel', 'gra']
  const word = () =>
    Array.from({ length: 2 + next(3) }, () => syllables[next(syllables.length)]).join('')
  const timestamps = Date.UTC(2026, 0, 1)
  return Array.from({ length: count }, (_, index) => ({
    id: `turn ${index}`,
    // Mostly in turn, sometimes several answers in a row.
    role: index % 2 === 0 || next(7) === 0 ? ('user' as const) : ('assistant' as const),
    text: Array.from({ length: 3 + next(30) }, word).join(' '),
    timestamp: timestamps + index * 1000,
  }))
}
