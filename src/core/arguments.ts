/** Reading arguments: what is wrong with one is refused by its name, before anything is done. */

import { describeValue, invalidArgument, reading } from './errors.ts'

/** Whether an optional argument is there: `null` and `undefined` alike mean that it is not. */
export function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== null && value !== undefined
}

/** A copy of plain options, `{}` when there are none: what the caller changes later does not reach it. */
export function readOptions<T extends object>(
  options: T | null | undefined,
  name = 'options',
): Partial<T> {
  return reading('INVALID_ARGUMENT', name, () => {
    if (!isGiven(options)) return {}
    if (typeof options !== 'object' || Array.isArray(options)) {
      throw invalidArgument(name, `must be an object, not ${describeValue(options)}`)
    }
    return { ...options }
  })
}

/** A positive integer; `undefined` and `null` give the fallback, where there is one. */
export function readPositive(value: unknown, name: string, fallback?: number): number {
  return readInteger(value, name, { least: 1, fallback })
}

/** An integer from `least` to `most`; `undefined` and `null` give the fallback, where there is one. */
export function readInteger(
  value: unknown,
  name: string,
  {
    least,
    most = Number.MAX_SAFE_INTEGER,
    fallback,
  }: {
    readonly least: number
    readonly most?: number | undefined
    readonly fallback?: number | undefined
  },
): number {
  const given = value ?? fallback
  if (!Number.isSafeInteger(given) || (given as number) < least || (given as number) > most) {
    const range =
      most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    throw invalidArgument(name, `must be an integer ${range}, not ${describeValue(given)}`)
  }
  return given as number
}

/** The longest time that a timer can wait: a longer one would end at once. */
const MAX_DELAY = 2 ** 31 - 1

/** A time to wait, in milliseconds; `undefined` and `null` give the fallback. */
export function readDelay(value: unknown, name: string, fallback: number): number {
  return readInteger(value, name, { least: 1, most: MAX_DELAY, fallback })
}

/** A function; `undefined` gives the fallback. `null` is refused: a function that went missing is a mistake. */
export function readFunction<T>(value: T, name: string, fallback?: NonNullable<T>): NonNullable<T> {
  const given = value === undefined ? fallback : value
  if (typeof given !== 'function') {
    throw invalidArgument(name, `must be a function, not ${describeValue(given)}`)
  }
  return given
}

/** {@link readFunction} for an option whose absence may be written as `null`. */
export function readOptionalFunction<T>(
  value: T | null | undefined,
  name: string,
): NonNullable<T> | undefined {
  return isGiven(value) ? readFunction<NonNullable<T>>(value, name) : undefined
}

/** Checks that a value is a text; it may be empty. */
export function checkText(value: unknown, name: string): void {
  if (typeof value !== 'string') {
    throw invalidArgument(name, `must be a string, not ${describeValue(value)}`)
  }
}

/** A text that is not blank; `undefined` and `null` give the fallback. */
export function readText(value: unknown, name: string, fallback: string): string {
  const given = value ?? fallback
  if (typeof given !== 'string' || given.trim() === '') {
    throw invalidArgument(name, 'must be a text that is not blank')
  }
  return given
}

/** A flag; `undefined` and `null` mean `false`. */
export function readFlag(value: unknown, name: string): boolean {
  const given = value ?? false
  if (typeof given !== 'boolean') {
    throw invalidArgument(name, `must be a boolean, not ${describeValue(given)}`)
  }
  return given
}

/** An `AbortSignal` of any realm; `undefined` and `null` give one that never fires. */
export function readSignal(value: AbortSignal | null | undefined): AbortSignal {
  if (!isGiven(value)) return new AbortController().signal
  return reading('INVALID_ARGUMENT', 'signal', () => {
    const isSignal =
      typeof value.aborted === 'boolean' &&
      typeof value.throwIfAborted === 'function' &&
      typeof value.addEventListener === 'function'
    if (isSignal) return value
    throw invalidArgument('signal', `must be an AbortSignal, not ${describeValue(value)}`)
  })
}

/** Checks that what a call works on, such as a service, was given and not something else. */
export function checkMethod(value: unknown, method: string, name: string): void {
  const found = reading('INVALID_ARGUMENT', name, () => {
    return (value as Readonly<Record<string, unknown>> | null | undefined)?.[method]
  })
  if (typeof found !== 'function') {
    throw invalidArgument(name, `must have a method ${method}`)
  }
}
