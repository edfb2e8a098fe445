/**
 * The built-in stand-in: no language model, and it says so. By fixed rules it calls
 * `conversation_search` for the telling words of a question and quotes what was found, so that the whole
 * path from question to stored answer runs without an account and without network.
 */

import type {
  LanguageModelV4,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider'
import { CONVERSATION_SEARCH, foldText } from 'turnlog'
import { CONTINUE } from '../agent/wording.ts'
import { languageModel, promptText, type Utterance } from './streaming.ts'

/** Searches for one question, at most. */
const MAX_SEARCHES = 3
/** Quotations in one answer, at most. */
const MAX_QUOTES = 5
const QUOTE_LENGTH = 280

const INTRODUCTION =
  'Stored. I am a stand-in that follows fixed rules, not a language model: I understand nothing. ' +
  'Ask me a question, and I search this conversation for its longest words and quote what I find. ' +
  'A real model can be chosen in the settings.'
const ACKNOWLEDGEMENT = 'Stored.'
const FOUND = 'I searched this conversation for'

/** @param delay milliseconds between two words, so that one sees it stream. */
export function createStandIn({ delay = 18 }: { readonly delay?: number } = {}): LanguageModelV4 {
  return languageModel('stand-in', async function* ({ prompt, tools, abortSignal }) {
    const canSearch = tools?.some(({ name }) => name === CONVERSATION_SEARCH) === true
    const said = decide(prompt, canSearch)
    if (said.type !== 'text') {
      yield said
      return
    }
    for (const text of said.text.match(/\s*\S+\s*/g) ?? []) {
      await pause(delay, abortSignal)
      yield { type: 'text', text }
    }
  })
}

/** What the rules say to a prompt. */
export function decide(prompt: LanguageModelV4Prompt, canSearch: boolean): Utterance {
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const question = prompt[last]
  if (question === undefined) return { type: 'text', text: ACKNOWLEDGEMENT }
  const text = promptText(question)
  if (text.trim() === CONTINUE) return { type: 'text', text: restOfAnswer(prompt.slice(0, last)) }
  const hasSpoken = prompt.slice(0, last).some(({ role }) => role === 'assistant')
  const words = isQuestion(text) ? tellingWords(text) : []
  if (words.length === 0) {
    return { type: 'text', text: hasSpoken ? ACKNOWLEDGEMENT : INTRODUCTION }
  }
  const searches = prompt.slice(last + 1).flatMap(searchResults)
  const found = searches.at(-1)
  const hits = found === undefined ? [] : readHits(found, text)
  if (hits.length > 0) return { type: 'text', text: quote(words[searches.length - 1] ?? '', hits) }
  const next = words[searches.length]
  if (canSearch && next !== undefined && searches.length < MAX_SEARCHES) {
    const innerThought = `The question speaks of “${next}”: has that been said before?`
    return {
      type: 'tool-call',
      toolName: CONVERSATION_SEARCH,
      input: { innerThought, query: next },
    }
  }
  const tried = words.slice(0, searches.length).map((word) => `“${word}”`)
  return { type: 'text', text: `${FOUND} ${tried.join(', ')} and found nothing but your question.` }
}

const QUESTION_WORDS =
  /^(?:who|what|when|where|why|how|which|whose|did|do|does|is|are|was|were|can|could|find|search|remember|wer|was|wann|wo|warum|wie|qui|que|quand|où|quién|qué|cuándo|dónde)(?=\s|$)/i

function isQuestion(text: string): boolean {
  // The Greek question mark looks like a semicolon, and is written as one.
  return /[?？؟]|\p{Script=Greek}\s*[;\u037e]/u.test(text) || QUESTION_WORDS.test(text.trim())
}

const COMMON = new Set(
  (
    'who what when where why how which whose did does are was were can could would should find ' +
    'search remember the and for with that this these those there then than have has had about from ' +
    'into you your yours our they them their said say says tell told know again please anything ' +
    'something mention mentioned talk talked earlier before last time first ever will just some any'
  ).split(' '),
)

/** The words of a question that are worth a search, most telling first. */
export function tellingWords(text: string): readonly string[] {
  const segments = new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text)
  const words = new Map<string, string>()
  for (const { segment, isWordLike } of segments) {
    const folded = foldText(segment)
    const isShort = /^\p{Script=Latin}{1,2}$/u.test(folded)
    if (isWordLike === true && !isShort && !COMMON.has(folded)) words.set(folded, segment)
  }
  // Stable: of two equally long words the first one leads.
  return [...words.values()].sort((a, b) => b.length - a.length).slice(0, MAX_SEARCHES)
}

function searchResults(message: LanguageModelV4Message): readonly string[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap((part) =>
    part.type === 'tool-result' && part.output.type === 'text' ? [part.output.value] : [],
  )
}

interface Hit {
  readonly timestamp: string
  readonly type: string
  readonly text: string
}

/** What was found besides the question itself and earlier quotations. */
function readHits(result: string, question: string): readonly Hit[] {
  if (!result.startsWith('[')) return []
  const hits = JSON.parse(result) as readonly Hit[]
  return hits.filter(({ text }) => text !== question && !text.startsWith(FOUND))
}

function quote(word: string, hits: readonly Hit[]): string {
  const quoted = hits.slice(-MAX_QUOTES).map(({ timestamp, type, text }) => {
    const speaker = type === 'user' ? 'You' : 'Answer'
    const shortened =
      text.length > QUOTE_LENGTH ? `${text.slice(0, QUOTE_LENGTH).toWellFormed()} …` : text
    return `> ${shortened.replaceAll('\n', '\n> ')}\n> — ${speaker}, ${timestamp.slice(0, 10)}`
  })
  const count = hits.length === 1 ? 'one message' : `${hits.length} messages`
  return `${FOUND} “${word}” and found ${count}:\n\n${quoted.join('\n\n')}`
}

/** The part of a stopped answer that is still to come. */
function restOfAnswer(prompt: LanguageModelV4Prompt): string {
  const end = prompt.findLastIndex(({ role }) => role === 'assistant')
  const stopped = prompt[end]
  const begun = stopped === undefined ? '' : promptText(stopped)
  const whole = decide(stopped === undefined ? prompt : prompt.slice(0, end), false)
  if (whole.type !== 'text') return ACKNOWLEDGEMENT
  return whole.text.startsWith(begun) && whole.text !== begun
    ? whole.text.slice(begun.length).trimStart()
    : 'There is no more to say.'
}

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => void setTimeout(resolve, milliseconds))
  signal?.throwIfAborted()
}
