// Folding and matching: whatever people see as the same is found, and ranges are of the original text.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldText, matchRanges } from '../../../src/core/text.ts'

/** Every code point but the surrogates. */
function* everyCharacter(): Generator<string> {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code)
  }
}

/** Characters that fold, normalise or join into something else, and some that do not. */
const interesting: readonly string[] = [...everyCharacter()].filter((character) => {
  if (character >= '\u{20000}') return false
  return (
    character.toLowerCase() !== character ||
    character.toUpperCase() !== character ||
    character.normalize('NFKC') !== character ||
    /\p{M}/u.test(character)
  )
})
const peculiar = [
  'i',
  'I',
  'İ',
  'ı',
  '\u0307',
  '\u0327',
  '\u0301',
  '\u0345',
  'ß',
  'ẞ',
  'ſ',
  'Σ',
  'σ',
  'ς',
]
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(...interesting),
      fc.constantFrom(...peculiar),
      fc.constantFrom(...'ab 1-😀한中👩\u200d'),
    ),
    { maxLength: 8 },
  )
  .map((characters) => characters.join(''))

describe('foldText', () => {
  test('is idempotent, and lower case folds alike, for every character', () => {
    const failing: string[] = []
    for (const character of everyCharacter()) {
      const folded = foldText(character)
      if (foldText(folded) !== folded || foldText(character.toLowerCase()) !== folded) {
        failing.push(`U+${character.codePointAt(0)?.toString(16)}`)
      }
    }
    expect(failing).toEqual([])
  })

  test('is idempotent, and does not see case or normal form, in any sequence', () => {
    fc.assert(
      fc.property(text, (original) => {
        const folded = foldText(original)
        expect(foldText(folded)).toBe(folded)
        expect(foldText(original.toLowerCase())).toBe(folded)
        for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) {
          expect(foldText(original.normalize(form))).toBe(folded)
        }
        expect(folded.isWellFormed()).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('a part of a text that is given in another case is a part of the folded text', () => {
    fc.assert(
      fc.property(text, text, text, (before, middle, after) => {
        // Words of their own: marks may join what stands before them.
        const whole = foldText(`${before} ${middle} ${after}`)
        expect(whole).toContain(foldText(` ${middle.toLowerCase()} `))
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['STRASSE', 'straße'],
    ['STRAẞE', 'straße'],
    ['cafe\u0301', 'café'],
    ['ΟΔΌΣ', 'οδός'],
    ['ΟΔΌΣ', 'οδόσ'],
    ['ＡＢＣ１２３', 'abc123'],
    ['İSTANBUL', 'istanbul'],
    ['ISPARTA', 'ısparta'],
    ['hello\u00a0world', 'hello world'],
    ['ﬃ', 'FFI'],
    ['\u1112\u1161\u11ab', '한'],
    ['Привіт', 'ПРИВІТ'],
    ['ſ', 's'],
    ['Å', '\u212b'],
    ['ǅ', 'ǆ'],
    ['ｶﾞ', 'ガ'],
    ['①', '1'],
    ['İ\u0327', 'i\u0327'],
    ['I\u0327\u0307', 'i\u0327'],
    ['\u0386\u0327\u0345', '\u03ac\u0327\u0345'],
  ])('%s and %s are one', (one, other) => {
    expect(foldText(one)).toBe(foldText(other))
  })

  test('half a character is U+FFFD', () => {
    expect(foldText('A\ud83d')).toBe('a\ufffd')
    expect(matchRanges('a\ud83db', 'B')).toEqual([{ start: 2, end: 3 }])
    expect(matchRanges('a😀b', '\ud83d')).toEqual([])
  })

  test.each([
    ['é', 'e'],
    ['ä', 'ae'],
    ['ñ', 'n'],
    ['й', 'и'],
    ['か', 'が'],
    ['ka', 'ка'],
    ['co\u00adordinate', 'coordinate'],
    ['o', '0'],
    ['l', '1'],
  ])('%s and %s are two', (one, other) => {
    expect(foldText(one)).not.toBe(foldText(other))
  })
})

describe('matchRanges', () => {
  const found = (original: string, query: string) =>
    matchRanges(original, query).map(({ start, end }) => original.slice(start, end))

  test.each([
    ['Hello hello HELLO', 'hello', ['Hello', 'hello', 'HELLO']],
    ['die Straße hier', 'STRASSE', ['Straße']],
    ['die STRASSE hier', 'straße', ['STRASSE']],
    ['un cafe\u0301 noir', 'café', ['cafe\u0301']],
    ['un café noir', 'cafe\u0301', ['café']],
    ['efficient oﬃce', 'ffi', ['ffi', 'ﬃ']],
    ['oﬃce', 'fic', ['ﬃc']],
    ['oﬃce', 'f', ['ﬃ']],
    ['οδοστρωτήρας', 'ΟΔΟΣ', ['οδοσ']],
    ['ΟΔΟΣ ΟΔΟΣΤΡΩΤΗΡΑΣ', 'οδος', ['ΟΔΟΣ', 'ΟΔΟΣ']],
    ['İstanbul', 'i', ['İ']],
    ['İstanbul', 'ISTANBUL', ['İstanbul']],
    ['\u1112\u1161\u11ab\u1100\u116e\u11a8', '국', ['\u1100\u116e\u11a8']],
    ['👩‍👩‍👧 und 👩', '👩', ['👩', '👩', '👩']],
    ['a🏷b🏷', '🏷', ['🏷', '🏷']],
    ['重跑gen-itgc后50条悬空引用清零', '悬空', ['悬空']],
    ['aaaa', 'aa', ['aa', 'aa']],
    ['100% of 100 %', '100%', ['100%']],
    ['a.c abc', 'a.c', ['a.c']],
    ['e\u0301e', 'e', ['e']],
    ['x', 'y', []],
    ['', 'y', []],
    ['x', '', []],
  ])('%s: %s', (original, query, expected) => {
    expect(found(original, query)).toEqual(expected)
  })

  test('finds what folding finds, in order, without overlap, at characters', () => {
    fc.assert(
      fc.property(text, text, fc.nat(8), (before, middle, repeats) => {
        const original = `${before}${middle} `.repeat(repeats)
        const ranges = matchRanges(original, middle)
        const needle = foldText(middle)
        expect(ranges.length > 0).toBe(needle !== '' && foldText(original).includes(needle))
        let last = 0
        for (const { start, end } of ranges) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          expect(foldText(original.slice(start, end))).toContain(needle)
          expect(original.slice(start, end).isWellFormed()).toBe(true)
          last = end
        }
        expect(last).toBeLessThanOrEqual(original.length)
      }),
      { numRuns: 2000 },
    )
  })

  test('covers exactly the match where characters fold one by one', () => {
    const words = fc.string({ unit: fc.constantFrom(...'abAB ÄöЖж悬空😀'), maxLength: 6 })
    fc.assert(
      fc.property(words, words, words, (before, middle, after) => {
        fc.pre(middle !== '')
        const original = `${before}${middle}${after}`
        for (const { start, end } of matchRanges(original, middle.toUpperCase())) {
          expect(foldText(original.slice(start, end))).toBe(foldText(middle))
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('a long text of any script is searched in its own time', () => {
    const original = 'Ünïcödé текст 悬空 '.repeat(20_000)
    expect(matchRanges(original, 'ТЕКСТ 悬空')).toHaveLength(20_000)
  })
})
