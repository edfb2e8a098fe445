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
import { languageModel } from '../model/streaming.ts'
import { messageOf } from '../sessions/conversations.ts'
import { INSTRUCTIONS } from './wording.ts'

/** Searches and answers of one question, at most. */
const MAX_STEPS = 6

export interface PageTransportOptions {
  readonly service: SessionService<ModelMessage>
  readonly memory: SessionMemory<ModelMessage>
  readonly getModel: () => Promise<LanguageModel>
  /** The run that the next request is: its events are named by it. */
  readonly getRunId: () => string
  /** Hears of every run: its `settled` says when all of it is stored. */
  readonly onRun: (run: AiRun) => void
}

/** The id of the event that a run's question becomes, and so of its message. */
export function questionId(runId: string): string {
  return `${runId}:0`
}

export function createPageTransport(options: PageTransportOptions): ChatTransport<UIMessage> {
  const { service, memory, getModel, getRunId, onRun } = options
  /** A question that is answered anew stands in the log: the view ends with it, and nothing is new. */
  const answering: SessionMemory<ModelMessage> = {
    begin: (request) => memory.begin({ ...request, messages: [] }),
  }
  return {
    async sendMessages({ trigger, chatId, messages, abortSignal }) {
      const question = messages.findLast(({ role }) => role === 'user')
      if (question === undefined) throw new Error('There is no question to answer.')
      const isAnew = trigger === 'regenerate-message'
      const runId = getRunId()
      const session = await service.findOrCreate({ id: chatId })
      const run = createAiRun(isAnew ? answering : memory, {
        sessionId: chatId,
        runId,
        onError: () => undefined, // `settled` throws it as well
      })
      onRun(run)
      const model = await getModel().catch(speechless)
      abortSignal?.throwIfAborted() // stopped before anything was asked: nothing is stored then
      const result = streamText({
        model,
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
        generateMessageId: () => `${runId}:${isAnew ? 0 : 1}`,
        onError: describe,
      })
    },
    reconnectToStream: () => Promise.resolve(null),
  }
}

/** Fails when it is asked, and not before the question is stored. */
function speechless(error: unknown): LanguageModel {
  return languageModel('none', () => {
    throw error
  })
}

function describe(error: unknown): string {
  const { statusCode, url } = error as { readonly statusCode?: number; readonly url?: string }
  const message = messageOf(error)
  return statusCode === undefined ? message : `${url} answered ${statusCode}: ${message}`
}
