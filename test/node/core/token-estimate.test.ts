// The built-in token estimate: within its limits on the project's own messages in every script, and safe
// with any text.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { estimateTokens } from '../../../src/core/token-estimate.ts'
import { readMultilingualSample } from '../../support/multilingual-sample.ts'
import { measureTokenError } from '../../support/token-error.ts'

describe('error against a tokenizer', () => {
  const sample = readMultilingualSample()
  const scripts = [...new Set(sample.map(({ script }) => script))]

  test('the sample has at least 40 messages of every script', () => {
    expect(scripts).toEqual([
      'arabic',
      'chinese',
      'code',
      'cyrillic',
      'devanagari',
      'emoji',
      'greek',
      'hebrew',
      'japanese',
      'json',
      'korean',
      'latin',
      'thai',
    ])
    for (const script of scripts) {
      const messages = sample
        .filter((conversation) => conversation.script === script)
        .flatMap((conversation) => conversation.messages)
      expect(messages.length, script).toBeGreaterThanOrEqual(40)
      expect(messages, script).not.toContain('')
    }
  })

  test.each(scripts)('%s', (script) => {
    const error = measureTokenError(sample.filter((conversation) => conversation.script === script))
    expect(error.mean).toBeLessThan(0.12)
    expect(error.heldOutMean).toBeLessThan(0.12)
    expect(error.lowest.bias, error.lowest.title).toBeGreaterThan(-0.2)
  })
})

test.each([
  ['', 0],
  [' ', 1],
  ['a', 1],
  ['Good morning, everyone!', 5],
  ['She sells sea shells by the sea shore.', 9],
  ["I don't think it's theirs.", 6],
  ['1234567', 3],
  ['const total = items.length', 5],
  ['{"ok":true}', 5],
  ['-'.repeat(64), 1],
  [' '.repeat(500), 1],
  ['你好', 2],
  ['🎉🎉', 4],
])('%j is about %d tokens', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens)
})

test('any text has a non-negative integer estimate, and only the empty one has none', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), surrogates()),
      (text) => {
        const tokens = estimateTokens(text)
        expect(Number.isSafeInteger(tokens)).toBe(true)
        expect(tokens > 0).toBe(text !== '')
        expect(tokens).toBeLessThanOrEqual(text.length * 3)
        expect(estimateTokens(text)).toBe(tokens)
      },
    ),
    { numRuns: 1000 },
  )
})

test('lines cost about as much together as apart', () => {
  for (const { messages, title } of readMultilingualSample()) {
    const apart = messages.reduce((sum, message) => sum + estimateTokens(`${message}\n`), 0)
    const together = estimateTokens(messages.map((message) => `${message}\n`).join(''))
    expect(Math.abs(together - apart), title).toBeLessThanOrEqual(messages.length)
  }
})

test('more of a text never costs less', () => {
  for (const { messages, title } of readMultilingualSample()) {
    const words = messages.join('\n').split(' ').slice(0, 100)
    const estimates = words.map((_, end) => estimateTokens(words.slice(0, end + 1).join(' ')))
    expect(estimates, title).toEqual(estimates.toSorted((one, other) => one - other))
  }
})

test.each([
  ['one letter', 'a'],
  ['one capital letter', 'A'],
  ['digits', '7'],
  ['spaces', ' '],
  ['line ends', ' \n'],
  ['mixed case', 'aBc'],
  ['contractions', "a's"],
  ['symbols', '!?'],
  ['one symbol', '-'],
  ['accents', 'e\u0301'],
  ['Chinese', '漢'],
  ['Thai', 'ก'],
  ['emoji', '😀'],
  ['lone surrogates', '\ud800'],
])('an endless run of %s is estimated in proportion to its length', (_, unit) => {
  const short = estimateTokens(unit.repeat(2 ** 15))
  const long = estimateTokens(unit.repeat(2 ** 18))
  expect(long).toBeLessThanOrEqual((short + 1) * 8) // both are rounded
  expect(long).toBeGreaterThanOrEqual(short)
})

function surrogates() {
  return fc
    .array(fc.constantFrom('\ud83d', '\ude00', 'a', ' ', '漢', '\u0301', "'s", '\n'))
    .map((units) => units.join(''))
}
