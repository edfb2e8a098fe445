/** Ids: of sessions, events, users and operations. */

import { describeValue, invalid } from './errors.ts'

/** The longest id, in UTF-16 code units. */
export const MAX_ID_LENGTH = 512

/** Whether JavaScript's `trim()` leaves nothing. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/**
 * Checks an id: any non-blank string up to 512 characters; lone surrogates become U+FFFD.
 *
 * @throws SessionError with `code`, naming `field`.
 */
export function checkId(
  value: unknown,
  field: string,
  code: 'INVALID_ARGUMENT' | 'INVALID_EVENT' = 'INVALID_ARGUMENT',
): string {
  if (typeof value !== 'string') {
    throw invalid(code, field, `must be a string, not ${describeValue(value)}`)
  }
  if (isBlank(value)) throw invalid(code, field, 'must not be blank')
  if (value.length > MAX_ID_LENGTH) {
    throw invalid(code, field, `is ${value.length} characters long; ${MAX_ID_LENGTH} is the limit`)
  }
  return value.toWellFormed()
}

/** A random UUID (version 4). Pages served over plain HTTP have no `crypto.randomUUID`. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
