/** The texts that are searched, and what is searched for: from a file, or made up like one. */

import {
  EventFilter,
  type EventFilterOptions,
  type FilterableEvent,
  foldText,
} from '../src/index.ts'
import { PAGE_SIZE } from './metric.ts'

/** A log that is made of fewer texts, over and over, but for a few places. */
export interface Corpus {
  readonly texts: readonly string[]
  readonly source: string
}

/** Stands once, 300 events before the end: in what is sealed. */
const LATE = 'zugzwang'
/** Stands once, two thirds through. */
const CHINESE = '悬空'

/** The text of event `seq` of a log of `size`. */
export function textAt({ texts }: Corpus, seq: number, size: number): string {
  const text = texts[seq % texts.length] ?? ''
  if (seq === size - 300) return `${text} ${LATE}`
  if (seq === Math.floor(size / 1.5)) return `${text} ${CHINESE}中的楼阁`
  return text
}

export interface Searches {
  /** The filters, by the last part of a figure's name. */
  readonly filters: Readonly<Record<string, EventFilterOptions>>
  readonly words: Readonly<Record<string, string>>
}

/** What is searched for. The same words for the same texts. */
export function chooseSearches(corpus: Corpus): Searches {
  const folded = corpus.texts.map(foldText)
  const isAbsent = (word: string) => !folded.some((text) => text.includes(word))
  const first = (candidates: readonly string[]) => {
    const found = candidates.find(isAbsent)
    if (found === undefined) throw new Error(`the texts hold all of ${candidates.join(', ')}`)
    return found
  }
  const counts = new Map<string, number>()
  for (const text of folded) {
    for (const word of new Set(text.match(/\p{L}{4,}/gu))) {
      counts.set(word, (counts.get(word) ?? 0) + 1)
    }
  }
  const [common = ''] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? []
  const words = {
    common,
    late: LATE,
    phrase: choosePhrase(folded),
    absent: first(['counterfeiting', 'sedimentation', 'antediluvian', 'thermoplastic']),
    twochars: first(['qz', 'qj', 'jq', 'zx', 'vq', 'xq']),
    onechar: first(['§', '¶', '†', 'þ', 'ŋ']),
    cjk2: CHINESE,
    page50: common,
  }
  const filters = Object.entries(words).map(([name, keyword]) => [
    name,
    { keyword, page: name === 'page50' ? 50 : 0, pageSize: PAGE_SIZE },
  ])
  return { words, filters: Object.fromEntries(filters) }
}

/** Three words that follow one another in few texts. */
function choosePhrase(folded: readonly string[]): string {
  for (let at = Math.floor(folded.length / 2); at < folded.length; at++) {
    const phrase = /\p{L}{3,} \p{L}{3,} \p{L}{5,}/u.exec(folded[at] ?? '')?.[0]
    if (phrase === undefined) continue
    if (folded.filter((text) => text.includes(phrase)).length <= 3) return phrase
  }
  throw new Error('no phrase is rare')
}

/** Throws unless an answer is what `EventFilter.apply` makes of the whole log. */
export function checkAnswer<E extends FilterableEvent & { readonly seq: number }>(
  name: string,
  log: readonly E[],
  options: EventFilterOptions,
  answer: readonly { readonly seq: number }[],
): void {
  const seqs = (events: readonly { readonly seq: number }[]) => events.map(({ seq }) => seq).join()
  const expected = EventFilter.of(options).apply(log)
  if (seqs(answer) !== seqs(expected)) {
    throw new Error(`${name} is wrong: ${seqs(answer)} instead of ${seqs(expected)}`)
  }
}

const SYLLABLES = {
  latin: ['ka', 'to', 'ren', 'mi', 'sol', 'ver', 'an', 'de', 'lu', 'pra', 'ing', 'est', 'ô', 'ñi'],
  greek: ['κα', 'λο', 'μα', 'ρι', 'τη', 'ως'],
  cyrillic: ['да', 'не', 'ро', 'ска', 'ты', 'ние'],
  hangul: ['가', '나', '한', '글', '말', '도'],
  han: ['人', '天', '地', '学', '生', '中', '国', '话', '山', '水', '海', '车'],
} as const

/** Made-up talk in several scripts: words by Zipf's law, as in any language. */
export function makeTexts(count: number): Corpus {
  const random = randomNumbers(20_261_130)
  const vocabularies = Object.entries(SYLLABLES).map(([script, syllables]) => ({
    separator: script === 'han' ? '' : ' ',
    words: Array.from({ length: 6_000 }, () =>
      Array.from(
        { length: script === 'han' ? 1 + random(2) : 1 + random(4) },
        () => syllables[random(syllables.length)] ?? '',
      ).join(''),
    ),
  }))
  const latin = vocabularies[0]
  const texts = Array.from({ length: count }, () => {
    // Four of five in one script, as in most conversations.
    const vocabulary = random(5) > 0 ? latin : vocabularies[random(vocabularies.length)]
    const words = vocabulary?.words ?? []
    const length = 4 + random(32)
    return Array.from({ length }, () => {
      // The word of rank r about 1/r as often as the first.
      const rank = Math.floor(words.length ** (random(1 << 20) / (1 << 20))) - 1
      return words[rank] ?? ''
    }).join(vocabulary?.separator)
  })
  return { texts, source: 'generated' }
}

/** The same numbers every time: integers below the limit that is asked for. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}
