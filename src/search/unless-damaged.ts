/**
 * Damaged blocks hold nobody up: a search looks at the events themselves, and everything is sealed anew.
 * So whoever takes a record apart has an answer for the case that it cannot be.
 */

/** What `decode` gives; `null` when it throws, because of damage. */
export function unlessDamaged<T>(decode: () => T): T | null {
  try {
    return decode()
  } catch {
    return null
  }
}
