// What stands in for a model of the AI SDK in the code of the documents: it searches when it is asked about
// what it cannot see, and says what it found.
import type { LanguageModelV4CallOptions, LanguageModelV4Content } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

function answer({ prompt, tools }: LanguageModelV4CallOptions): LanguageModelV4Content {
  const last = prompt.at(-1)
  if (last?.role === 'tool') {
    const [part] = last.content
    const found =
      part?.type === 'tool-result' && part.output.type === 'text' ? part.output.value : ''
    const [hit] = found.startsWith('[') ? JSON.parse(found) : []
    return { type: 'text', text: hit === undefined ? found : `You said: “${hit.text}”` }
  }
  const [part] = last?.role === 'user' ? last.content.slice(-1) : []
  const question = part?.type === 'text' ? part.text : ''
  const word = /called (\w+)|my (\w+)\?/i.exec(question)?.[2]
  const knows = prompt
    .slice(0, -1)
    .some(({ content }) => JSON.stringify(content).includes(`${word} is`))
  if (word === undefined || knows || tools === undefined) {
    return { type: 'text', text: question.endsWith('?') ? 'I know.' : 'Noted.' }
  }
  const input = JSON.stringify({ innerThought: `What did they say of the ${word}?`, query: word })
  return {
    type: 'tool-call',
    toolCallId: `call-${prompt.length}`,
    toolName: 'conversation_search',
    input,
  }
}

export const model = new MockLanguageModelV4({
  doGenerate: async (options) => {
    const content = answer(options)
    const unified = content.type === 'tool-call' ? ('tool-calls' as const) : ('stop' as const)
    return { content: [content], finishReason: { unified, raw: unified }, usage, warnings: [] }
  },
  doStream: async (options) => {
    const content = answer(options)
    const unified = content.type === 'tool-call' ? ('tool-calls' as const) : ('stop' as const)
    return {
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: 'stream-start', warnings: [] },
          ...(content.type === 'text'
            ? ([
                { type: 'text-start', id: '1' },
                { type: 'text-delta', id: '1', delta: content.text },
                { type: 'text-end', id: '1' },
              ] as const)
            : [content as never]),
          { type: 'finish', finishReason: { unified, raw: unified }, usage },
        ],
      }),
    }
  },
})
