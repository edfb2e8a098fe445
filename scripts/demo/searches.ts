// The searches that the demo compares the stores by: words, phrases, single letters, two Chinese
// characters and words that are nowhere, drawn from the conversations themselves, the same in every run.
import { foldText } from '../../src/index.ts'
import type { Conversation } from '../conversation-file.ts'

export const searchKinds = {
  words: 80,
  phrases: 60,
  'single letters': 20,
  'two Chinese characters': 20,
  'absent words': 20,
} as const

export type SearchKind = keyof typeof searchKinds

export interface Search {
  readonly kind: SearchKind
  readonly conversation: Conversation
  readonly query: string
}

/** 200 of them, the conversations taking turns. Every conversation must hold Chinese text. */
export function drawSearches(conversations: readonly Conversation[]): readonly Search[] {
  const random = createRandom(2025)
  const draws = conversations.map((conversation) => createDraw(conversation, random))
  return (Object.keys(searchKinds) as SearchKind[]).flatMap((kind) =>
    Array.from({ length: searchKinds[kind] }, (_, index): Search => {
      const { conversation, draw } = pick(draws, index)
      const query = draw[kind]()
      // Case never matters: every third query shouts.
      return { kind, conversation, query: index % 3 === 2 ? query.toUpperCase() : query }
    }),
  )
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

function createDraw(conversation: Conversation, random: (limit: number) => number) {
  const texts = conversation.turns.map(({ text }) => text)
  const whole = foldText(texts.join('\n'))
  const chinese = texts.flatMap((text) => text.match(/\p{Script=Han}{2,}/gu) ?? [])
  const some = <T>(items: readonly T[]): T => pick(items, random(items.length))
  const wordsOf = (text: string) =>
    [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike === true)
  const someWords = () => wordsOf(some(texts.filter((text) => wordsOf(text).length > 0)))
  const draw: Readonly<Record<SearchKind, () => string>> = {
    words: () => some(someWords()).segment,
    phrases: () => {
      const words = someWords()
      const first = random(words.length)
      const last = Math.min(words.length - 1, first + 1 + random(3))
      const { input, index } = pick(words, first)
      const end = pick(words, last)
      return input.slice(index, end.index + end.segment.length)
    },
    'single letters': () => some(some(someWords()).segment.match(/\p{L}/gu) ?? ['a']),
    'two Chinese characters': () => {
      const text = [...some(chinese)]
      const first = random(text.length - 1)
      return text.slice(first, first + 2).join('')
    },
    'absent words': () => {
      let word = [...some(someWords()).segment].reverse().join('')
      while (whole.includes(foldText(word))) word += 'x'
      return word
    },
  }
  return { conversation, draw }
}

function pick<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length]
  if (item === undefined) throw new Error('there is nothing to draw from')
  return item
}

/** The same numbers below a limit in every run (mulberry32). */
function createRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}
