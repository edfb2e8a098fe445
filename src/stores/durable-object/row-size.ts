/** What fits in a row: a Durable Object's row stops at 2 MB, counted in UTF-8 over all its columns. */

import { utf8Length } from '../../core/json.ts'

/**
 * A body up to this many bytes is kept in the event's own row. Small enough that a query may take a
 * hundred rows at once without knowing their sizes.
 */
export const INLINE_BYTES = 64 << 10

/** The most that one part of a larger text takes. Leaves a margin below 2 MB for keys and overhead. */
export const PART_BYTES = 1536 << 10

/** Whether the text has at most `limit` bytes in UTF-8. */
export function fitsInto(limit: number, text: string): boolean {
  return text.length * 3 <= limit || utf8Length(text) <= limit
}

/** Cuts a text into parts of at most `limit` bytes, between code points; an empty text is one part. */
export function splitText(text: string, limit: number = PART_BYTES): string[] {
  const parts: string[] = []
  let start = 0
  let bytes = 0
  for (let index = 0; index < text.length; ) {
    const codePoint = text.codePointAt(index) as number
    const size = codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
    if (bytes + size > limit) {
      parts.push(text.slice(start, index))
      start = index
      bytes = 0
    }
    bytes += size
    index += codePoint < 0x10000 ? 1 : 2
  }
  parts.push(text.slice(start))
  return parts
}
