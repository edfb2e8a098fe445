/** The query of a URL, strictly: every parameter is known, well encoded, and given once unless it is a list. */

import { describeValue, invalid, type SessionError } from '../core/errors.ts'
import type { InstantInput } from '../core/instant.ts'
import { filterParameters, type ParameterKind, type QueryForm } from './queries.ts'

/** The values of a query; what was not given is not there. */
export type QueryValues<F extends QueryForm> = {
  readonly [N in keyof F]?: ReturnType<(typeof READERS)[F[N]]>
}

const INTEGER = /^-?\d{1,16}$/

const READERS = {
  text: (texts: readonly string[]) => texts[0] ?? '',
  /** Literal: commas belong to the texts. */
  texts: (texts: readonly string[]) => texts,
  /** Commas separate words too. */
  words: (texts: readonly string[]) =>
    texts
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  integer: ([text = '']: readonly string[], name: string) => {
    if (!INTEGER.test(text)) throw wrong(name, 'must be an integer', text)
    return Number(text)
  },
  flag: ([text = '']: readonly string[], name: string) => {
    if (text === 'true' || text === '1') return true
    if (text === 'false' || text === '0') return false
    throw wrong(name, 'must be true, false, 1 or 0', text)
  },
  instant: ([text = '']: readonly string[]): InstantInput =>
    INTEGER.test(text) ? Number(text) : restorePlus(text),
} as const satisfies Record<ParameterKind, (texts: readonly string[], name: string) => unknown>

/**
 * The parameters of a query.
 *
 * @throws SessionError `INVALID_FILTER` for a field of a filter, `INVALID_ARGUMENT` for another
 * parameter, naming it.
 */
export function readQuery<F extends QueryForm>(url: string, form: F): QueryValues<F> {
  const texts = new Map<string, string[]>()
  for (const [name, text] of parameters(url)) {
    if (!Object.hasOwn(form, name)) throw wrong(name, 'is not known here')
    const list = texts.get(name) ?? []
    const isList = form[name] === 'texts' || form[name] === 'words'
    if (list.length > 0 && !isList) throw wrong(name, 'is given more than once')
    list.push(text)
    texts.set(name, list)
  }
  const values = [...texts].map(([name, list]) => {
    return [name, READERS[form[name] as ParameterKind](list, name)]
  })
  return Object.fromEntries(values) as QueryValues<F>
}

function* parameters(url: string): Generator<readonly [name: string, value: string]> {
  const start = url.indexOf('?')
  if (start < 0) return
  const end = url.indexOf('#', start)
  for (const pair of url.slice(start + 1, end < 0 ? undefined : end).split('&')) {
    if (pair === '') continue
    const [name = '', ...rest] = pair.split('=')
    yield [decode(name, 'query'), decode(rest.join('='), name)]
  }
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw wrong(name, 'is not percent-encoded UTF-8')
  }
}

/** A plus sign that was not percent-encoded arrives as a space: an instant has it in two places. */
function restorePlus(text: string): string {
  return text.replace(/^ (?=\d{6}-)/, '+').replace(/ (?=\d\d:\d\d$)/, '+')
}

function wrong(name: string, problem: string, found?: string): SessionError {
  const code = Object.hasOwn(filterParameters, name) ? 'INVALID_FILTER' : 'INVALID_ARGUMENT'
  const not = found === undefined ? '' : `, not ${describeValue(found)}`
  return invalid(code, name.slice(0, 80), problem + not)
}
