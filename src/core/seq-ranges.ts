/** Sets of sequence numbers as sorted, disjoint, inclusive ranges: a few numbers for any amount of events. */

/** `[first, last]`, both inclusive. */
export type SeqRange = readonly [first: number, last: number]

/** Sorted ascending, disjoint and not adjacent. */
export type SeqRanges = readonly SeqRange[]

/** Ranges in any order, overlapping or not, as a normal set. */
export function normalizeRanges(ranges: Iterable<SeqRange>): SeqRanges {
  const result: [number, number][] = []
  const sorted = [...ranges].filter(([first, last]) => first <= last).sort((a, b) => a[0] - b[0])
  for (const [first, last] of sorted) {
    const previous = result.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) {
      previous[1] = Math.max(previous[1], last)
    } else {
      result.push([first, last])
    }
  }
  return result
}

/** Single numbers as ranges. */
export function rangesOf(seqs: Iterable<number>): SeqRanges {
  return normalizeRanges(Array.from(seqs, (seq): SeqRange => [seq, seq]))
}

/** What is in `a` or in `b`. */
export function uniteRanges(a: SeqRanges, b: SeqRanges): SeqRanges {
  return normalizeRanges([...a, ...b])
}

/** What is in `a` and in `b`. */
export function intersectRanges(a: SeqRanges, b: SeqRanges): SeqRanges {
  const result: SeqRange[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [left, right] = [a[i] as SeqRange, b[j] as SeqRange]
    const first = Math.max(left[0], right[0])
    const last = Math.min(left[1], right[1])
    if (first <= last) result.push([first, last])
    if (left[1] < right[1]) i++
    else j++
  }
  return result
}

/** What is in `a` and not in `b`. */
export function subtractRanges(a: SeqRanges, b: SeqRanges): SeqRanges {
  const gaps: SeqRange[] = []
  let next = -Infinity
  for (const [first, last] of b) {
    gaps.push([next, first - 1])
    next = last + 1
  }
  gaps.push([next, Infinity])
  return intersectRanges(a, gaps)
}

/** Whether `seq` is in the set; binary search. */
export function rangesInclude(ranges: SeqRanges, seq: number): boolean {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [first, last] = ranges[middle] as SeqRange
    if (seq < first) high = middle - 1
    else if (seq > last) low = middle + 1
    else return true
  }
  return false
}

/** How many numbers the ranges hold. */
export function countRanges(ranges: readonly SeqRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/**
 * The numbers at the positions `start` to `end` (exclusive) of ranges that stand in any order, as ranges
 * in that order.
 */
export function sliceRanges(ranges: readonly SeqRange[], start: number, end: number): SeqRange[] {
  const result: SeqRange[] = []
  let position = 0
  for (const [first, last] of ranges) {
    const length = last - first + 1
    const from = Math.max(first, first + start - position)
    const to = Math.min(last, first + end - 1 - position)
    if (from <= to) result.push([from, to])
    position += length
    if (position >= end) break
  }
  return result
}
