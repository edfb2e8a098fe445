// Short ways to write what the AI SDK's own mock model says, at once or as a stream.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

/** One answer of the model. */
export type Answer = readonly LanguageModelV4Content[]

export const text = (words: string): LanguageModelV4Content => ({ type: 'text', text: words })

export const call = (toolCallId: string, toolName: string, input: unknown = {}) =>
  ({
    type: 'tool-call',
    toolCallId,
    toolName,
    input: JSON.stringify(input),
  }) satisfies LanguageModelV4Content

const finishReasonOf = (answer: Answer) => {
  const unified = answer.some(({ type }) => type === 'tool-call')
    ? ('tool-calls' as const)
    : ('stop' as const)
  return { unified, raw: unified }
}

export const whole = (answer: Answer): LanguageModelV4GenerateResult => ({
  content: [...answer],
  finishReason: finishReasonOf(answer),
  usage,
  warnings: [],
})

/** An answer as parts of a stream: texts in pieces of four characters. */
export function partsOf(answer: Answer): LanguageModelV4StreamPart[] {
  return [
    { type: 'stream-start', warnings: [] },
    ...answer.flatMap((part, index): LanguageModelV4StreamPart[] => {
      const id = String(index)
      if (part.type !== 'text' && part.type !== 'reasoning') {
        return [part as LanguageModelV4StreamPart]
      }
      const pieces = part.text.match(/.{1,4}/gs) ?? []
      const { type } = part
      return [
        { type: `${type}-start`, id },
        ...pieces.map(
          (delta) => ({ type: `${type}-delta`, id, delta }) as LanguageModelV4StreamPart,
        ),
        { type: `${type}-end`, id },
      ]
    }),
    { type: 'finish', finishReason: finishReasonOf(answer), usage },
  ]
}

/** A model that gives these answers, one for each call, whole or streamed. */
export function answering(...answers: readonly Answer[]): MockLanguageModelV4 {
  const rest = [...answers]
  const next = (): Answer => {
    const answer = rest.shift()
    if (answer === undefined) throw new Error('the model was called too often')
    return answer
  }
  return new MockLanguageModelV4({
    doGenerate: async () => whole(next()),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: partsOf(next()),
        initialDelayInMs: null,
        chunkDelayInMs: null,
      }),
    }),
  })
}

/** A stream that gives these parts and then waits until it is aborted. */
export function hangingStream(
  parts: readonly LanguageModelV4StreamPart[],
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const rest = [...parts]
  return new ReadableStream({
    start(controller) {
      signal?.addEventListener('abort', () => controller.error(signal.reason))
    },
    pull(controller) {
      const part = rest.shift()
      if (part !== undefined) controller.enqueue(part)
    },
  })
}

/** A stream that gives these parts and then breaks. */
export function brokenStream(
  parts: readonly LanguageModelV4StreamPart[],
  error: unknown,
): ReadableStream<LanguageModelV4StreamPart> {
  const rest = [...parts]
  return new ReadableStream({
    pull(controller) {
      const part = rest.shift()
      if (part === undefined) controller.error(error)
      else controller.enqueue(part)
    },
  })
}
