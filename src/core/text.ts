/** How text is matched: a literal substring after folding both sides, in every store. */

import { checkText } from './arguments.ts'

/** A match as offsets of UTF-16 code units in the original text, `end` exclusive. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/**
 * Folds case and compatibility forms away: NFKC, lower(upper(lower(text))), final sigma to sigma, NFKC
 * again, and the dot that İ leaves dropped; lone surrogates become U+FFFD, as in what is stored.
 * Idempotent, and the same for a text in lower case.
 *
 * `foldText('STRASSE') === foldText('straße')`; é and e stay different.
 *
 * @throws SessionError `INVALID_ARGUMENT` when it is no text.
 */
export function foldText(text: string): string {
  checkText(text, 'text')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII itself
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase()
  const folded = text
    .toWellFormed()
    // An iota below a letter becomes one beside it: marks that belong to the letter must stand before.
    .normalize(/[\u0345\u037a\u1f80-\u1fff]/.test(text) ? 'NFKD' : 'NFKC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
  if (!folded.includes('\u0307')) return folded
  // Normalised before: a mark below the letter comes between it and its dot.
  return folded.replace(/i\p{M}+/gu, (i) => i.replaceAll('\u0307', '')).normalize('NFKC')
}

/**
 * Where `query` occurs in `text` under {@link foldText}, left to right, not overlapping. Folding changes
 * lengths; each range covers the whole original characters that the match touches, and ranges that share
 * a character are one.
 *
 * @throws SessionError `INVALID_ARGUMENT` when one of the two is no text.
 */
export function matchRanges(text: string, query: string): readonly TextRange[] {
  checkText(query, 'query')
  const needle = foldText(query)
  if (needle === '') return []
  const folded = foldText(text)
  let at = folded.indexOf(needle)
  if (at < 0) return []
  const toOriginal = offsetMap(text, folded)
  const ranges: TextRange[] = []
  while (at >= 0) {
    const next = at + needle.length
    const [start, end] = [toOriginal.start(at), toOriginal.end(next)]
    const last = ranges.at(-1)
    // Two matches may touch one character, such as the letters of a ligature.
    if (last !== undefined && start < last.end) ranges.splice(-1, 1, { start: last.start, end })
    else ranges.push({ start, end })
    at = folded.indexOf(needle, next)
  }
  return ranges
}

/** A character and what joins it when text is normalised: marks, Hangul vowels and finals, kana voicing. */
const CLUSTER = /\P{M}[\p{M}\u1160-\u11ff\ud7b0-\ud7ff\uff9e\uff9f]*|\p{M}+/gsu

function offsetMap(text: string, folded: string) {
  let clusters: readonly string[] = text.match(CLUSTER) ?? []
  let foldedClusters = clusters.map(foldText)
  if (foldedClusters.join('') !== folded) {
    // Characters outside CLUSTER's knowledge compose across its borders: the match is then the whole text.
    clusters = [text]
    foldedClusters = [folded]
  }
  const starts: number[] = [0]
  const foldedStarts: number[] = [0]
  clusters.forEach((cluster, index) => {
    starts.push((starts[index] ?? 0) + cluster.length)
    foldedStarts.push((foldedStarts[index] ?? 0) + (foldedClusters[index]?.length ?? 0))
  })
  return {
    /** The start of the cluster that holds the folded unit at `offset`. */
    start: (offset: number) => starts[lastAtMost(foldedStarts, offset)] ?? 0,
    /** The end of the cluster that holds the folded unit before `offset`. */
    end: (offset: number) => starts[lastAtMost(foldedStarts, offset - 1) + 1] ?? text.length,
  }
}

/** The index of the last of the ascending `values` that is at most `limit`. */
function lastAtMost(values: readonly number[], limit: number): number {
  let low = 0
  let high = values.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((values[middle] ?? 0) <= limit) low = middle
    else high = middle - 1
  }
  return low
}
