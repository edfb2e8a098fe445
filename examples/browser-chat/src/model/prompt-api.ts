/**
 * The browser's own model, through its Prompt API. The tools of that API are still a draft, so the model is
 * asked first, with an answer in a given form, what to search for.
 */

import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { CONVERSATION_SEARCH } from 'turnlog'
import { languageModel, promptText, type Utterance } from './streaming.ts'

interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** As much of the API as is used here: https://webmachinelearning.github.io/prompt-api */
interface PromptSession {
  prompt(
    text: string,
    options?: { signal?: AbortSignal; responseConstraint?: object },
  ): Promise<string>
  promptStreaming(text: string, options?: { signal?: AbortSignal }): ReadableStream<string>
  clone(options?: { signal?: AbortSignal }): Promise<PromptSession>
  destroy(): void
}

interface PromptApi {
  availability(): Promise<'unavailable' | 'downloadable' | 'downloading' | 'available'>
  create(options: {
    readonly initialPrompts: readonly PromptMessage[]
    readonly signal?: AbortSignal
    readonly monitor?: (monitor: EventTarget) => void
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
  return probe(api, () => undefined)
}

/**
 * Lets the browser download its model, which it does only when somebody has pressed something.
 *
 * @param onProgress hears how much of it is there, up to 1.
 * @throws what the browser throws; then it can be tried again.
 */
export function downloadOwnModel(onProgress: (loaded: number) => void): Promise<OwnModel> {
  const api = findPromptApi()
  if (api === null) return Promise.resolve('none')
  const download = probe(api, onProgress)
  known = download.catch(() => 'downloadable')
  return download
}

async function probe(api: PromptApi, onProgress: (loaded: number) => void): Promise<OwnModel> {
  // Chromium without Google's parts has the interface and no model: it repeats what it is asked.
  const session = await api.create({
    initialPrompts: [],
    monitor: (monitor) =>
      monitor.addEventListener('downloadprogress', (event) =>
        onProgress((event as ProgressEvent).loaded),
      ),
  })
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
    const [system, ...rest] = toPromptMessages(prompt)
    const question = rest.pop()?.content ?? ''
    const signal = abortSignal === undefined ? {} : { signal: abortSignal }
    const isFresh = prompt.at(-1)?.role === 'user'
    const canSearch = isFresh && tools?.some(({ name }) => name === CONVERSATION_SEARCH) === true
    for (let heard = rest; ; heard = heard.slice(Math.ceil(heard.length / 2))) {
      let hasSpoken = false
      try {
        for await (const said of speak([system, ...heard], question, canSearch, signal)) {
          hasSpoken = true
          yield said
        }
        return
      } catch (error) {
        // Too much for the model: it hears the newer half.
        const isTooMuch = nameOf(error) === 'QuotaExceededError'
        if (!isTooMuch || hasSpoken || heard.length === 0) throw error
      }
    }
  })
}

async function* speak(
  initialPrompts: readonly PromptMessage[],
  question: string,
  canSearch: boolean,
  signal: { signal?: AbortSignal },
): AsyncGenerator<Utterance> {
  const api = findPromptApi()
  if (api === null) throw new Error('This browser has no model of its own.')
  const session = await api.create({ initialPrompts, ...signal })
  try {
    const query = canSearch ? await askForQuery(session, question, signal) : ''
    if (query !== '') {
      const innerThought = 'What was said earlier about this?'
      yield { type: 'tool-call', toolName: CONVERSATION_SEARCH, input: { innerThought, query } }
      return
    }
    const reader = session.promptStreaming(question, signal).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      yield { type: 'text', text: value }
    }
  } finally {
    session.destroy()
  }
}

async function askForQuery(
  session: PromptSession,
  question: string,
  signal: { signal?: AbortSignal },
): Promise<string> {
  // A copy, so that the answer does not follow upon this.
  const copy = await session.clone(signal)
  try {
    const answer = await copy.prompt(
      `${question}\n\n(Before you answer: if this needs something that was said earlier and is not above, ` +
        'give one word to search the older conversation for as "query". Otherwise give "".)',
      { ...signal, responseConstraint: SEARCH_FORM },
    )
    const { query } = JSON.parse(answer) as { readonly query?: unknown }
    return typeof query === 'string' ? query.trim() : ''
  } catch (error) {
    // A model that cannot keep to the form answers without a search.
    if (['SyntaxError', 'NotSupportedError'].includes(nameOf(error))) return ''
    throw error
  } finally {
    copy.destroy()
  }
}

/** What kind of error the browser gives: a `DOMException`'s name. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

/** The instructions, then what was said. */
function toPromptMessages(prompt: LanguageModelV4Prompt): [PromptMessage, ...PromptMessage[]] {
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
