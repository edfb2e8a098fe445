// Long texts are cut around the first match, never inside what people see as one character.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldText } from '../../../src/core/text.ts'
import { MAX_TEXT_LENGTH, snippetAround } from '../../../src/tools/snippet.ts'

const segmenter = new Intl.Segmenter()

/** Whether `part` begins and ends between the characters of `whole`. */
function isCutBetweenCharacters(whole: string, part: string): boolean {
  const borders = new Set([...segmenter.segment(whole)].map(({ index }) => index))
  borders.add(whole.length)
  for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) {
    if (borders.has(at) && borders.has(at + part.length)) return true
  }
  return false
}

test('a text that fits is given whole', () => {
  expect(snippetAround('short needle', ['needle'])).toEqual({ text: 'short needle' })
  const exact = 'x'.repeat(MAX_TEXT_LENGTH)
  expect(snippetAround(exact, ['x'])).toEqual({ text: exact })
})

test('a longer one is cut around its first match', () => {
  const text = `${'a'.repeat(10_000)} needle ${'b'.repeat(10_000)} needle`
  const snippet = snippetAround(text, ['NEEDLE'])
  expect(snippet.truncated).toBe(true)
  expect(snippet.text).toHaveLength(MAX_TEXT_LENGTH)
  expect(snippet.text).toMatch(/^a+ needle b+$/)
})

test('of several queries the one that comes first in the text counts', () => {
  const text = `${'x'.repeat(9000)} late ${'y'.repeat(9000)} later`
  expect(snippetAround(text, ['later', 'late', 'nowhere']).text).toContain(' late ')
  expect(snippetAround(text, ['nowhere']).text).toBe('x'.repeat(MAX_TEXT_LENGTH))
  expect(snippetAround(text, []).text).toBe('x'.repeat(MAX_TEXT_LENGTH))
})

test('at the beginning and the end the whole length is used', () => {
  const text = `first ${'x'.repeat(9000)} last`
  expect(snippetAround(text, ['first']).text).toBe(text.slice(0, MAX_TEXT_LENGTH))
  expect(snippetAround(text, ['last']).text).toBe(text.slice(-MAX_TEXT_LENGTH))
})

test('a match longer than a snippet is shown from its beginning', () => {
  const long = 'needle '.repeat(1000)
  const { text } = snippetAround(`${'x'.repeat(5000)}${long}`, [long])
  expect(text).toBe(long.slice(0, MAX_TEXT_LENGTH))
})

test.each(['👩‍👩‍👧‍👦', '🏷', 'e\u0301', 'नी', '🇱🇻', '\r\n', '각'])(
  'is not cut inside %j',
  (character) => {
    for (let shift = 0; shift < 12; shift++) {
      const text = `${'x'.repeat(shift)}${character.repeat(3000)} needle ${character.repeat(3000)}`
      const snippet = snippetAround(text, ['needle']).text
      expect(snippet).toContain(' needle ')
      expect(snippet.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH)
      expect(snippet.length).toBeGreaterThan(MAX_TEXT_LENGTH - 2 * character.length)
      expect(isCutBetweenCharacters(text, snippet)).toBe(true)
    }
  },
)

test('any text: short enough, well-formed, with the match, cut between characters', () => {
  const piece = fc.constantFrom('a', 'b ', '悬', '👩‍👧', '🏷', 'e\u0301', '\n', '한', 'ß')
  const pieces = fc.array(piece, { maxLength: 400 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(pieces, pieces, fc.nat(12), (before, after, repeats) => {
      const text = `${before.repeat(repeats)} NeedleÄ ${after.repeat(repeats)}`
      const { text: snippet, truncated } = snippetAround(text, ['needleä'])
      expect(truncated === true).toBe(text.length > MAX_TEXT_LENGTH)
      expect(snippet.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH)
      expect(snippet.isWellFormed()).toBe(true)
      expect(foldText(snippet)).toContain('needleä')
      expect(isCutBetweenCharacters(text, snippet)).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('one character longer than a snippet', () => {
  const pile = `z${'\u0301'.repeat(9000)}`
  const { text } = snippetAround(`${pile} needle`, ['z'])
  expect(text.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH)
  expect(text.isWellFormed()).toBe(true)
  expect(text).not.toBe('')
  const family = '👩\u200d'.repeat(3000)
  const cut = snippetAround(`${family}needle`, ['👩']).text
  expect(cut.length).toBeLessThanOrEqual(MAX_TEXT_LENGTH)
  expect(cut.isWellFormed()).toBe(true)
})
