/** Long texts, cut for the model around what was searched. */

import { matchRanges } from '../core/text.ts'

/** The longest text in a tool's answer, in UTF-16 code units. */
export const MAX_TEXT_LENGTH = 4000

/** A text as it goes into an answer. */
export interface Snippet {
  readonly text: string
  /** Only there when the text was cut. */
  readonly truncated?: true
}

/**
 * The text, or at most 4,000 UTF-16 units of it around the first match of any of `queries`; never cut
 * inside what people see as one character.
 */
export function snippetAround(text: string, queries: readonly string[]): Snippet {
  if (text.length <= MAX_TEXT_LENGTH) return { text }
  const matches = queries.flatMap((query) => matchRanges(text, query).slice(0, 1))
  const first = matches.reduce(
    (a, b) => (b.start < a.start ? b : a),
    matches[0] ?? { start: 0, end: 0 },
  )
  const room = Math.max(0, MAX_TEXT_LENGTH - (first.end - first.start))
  const latestStart = text.length - MAX_TEXT_LENGTH
  const start = Math.max(0, Math.min(first.start - (room >> 1), latestStart))
  return { text: cut(text, start, start + MAX_TEXT_LENGTH), truncated: true }
}

function cut(text: string, start: number, end: number): string {
  const segments = new Intl.Segmenter().segment(text)
  const before = start === 0 ? undefined : segments.containing(start)
  const after = segments.containing(end)
  const from =
    before === undefined || before.index === start ? start : before.index + before.segment.length
  const to = after?.index ?? text.length
  // One character longer than the limit (a pile of accents): there is no better place to cut.
  return (from < to ? text.slice(from, to) : text.slice(start, end)).toWellFormed()
}
