/** Reading the options of triggers and strategies. */

import { describeValue, invalidArgument } from '../core/errors.ts'

/** A positive integer; `undefined` and `null` give the fallback, where there is one. */
export function readPositive(value: unknown, name: string, fallback?: number): number {
  return readInteger(value, name, 1, fallback)
}

/** An integer of at least `least`. */
export function readInteger(
  value: unknown,
  name: string,
  least: number,
  fallback?: number,
): number {
  const given = value ?? fallback
  if (!Number.isSafeInteger(given) || (given as number) < least) {
    throw invalidArgument(
      name,
      `must be an integer of at least ${least}, not ${describeValue(given)}`,
    )
  }
  return given as number
}

/** A function; `undefined` gives the fallback. `null` is refused: a function that went missing is a mistake. */
export function readFunction<T>(value: T, name: string, fallback?: NonNullable<T>): NonNullable<T> {
  const given = value === undefined ? fallback : value
  if (typeof given !== 'function') {
    throw invalidArgument(name, `must be a function, not ${describeValue(given)}`)
  }
  return given
}

/** A text that is not blank; `undefined` and `null` give the fallback. */
export function readText(value: unknown, name: string, fallback: string): string {
  const given = value ?? fallback
  if (typeof given !== 'string' || given.trim() === '') {
    throw invalidArgument(name, 'must be a text that is not blank')
  }
  return given
}
