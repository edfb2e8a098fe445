/** Ranges of keys. Every record of a session is in one range, so that it is deleted as a whole. */

import type { SeqRange } from '../../core/seq-ranges.ts'

/** What belongs to one session number, or one user id, in a store or index whose keys begin with it. */
export function rowsOf(first: number | string): IDBKeyRange {
  // An array sorts after every number and string: this is above all keys with more parts.
  return IDBKeyRange.bound([first], [first, []])
}

/** The events of a session in a range of their `seq`. */
export function rowsBetween(session: number, [first, last]: SeqRange): IDBKeyRange {
  return IDBKeyRange.bound([session, first], [session, last])
}
