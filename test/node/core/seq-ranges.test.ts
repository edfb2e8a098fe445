// Ranges against plain sets of numbers.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  countRanges,
  intersectRanges,
  normalizeRanges,
  rangesInclude,
  rangesOf,
  type SeqRange,
  type SeqRanges,
  sliceRanges,
  subtractRanges,
  uniteRanges,
} from '../../../src/core/seq-ranges.ts'

const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 25 })
const anyRanges = fc.array(
  fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 5 }))
    .map(([first, length]): SeqRange => [first, first + length - 1]),
  { maxLength: 8 },
)

/** The numbers of ranges, in the order of the ranges. */
function numbersOf(ranges: readonly SeqRange[]): number[] {
  return ranges.flatMap(([first, last]) =>
    Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index),
  )
}

function sorted(numbers: Iterable<number>): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

/** Sorted, disjoint, not adjacent, none empty. */
function isNormal(ranges: SeqRanges): boolean {
  return ranges.every(([first, last], index) => {
    const previous = ranges[index - 1]
    return first <= last && (previous === undefined || previous[1] + 1 < first)
  })
}

test('single numbers and back', () => {
  fc.assert(
    fc.property(seqs, (numbers) => {
      const ranges = rangesOf(numbers)
      expect(numbersOf(ranges)).toEqual(sorted(numbers))
      expect(isNormal(ranges)).toBe(true)
      expect(countRanges(ranges)).toBe(numbers.length)
      for (let seq = 0; seq <= 41; seq++) {
        expect(rangesInclude(ranges, seq)).toBe(numbers.includes(seq))
      }
    }),
  )
})

test('ranges in any order, empty and overlapping ones too, become normal', () => {
  fc.assert(
    fc.property(anyRanges, (ranges) => {
      const normal = normalizeRanges(ranges)
      expect(numbersOf(normal)).toEqual(sorted(numbersOf(ranges)))
      expect(isNormal(normal)).toBe(true)
      expect(normalizeRanges(normal)).toEqual(normal)
    }),
  )
})

test('union, intersection and difference are those of sets', () => {
  fc.assert(
    fc.property(seqs, seqs, (first, second) => {
      const [a, b] = [rangesOf(first), rangesOf(second)]
      const results = {
        union: uniteRanges(a, b),
        intersection: intersectRanges(a, b),
        difference: subtractRanges(a, b),
      }
      expect(numbersOf(results.union)).toEqual(sorted([...first, ...second]))
      expect(numbersOf(results.intersection)).toEqual(
        sorted(first.filter((seq) => second.includes(seq))),
      )
      expect(numbersOf(results.difference)).toEqual(
        sorted(first.filter((seq) => !second.includes(seq))),
      )
      for (const result of Object.values(results)) expect(isNormal(result)).toBe(true)
    }),
  )
})

test('a slice is the numbers at its positions, in the order of the ranges', () => {
  fc.assert(
    fc.property(anyRanges, fc.nat(30), fc.nat(30), (ranges, start, length) => {
      const given = ranges.filter(([first, last]) => first <= last)
      const slice = sliceRanges(given, start, start + length)
      expect(numbersOf(slice)).toEqual(numbersOf(given).slice(start, start + length))
      expect(slice.every(([first, last]) => first <= last)).toBe(true)
      const rest = sliceRanges(given, start, Number.POSITIVE_INFINITY)
      expect(numbersOf(rest)).toEqual(numbersOf(given).slice(start))
    }),
  )
})

test('a hundred thousand single numbers', () => {
  const odd = rangesOf(Array.from({ length: 100_000 }, (_, index) => 2 * index + 1))
  expect(odd).toHaveLength(100_000)
  expect(rangesInclude(odd, 199_999)).toBe(true)
  expect(rangesInclude(odd, 199_998)).toBe(false)
  expect(countRanges(subtractRanges([[1, 200_000]], odd))).toBe(100_000)
  expect(uniteRanges(odd, subtractRanges([[1, 200_000]], odd))).toEqual([[1, 200_000]])
})
