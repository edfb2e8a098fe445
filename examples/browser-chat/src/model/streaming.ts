/** What every model of this page needs to speak the AI SDK's language-model interface. */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'

/** What a model says: text in pieces, or one call of a tool. */
export type Utterance =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-call'; readonly toolName: string; readonly input: unknown }

const USAGE: LanguageModelV4Usage = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}

/** A model of the AI SDK that says what `speak` says. */
export function languageModel(
  modelId: string,
  speak: (options: LanguageModelV4CallOptions) => AsyncIterable<Utterance>,
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'browser-chat',
    modelId,
    supportedUrls: {},
    async doGenerate(options): Promise<LanguageModelV4GenerateResult> {
      const content: LanguageModelV4GenerateResult['content'] = []
      let text = ''
      for await (const said of speak(options)) {
        if (said.type === 'text') text += said.text
        else content.push(toolCall(said))
      }
      if (text !== '') content.unshift({ type: 'text', text })
      return {
        content,
        finishReason: finish(content.length > (text === '' ? 0 : 1)),
        usage: USAGE,
        warnings: [],
      }
    },
    async doStream(options) {
      return { stream: toStream(speak(options)) }
    },
  }
}

/** The text of a message of a prompt. */
export function promptText({ content }: LanguageModelV4Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function toStream(speech: AsyncIterable<Utterance>): ReadableStream<LanguageModelV4StreamPart> {
  const parts = streamParts(speech)
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await parts.next()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(error)
      }
    },
    async cancel() {
      await parts.return(undefined)
    },
  })
}

async function* streamParts(
  speech: AsyncIterable<Utterance>,
): AsyncGenerator<LanguageModelV4StreamPart, undefined> {
  yield { type: 'stream-start', warnings: [] }
  const id = '0'
  let isTalking = false
  let hasCalled = false
  for await (const said of speech) {
    if (said.type === 'text') {
      if (!isTalking) yield { type: 'text-start', id }
      isTalking = true
      yield { type: 'text-delta', id, delta: said.text }
    } else {
      hasCalled = true
      yield toolCall(said)
    }
  }
  if (isTalking) yield { type: 'text-end', id }
  yield { type: 'finish', finishReason: finish(hasCalled), usage: USAGE }
  return undefined
}

function toolCall({ toolName, input }: Extract<Utterance, { type: 'tool-call' }>) {
  const toolCallId = `call-${Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join('')}`
  return { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) } as const
}

function finish(hasCalled: boolean) {
  const unified = hasCalled ? ('tool-calls' as const) : ('stop' as const)
  return { unified, raw: unified }
}
