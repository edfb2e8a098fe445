/** Points in time as users give them: a `Date`, epoch milliseconds, or ISO-8601 with a zone. */

import { describeValue, invalid } from './errors.ts'

/** `Date` of any realm, epoch milliseconds, or ISO-8601 with seconds and zone. */
export type InstantInput = Date | number | string

/** The largest distance from 1970 that a `Date` holds, in milliseconds (ECMAScript's time range). */
export const MAX_TIME = 8.64e15

/** Years beyond 9999 as JavaScript writes them, so that every Date comes back from its own JSON. */
const ISO =
  /^(\d{4}|[+-]\d{6})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|([+-])(\d\d):(\d\d))$/i

/**
 * Epoch milliseconds of an instant, or `null` when it is none: a date without time or zone, a day
 * that no month has, NaN. Digits beyond milliseconds are dropped.
 */
export function toEpochMilliseconds(value: unknown): number | null {
  if (typeof value === 'number') return inRange(value)
  if (typeof value === 'string') return parseIso(value)
  try {
    // Not instanceof: a Date of another realm (an iframe, a worker's vm) is one as well.
    return inRange(Date.prototype.getTime.call(value))
  } catch {
    return null // Date.prototype.getTime refuses anything that is no Date
  }
}

/**
 * {@link toEpochMilliseconds} for a value that must be an instant.
 *
 * @throws SessionError with `code`, naming `field`.
 */
export function checkInstant(
  value: unknown,
  field: string,
  code: 'INVALID_ARGUMENT' | 'INVALID_FILTER' | 'INVALID_EVENT' = 'INVALID_ARGUMENT',
): number {
  const time = toEpochMilliseconds(value)
  if (time !== null) return time
  throw invalid(
    code,
    field,
    `must be a Date, epoch milliseconds or ISO-8601 with seconds and zone (2025-06-01T12:00:00Z), not ${describeValue(value)}`,
  )
}

function parseIso(text: string): number | null {
  const match = ISO.exec(text)
  if (match === null || match[1] === '-000000') return null
  const [year = 0, month = 0, day, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  const [fraction = '', sign, hours, minutes] = [match[7], match[9], match[10], match[11]]
  const [offsetHours, offsetMinutes] = [Number(hours ?? 0), Number(minutes ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return null
  const date = new Date(0)
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  date.setUTCHours(hour, minute, second, Number(fraction.slice(0, 3).padEnd(3, '0')))
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000
  return inRange(date.getTime() - (sign === '-' ? -offset : offset))
}

function inRange(time: number): number | null {
  return Math.abs(time) <= MAX_TIME ? Math.trunc(time) + 0 : null
}

/** An instant as models read it: `2025-06-01T12:00:00Z`, with milliseconds only where there are some. */
export function formatInstant(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z')
}
