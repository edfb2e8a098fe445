/** Checks of what a request holds, with errors that name the place. */

import * as z from 'zod/mini'
import { describeValue, invalid, type SessionError } from '../core/errors.ts'

/**
 * The value, when it has the form of `schema`.
 *
 * @param place what the error calls the value itself; its members are called by their path in it.
 * @throws SessionError with `code`, naming the first thing that is wrong.
 */
export function validate<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  place: string,
  code: 'INVALID_ARGUMENT' | 'INVALID_FILTER' = 'INVALID_ARGUMENT',
): z.output<S> {
  const result = z.safeParse(schema, value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  if (issue === undefined) throw invalid(code, place, 'is not valid')
  const isFilter = issue.path[0] === 'filter' || code === 'INVALID_FILTER'
  throw describeIssue(issue, value, place, isFilter ? 'INVALID_FILTER' : 'INVALID_ARGUMENT')
}

function describeIssue(
  issue: z.core.$ZodIssue,
  value: unknown,
  place: string,
  code: 'INVALID_ARGUMENT' | 'INVALID_FILTER',
): SessionError {
  const field = pathOf(issue.path) || place
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? ''
    return invalid(code, pathOf([...issue.path, key.slice(0, 80)]), 'is not known here')
  }
  const found = describeValue(valueAt(value, issue.path))
  return invalid(code, field, `${expectation(issue)}, not ${found}`)
}

function expectation(issue: z.core.$ZodIssue): string {
  // A text of the schema's own; Zod's have a locale, which is not loaded.
  if (issue.message !== 'Invalid input') return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `must be at least ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    default:
      return 'must be of one of the forms that are accepted here'
  }
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === 'number'
        ? `${text}[${key}]`
        : text === ''
          ? String(key)
          : `${text}.${String(key)}`,
    '',
  )
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  )
}
