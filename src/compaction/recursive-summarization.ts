/** A strategy that replaces older events by a summary, written by a model that sees the summary before. */

import {
  readFunction,
  readInteger,
  readOptionalFunction,
  readOptions,
  readPositive,
  readText,
} from '../core/arguments.ts'
import type { CompactionStrategy } from '../core/compact.ts'
import { invalidArgument, SessionError } from '../core/errors.ts'
import { type EventFormatter, formatEvent } from '../core/format-event.ts'
import { messageText } from '../core/message.ts'
import type { SessionEvent } from '../core/session.ts'
import { keepSafely } from '../core/turns.ts'
import { untilAborted } from '../core/until-aborted.ts'
import { splitView, windowStart } from './windows.ts'

/** The metadata key that tells which strategy wrote a summary. */
export const METADATA_COMPACTION_SOURCE = 'compactionSource'

/** What the model is asked. */
export interface SummaryPrompt {
  readonly system: string
  readonly prompt: string
}

/** The model that writes summaries, and what it is given. */
export interface RecursiveSummarizationOptions {
  /** Any model: gives the summary's text. An empty one archives nothing. */
  readonly summarize: (
    prompt: SummaryPrompt,
    context: { readonly signal: AbortSignal },
  ) => string | null | undefined | Promise<string | null | undefined>
  /** Real events of the root branch that stay. Default 10. */
  readonly maxEventsToKeep?: number | null | undefined
  /** How many of the kept events the model sees besides, so that the summary joins on. Default 2. */
  readonly overlapSize?: number | null | undefined
  readonly systemPrompt?: string | null | undefined
  /** The text of the synthetic user message that the summary answers. */
  readonly shadowPrompt?: string | null | undefined
  /** How events look in the prompt. */
  readonly formatEvent?: EventFormatter | undefined
  /** Hears why no summary came about; the compaction's status is `failed` besides. */
  readonly onFailure?: ((error: unknown) => void) | null | undefined
}

const SYSTEM_PROMPT =
  'You keep the running summary of a conversation between a user and an assistant. Write a new ' +
  'summary that holds everything from the earlier summary and the messages below that the assistant ' +
  'may need later: facts, names, numbers, decisions, open questions and what was promised. Be brief, ' +
  'invent nothing, and write in the language of the conversation. Answer with the summary only.'

const SHADOW_PROMPT = 'What have we talked about so far?'

/**
 * Keeps the newest `maxEventsToKeep` root events with their turns and replaces what is older by a pair of
 * synthetic events: a question, and the model's summary as its answer. The next summary gets this one
 * as input.
 */
export function recursiveSummarization(given: RecursiveSummarizationOptions): CompactionStrategy {
  const options = readOptions(given)
  const summarize = readFunction(options.summarize, 'summarize') as NonNullable<
    typeof options.summarize
  >
  const maxEventsToKeep = readPositive(options.maxEventsToKeep, 'maxEventsToKeep', 10)
  const overlapSize = readInteger(options.overlapSize, 'overlapSize', { least: 0, fallback: 2 })
  if (overlapSize >= maxEventsToKeep) {
    throw invalidArgument(
      'overlapSize',
      `must be smaller than maxEventsToKeep (${maxEventsToKeep})`,
    )
  }
  const system = readText(options.systemPrompt, 'systemPrompt', SYSTEM_PROMPT)
  const shadow = readText(options.shadowPrompt, 'shadowPrompt', SHADOW_PROMPT)
  const format = readFunction(options.formatEvent, 'formatEvent', formatEvent)
  const onFailure = readOptionalFunction(options.onFailure, 'onFailure')

  return async (view, { signal }) => {
    const { real, summaries } = splitView(view)
    const window = real.slice(windowStart(real, maxEventsToKeep))
    if (window.length === real.length) return null
    const kept = keepSafely(view, new Set(window.map(({ id }) => id)))
    const isKept = new Set(kept)
    const archived = real.filter((event) => !isKept.has(event))
    if (archived.length === 0) return null

    const render = (events: readonly SessionEvent[]) =>
      events.filter(isThere).map(format).join('\n')
    // The question of an earlier pair is a placeholder; its answer is the summary.
    const earlier = summaries.filter((event, index) => {
      const isQuestion = event.message.role === 'user'
      return isThere(event) && !(isQuestion && summaries[index + 1]?.message.role === 'assistant')
    })
    const prompt = [
      ...earlier.map((event) => `Earlier summary:\n${messageText(event.message)}`),
      `Messages to summarise:\n${render(archived)}`,
      ...(overlapSize === 0
        ? []
        : [`What follows them, for context only:\n${render(kept.slice(0, overlapSize))}`]),
    ].join('\n\n')

    try {
      const request = { system, prompt: prompt.toWellFormed() }
      // Also of an abort that the model does not heed, `onFailure` hears at once.
      const text = await untilAborted(signal, async () => summarize(request, { signal }))
      if (typeof text !== 'string' || text.trim() === '') {
        throw new SessionError('COMPACTION_FAILED', 'the summary is empty')
      }
      const metadata = { [METADATA_COMPACTION_SOURCE]: 'recursive-summarization' }
      return {
        summaries: [
          { message: { role: 'user', content: shadow }, metadata },
          { message: { role: 'assistant', content: text }, metadata },
        ],
        keep: kept.map(({ id }) => id),
      }
    } catch (error) {
      onFailure?.(error)
      throw error
    }
  }
}

function isThere(event: SessionEvent): boolean {
  return event.metadata['erased'] !== true
}
