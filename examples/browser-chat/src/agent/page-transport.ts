/** Runs the agent in the page: what `useChat` otherwise asks a server for. */

import {
  type ChatTransport,
  convertToModelMessages,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  streamText,
  toUIMessageStream,
  type UIMessage,
} from 'ai'
import type { SessionMemory, SessionService } from 'turnlog'
import { type AiRun, aiSessionTools, createAiRun } from 'turnlog/ai-sdk'
import { INSTRUCTIONS } from './wording.ts'

/** Searches and answers of one question, at most. */
const MAX_STEPS = 6

export interface PageTransportOptions {
  readonly service: SessionService<ModelMessage>
  readonly memory: SessionMemory<ModelMessage>
  readonly getModel: () => Promise<LanguageModel>
  /** Hears of every run: its `settled` says when all of it is stored. */
  readonly onRun: (run: AiRun) => void
}

/** The id of the event that a run's question becomes, and so of its message. */
export function questionId(runId: string): string {
  return `${runId}:0`
}

export function createPageTransport(options: PageTransportOptions): ChatTransport<UIMessage> {
  const { service, memory, getModel, onRun } = options
  return {
    async sendMessages({ chatId, messages, abortSignal }) {
      const question = messages.findLast(({ role }) => role === 'user')
      if (question === undefined) throw new Error('There is no question to answer.')
      const runId = question.id.replace(/:0$/, '')
      const session = await service.findOrCreate({ id: chatId })
      const run = createAiRun(memory, { sessionId: chatId, runId })
      onRun(run)
      const result = streamText({
        model: await getModel(),
        instructions: INSTRUCTIONS,
        messages: await convertToModelMessages([question]),
        tools: aiSessionTools(service, { sessionId: chatId, userId: session.userId }),
        stopWhen: isStepCount(MAX_STEPS),
        ...(abortSignal === undefined ? {} : { abortSignal }),
        // The page shows the error itself; the default writes it to the console as well.
        onError: () => undefined,
        ...run.callbacks,
      })
      return toUIMessageStream({
        stream: result.stream,
        generateMessageId: () => `${runId}:1`,
        onError: (error) => (error instanceof Error ? error.message : String(error)),
      })
    },
    reconnectToStream: () => Promise.resolve(null),
  }
}
