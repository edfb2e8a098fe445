/** How long the prompt may get, and what becomes of what leaves it. */

import { generateText, type LanguageModel, type ModelMessage } from 'ai'
import {
  type CompactionStrategy,
  createSessionMemory,
  recursiveSummarization,
  type Session,
  type SessionMemory,
  type SessionService,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'

export interface PageMemoryOptions {
  /** With more turns than this in the prompt, all but the newer half is archived. */
  readonly maxTurns: number
  /** Writes the summary of what is archived; `null`: there is none, and search finds it all the same. */
  readonly summarizer: (() => Promise<LanguageModel>) | null
}

/** What “Archive now” keeps in the prompt, in turns. */
const KEPT_TURNS = 2

export function createPageMemory(
  service: SessionService<ModelMessage>,
  options: PageMemoryOptions,
): SessionMemory<ModelMessage> {
  const { maxTurns } = options
  return createSessionMemory(service, {
    trigger: turnCountTrigger(maxTurns),
    strategy: strategyOf(options, keptTurns(maxTurns)),
  })
}

/** Archives all but the last turns at once; gives how many messages left the prompt. */
export async function archiveNow(
  service: SessionService<ModelMessage>,
  sessionId: string,
  options: PageMemoryOptions,
): Promise<number> {
  const strategy = strategyOf(options, KEPT_TURNS)
  const result = await service.compact(sessionId, { trigger: () => true, strategy })
  if (result.status === 'failed') throw result.error ?? new Error('No summary could be made.')
  return result.eventsRemoved
}

/** Events for each turn in the prompt, above which it is worth a look whether the prompt is too long. */
const WORTH_A_LOOK = 8

/**
 * Makes a prompt fit before the first question: an imported conversation may be far too long for any
 * model, and for a summary. Reads nothing of a conversation that is short enough.
 */
export async function fitPrompt(
  service: SessionService<ModelMessage>,
  { id, eventCount }: Session,
  { maxTurns }: PageMemoryOptions,
): Promise<void> {
  if (eventCount <= maxTurns * WORTH_A_LOOK) return
  const { status, error } = await service.compact(id, {
    trigger: turnCountTrigger(maxTurns),
    strategy: turnWindow({ maxTurns: keptTurns(maxTurns) }),
  })
  if (status === 'failed') throw error ?? new Error('The prompt could not be made to fit.')
}

function keptTurns(maxTurns: number): number {
  return Math.max(1, Math.ceil(maxTurns / 2))
}

function strategyOf({ summarizer }: PageMemoryOptions, turns: number): CompactionStrategy {
  if (summarizer === null) return turnWindow({ maxTurns: turns })
  return recursiveSummarization({
    maxEventsToKeep: turns * 2,
    overlapSize: Math.min(2, turns),
    async summarize({ system, prompt }, { signal }) {
      const model = await summarizer()
      const { text } = await generateText({
        model,
        instructions: system,
        prompt,
        abortSignal: signal,
      })
      return text
    },
  })
}
