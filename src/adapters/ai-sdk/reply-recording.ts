/** Stores an answer of `toUIMessageStream` while it streams. */

import type { UIMessage } from 'ai'
import { randomId } from '../../core/identifiers.ts'

export interface ReplyOptions<UI extends UIMessage = UIMessage> {
  /** The conversation as the chat holds it: when its last message is an answer, that one goes on. */
  readonly messages: readonly UI[]
  /** Is ended once the answer is stored: compaction comes then. Not waited for. */
  readonly run?: { end(messages: readonly never[]): Promise<unknown> } | null | undefined
  /** Keeps a Worker alive until the compaction has ended. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | null | undefined
  /** Hears that the compaction could not be stored. Default: the console. */
  readonly onError?: ((error: unknown) => void) | null | undefined
}

/** Options of `toUIMessageStream`. */
export interface ReplyRecording<UI extends UIMessage = UIMessage> {
  readonly originalMessages: UI[]
  generateMessageId(): string
  onStepEnd(event: { readonly responseMessage: UI }): Promise<void>
  onEnd(event: { readonly responseMessage: UI }): Promise<void>
}

export function recordReply<UI extends UIMessage>(
  { messages, run, waitUntil, onError }: ReplyOptions<UI>,
  save: (message: UI) => Promise<void>,
): ReplyRecording<UI> {
  // biome-ignore lint/suspicious/noConsole: the documented default, nobody else may ever hear of it
  const report = onError ?? ((error: unknown) => console.error(error))
  const store = async ({ responseMessage }: { readonly responseMessage: UI }) => {
    // Stopped before anything came: there is no answer.
    const isSaid = responseMessage.parts.some(({ type }) => type !== 'step-start')
    if (isSaid) await save(responseMessage)
  }
  return {
    originalMessages: [...messages],
    generateMessageId: randomId,
    onStepEnd: store,
    async onEnd(event) {
      await store(event)
      if (run === null || run === undefined) return
      const ended = run.end([]).catch(report)
      waitUntil?.(ended)
    },
  }
}
