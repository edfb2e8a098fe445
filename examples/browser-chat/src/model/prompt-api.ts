/**
 * The browser's own model, through its Prompt API. That API has no tools of its own that answer in the
 * middle of a prompt, so the model is asked first, with an answer in a given form, what to search for.
 */

import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { CONVERSATION_SEARCH } from 'turnlog'
import { languageModel, promptText } from './streaming.ts'

interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

interface PromptSession {
  prompt(
    text: string,
    options?: { signal?: AbortSignal; responseConstraint?: object },
  ): Promise<string>
  promptStreaming(text: string, options?: { signal?: AbortSignal }): ReadableStream<string>
  destroy(): void
}

interface PromptApi {
  availability(): Promise<'unavailable' | 'downloadable' | 'downloading' | 'available'>
  create(options: {
    readonly initialPrompts: readonly PromptMessage[]
    readonly signal?: AbortSignal
  }): Promise<PromptSession>
}

function findPromptApi(): PromptApi | null {
  return (globalThis as { LanguageModel?: PromptApi }).LanguageModel ?? null
}

/** What this browser has: a model that answers, one that it would first have to download, or none. */
export type OwnModel = 'ready' | 'downloadable' | 'none'

let known: Promise<OwnModel> | null = null

/** Finds out once for each page. */
export function findOwnModel(): Promise<OwnModel> {
  known ??= lookForModel().catch(() => 'none') // a browser that has switched it off
  return known
}

const PROBE = 'Answer with the one word: yes'

async function lookForModel(): Promise<OwnModel> {
  const api = findPromptApi()
  const availability = (await api?.availability()) ?? 'unavailable'
  if (api === null || availability === 'unavailable') return 'none'
  if (availability !== 'available') return 'downloadable'
  // Chromium without Google's parts has the interface and no model: it repeats what it is asked.
  const session = await api.create({ initialPrompts: [] })
  try {
    return (await session.prompt(PROBE)).includes(PROBE) ? 'none' : 'ready'
  } finally {
    session.destroy()
  }
}

const SEARCH_FORM = {
  type: 'object',
  properties: { query: { type: 'string' } },
  required: ['query'],
  additionalProperties: false,
}

export function createPromptApiModel(): LanguageModelV4 {
  return languageModel('prompt-api', async function* ({ prompt, tools, abortSignal }) {
    const api = findPromptApi()
    if (api === null) throw new Error('This browser has no model of its own.')
    const signal = abortSignal === undefined ? {} : { signal: abortSignal }
    const messages = toPromptMessages(prompt)
    const last = messages.pop()?.content ?? ''
    const session = await api.create({ initialPrompts: messages, ...signal })
    try {
      const isFresh = prompt.at(-1)?.role === 'user'
      if (isFresh && tools?.some(({ name }) => name === CONVERSATION_SEARCH)) {
        const query = await askForQuery(session, last, signal)
        if (query !== '') {
          const innerThought = 'What was said earlier about this?'
          yield { type: 'tool-call', toolName: CONVERSATION_SEARCH, input: { innerThought, query } }
          return
        }
      }
      const reader = session.promptStreaming(last, signal).getReader()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        yield { type: 'text', text: value }
      }
    } finally {
      session.destroy()
    }
  })
}

async function askForQuery(
  session: PromptSession,
  question: string,
  signal: { signal?: AbortSignal },
): Promise<string> {
  const answer = await session.prompt(
    `${question}\n\n(Before you answer: if this needs something that was said earlier and is not above, ` +
      'give one word to search the older conversation for as "query". Otherwise give "".)',
    { ...signal, responseConstraint: SEARCH_FORM },
  )
  try {
    const { query } = JSON.parse(answer) as { readonly query?: unknown }
    return typeof query === 'string' ? query.trim() : ''
  } catch {
    return '' // a model that does not keep to the form: it answers without a search
  }
}

function toPromptMessages(prompt: LanguageModelV4Prompt): PromptMessage[] {
  const system = prompt.filter(({ role }) => role === 'system').map(promptText)
  const rest = prompt.flatMap((message): PromptMessage[] => {
    if (message.role === 'system') return []
    if (message.role !== 'tool') {
      const content = promptText(message)
      return content === '' ? [] : [{ role: message.role, content }]
    }
    return message.content.flatMap((part): PromptMessage[] =>
      part.type === 'tool-result' && part.output.type === 'text'
        ? [{ role: 'user', content: `(Found in the older conversation: ${part.output.value})` }]
        : [],
    )
  })
  return [{ role: 'system', content: system.join('\n\n') }, ...rest]
}
