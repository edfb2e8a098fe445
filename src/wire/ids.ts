/** Ids in a URL: any id as one segment of a path, and back. */

/** Ids that URLs do not keep as they are, or that look like one that was escaped. */
const ESCAPED = /^(?:\.{1,2}|~.*)$/s

/**
 * An id as one segment of a path: percent-encoded. The ids `.` and `..`, which every URL parser takes for
 * steps in the path (percent-encoded ones too), and ids that begin with `~` get a `~` before them.
 */
export function encodeSegment(id: string): string {
  return encodeURIComponent(ESCAPED.test(id) ? `~${id}` : id)
}

/** The inverse of {@link encodeSegment}; `null` for a segment that is not percent-encoded UTF-8. */
export function decodeSegment(segment: string): string | null {
  try {
    const id = decodeURIComponent(segment)
    return id.startsWith('~') && ESCAPED.test(id.slice(1)) ? id.slice(1) : id
  } catch {
    return null // a URIError: a stray percent sign or bytes that are no UTF-8
  }
}
