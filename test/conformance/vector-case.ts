// What the vectors have in common: a case, its outcome, and the ways to say what is wrong.
import type { StoreHarness } from '../../src/testing/index.ts'

/** A case as it stands in a file; every suite reads its own fields and checks them as it goes. */
export type VectorCase = Readonly<Record<string, unknown>> & { readonly name: string }

export type VectorOutcome =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'failed' | 'skipped'; readonly reason: string }

/** Runs one case against a store that is empty. */
export type VectorSuite = (vectorCase: VectorCase, harness: StoreHarness) => Promise<void>

/** The product does not do what the case says. */
export class VectorFailure extends Error {}

/** The case cannot be run, for a reason that belongs into the report. */
export class VectorSkipped extends Error {}

/** Fails unless the two are the same as JSON, whatever the order of their keys. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (canonical(actual) !== canonical(expected)) {
    throw new VectorFailure(`${what}: expected ${show(expected)}, found ${show(actual)}`)
  }
}

export function expectTrue(condition: boolean, what: string): void {
  if (!condition) throw new VectorFailure(what)
}

/** Fails unless `run` throws; gives the error's message. */
export async function expectThrown(run: () => unknown, what: string): Promise<string> {
  let result: unknown
  try {
    result = await run()
  } catch (error) {
    if (error instanceof VectorSkipped) throw error
    return error instanceof Error ? error.message : String(error)
  }
  throw new VectorFailure(`${what}: expected an error, found ${show(result)}`)
}

/** What the original calls an option that has another name here. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  estimator: 'estimateTokens',
  tokenCountEstimator: 'estimateTokens',
  formatter: 'formatEvent',
  chatClient: 'summarize',
  eventFilter: 'filter',
}

/** Fails unless the message of an error contains every word, or our name for it, in any case. */
export function expectMentions(message: string, words: unknown, what: string): void {
  for (const word of asList<string>(words)) {
    const accepted = [
      word,
      ...Object.entries(OTHER_NAMES)
        .filter(([theirs]) => theirs.toLowerCase().includes(word.toLowerCase()))
        .map(([, ours]) => ours),
    ]
    const text = message.toLowerCase()
    if (!accepted.some((name) => text.includes(name.toLowerCase()))) {
      throw new VectorFailure(`${what}: expected a message about ${word}, found ${show(message)}`)
    }
  }
}

/** A field that should be a list; absent is empty. */
export function asList<T>(value: unknown): readonly T[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value as T]
}

/** A field that should be an object; absent is empty. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}
}

function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/**
 * Skips a case whose expectations are not all understood: it would pass without being looked at.
 *
 * @param known the names that begin with `expect` and are looked at.
 */
export function requireKnownExpectations(
  fields: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  for (const field of Object.keys(fields)) {
    if (field.startsWith('expect') && !known.includes(field)) {
      throw new VectorSkipped(`its expectation ${field} is unknown`)
    }
  }
}
