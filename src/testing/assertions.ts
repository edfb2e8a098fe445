/** The assertions of the contract suite: plain functions, so that it runs under any test framework. */

import type { SessionErrorCode } from '../core/errors.ts'

/** What a failing case throws; the message says what was expected and what was found. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation'
}

/** Fails unless `actual` and `expected` are the same data: Dates by time, objects by their keys, in any order. */
export function assertEqual<T>(actual: T, expected: T, what: string): void {
  const difference = findDifference(actual, expected, '')
  if (difference === null) return
  const place = difference.path === '' ? '' : ` at ${difference.path}`
  throw new ContractViolation(
    `${what}${place}: expected ${show(difference.expected)}, found ${show(difference.actual)}`,
  )
}

/** Fails unless the condition holds. */
export function assertTrue(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ContractViolation(`expected: ${what}`)
}

/** The value, when there is one. */
export function assertPresent<T>(value: T, what: string): NonNullable<T> {
  if (value === null || value === undefined) {
    throw new ContractViolation(`${what}: expected a value, found ${String(value)}`)
  }
  return value
}

/**
 * Fails unless `run` fails with a `SessionError` of this code.
 *
 * @param mentions words that its message has to contain.
 * @returns the error.
 */
export async function assertFails(
  run: () => Promise<unknown>,
  code: SessionErrorCode,
  what: string,
  mentions: readonly string[] = [],
): Promise<{ readonly message: string; readonly details?: Readonly<Record<string, unknown>> }> {
  let result: unknown
  try {
    result = await run()
  } catch (error) {
    const found = error as { readonly code?: unknown; readonly message: string }
    if (found?.code !== code) {
      throw new ContractViolation(`${what}: expected ${code}, found ${describeFailure(error)}`)
    }
    for (const word of mentions) {
      if (!found.message.includes(word)) {
        throw new ContractViolation(
          `${what}: expected a message that names ${show(word)}, found ${show(found.message)}`,
        )
      }
    }
    return found
  }
  throw new ContractViolation(`${what}: expected ${code}, found the result ${show(result)}`)
}

interface Difference {
  readonly path: string
  readonly actual: unknown
  readonly expected: unknown
}

function findDifference(actual: unknown, expected: unknown, path: string): Difference | null {
  if (Object.is(actual, expected)) return null
  const difference = { path, actual, expected }
  if (!isObject(actual) || !isObject(expected)) return difference
  if (kindOf(actual) !== kindOf(expected)) return difference
  if (kindOf(actual) === 'Date') return Number(actual) === Number(expected) ? null : difference
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length) {
    return difference
  }
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)])
  for (const key of keys) {
    const place = Array.isArray(actual) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    // A key that holds undefined is not the same as no key: stored data has none.
    if (Object.hasOwn(actual, key) !== Object.hasOwn(expected, key)) {
      return { path: place, actual: actual[key], expected: expected[key] }
    }
    const inner = findDifference(actual[key], expected[key], place)
    if (inner !== null) return inner
  }
  return null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

function describeFailure(error: unknown): string {
  if (!isObject(error)) return `the thrown value ${show(error)}`
  const { name, code, message, stack } = error
  return `${String(name)} ${code === undefined ? '' : `${String(code)} `}${show(message)}${
    code === undefined ? `\n${String(stack)}` : ''
  }`
}

const SHOWN_LENGTH = 400

function show(value: unknown): string {
  const text =
    value === undefined || typeof value === 'function'
      ? String(value)
      : (JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? `${item}n` : item)) ??
        String(value))
  return text.length > SHOWN_LENGTH
    ? `${text.slice(0, SHOWN_LENGTH)}… (${text.length} characters)`
    : text
}
