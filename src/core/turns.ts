/** Turns, and which parts of a view belong together whatever a strategy says. */

import { checkMethod } from './arguments.ts'
import { invalidArgument, reading } from './errors.ts'
import type { SessionEvent } from './session.ts'

/**
 * Whether an event opens a turn: a real message of a user on the root branch.
 *
 * @throws SessionError `INVALID_ARGUMENT` when it is no event.
 */
export function startsTurn(event: SessionEvent): boolean {
  return reading('INVALID_ARGUMENT', 'event', () => {
    return event.message.role === 'user' && event.branch === null && !event.synthetic
  })
}

/**
 * How many turns a view holds.
 *
 * @throws SessionError `INVALID_ARGUMENT` when it is no array of events.
 */
export function countTurns(view: readonly SessionEvent[]): number {
  checkView(view)
  return view.filter(startsTurn).length
}

/** @throws SessionError `INVALID_ARGUMENT` when it is no array of events. */
export function checkView(view: readonly SessionEvent[]): void {
  const isView = reading('INVALID_ARGUMENT', 'view', () => {
    return Array.isArray(view) && view.every(({ message: { role } }) => typeof role === 'string')
  })
  if (!isView) throw invalidArgument('view', 'must be an array of events')
}

/**
 * What of `view` is really kept when a strategy wants to keep `wanted`:
 *
 * - the newest turn is kept whole; without any turn, everything is;
 * - of an older turn nothing is kept unless its opening user message is, but for system messages;
 * - a tool call and its results are kept or left together, also over the border of a turn, and so are
 *   an approval that was asked for and its answer;
 * - a tool result without a call stays with its turn.
 *
 * Summaries are left as the strategy wants them. The result is in view order, and keeping it again
 * gives the same.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function keepSafely(
  view: readonly SessionEvent[],
  wanted: ReadonlySet<string>,
): readonly SessionEvent[] {
  checkView(view)
  checkMethod(wanted, 'has', 'wanted')
  const real = view.filter((event) => !event.synthetic)
  const startOf = new Map<SessionEvent, SessionEvent | undefined>()
  let newest: SessionEvent | undefined
  for (const event of real) {
    if (startsTurn(event)) newest = event
    startOf.set(event, newest)
  }
  const { exchanges, orphans } = pairToolEvents(real, startOf)

  // An event can only be kept together with what it needs.
  const needs = new Map<SessionEvent, SessionEvent[]>()
  const neededBy = new Map<SessionEvent, SessionEvent[]>()
  const addNeed = (event: SessionEvent, needed: SessionEvent | undefined) => {
    if (needed === undefined || needed === event) return
    addTo(needs, event, needed)
    addTo(neededBy, needed, event)
  }
  for (const event of real) {
    if (event.message.role !== 'system') addNeed(event, startOf.get(event))
  }
  for (const [call, result] of exchanges) {
    addNeed(call, result)
    addNeed(result, call)
  }
  for (const event of orphans) {
    const start = startOf.get(event)
    if (start !== undefined) addNeed(start, event)
  }

  const required = new Set(real.filter((event) => startOf.get(event) === newest))
  // A Set hands out what is added while it is walked.
  for (const event of required) needs.get(event)?.forEach((needed) => void required.add(needed))

  const kept = new Set(real.filter((event) => required.has(event) || wanted.has(event.id)))
  const isInKeptTurn = (event: SessionEvent) => kept.has(startOf.get(event) ?? event)
  const stay = new Set(orphans.filter(isInKeptTurn))
  for (const event of stay) {
    kept.add(event)
    for (const needed of needs.get(event) ?? []) if (isInKeptTurn(needed)) stay.add(needed)
  }
  const left = new Set(real.filter((event) => !kept.has(event)))
  for (const event of left) {
    for (const dependent of neededBy.get(event) ?? []) {
      kept.delete(dependent)
      left.add(dependent)
    }
  }
  return view.filter((event) => (event.synthetic ? wanted.has(event.id) : kept.has(event)))
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/**
 * Each tool call with its result, each approval with its answer, and the events whose result or answer
 * belongs to nothing. Ids are paired on one branch, a result with the nearest call before it that still
 * waits (providers use ids again in later turns), else with a waiting call after it in the same turn.
 */
function pairToolEvents(
  events: readonly SessionEvent[],
  startOf: ReadonlyMap<SessionEvent, SessionEvent | undefined>,
): {
  readonly exchanges: readonly (readonly [opening: SessionEvent, closing: SessionEvent])[]
  readonly orphans: readonly SessionEvent[]
} {
  const exchanges: (readonly [SessionEvent, SessionEvent])[] = []
  const waiting = new Map<string, SessionEvent[]>()
  const unmatched: { readonly key: string; readonly event: SessionEvent }[] = []
  for (const event of events) {
    for (const { opens, id } of exchangeParts(event)) {
      const key = JSON.stringify([event.branch, id])
      if (opens) {
        addTo(waiting, key, event)
        continue
      }
      const opening = waiting.get(key)?.pop()
      if (opening === undefined) unmatched.push({ key, event })
      else exchanges.push([opening, event])
    }
  }
  const orphans: SessionEvent[] = []
  for (const { key, event } of unmatched) {
    const later = waiting.get(key) ?? []
    const index = later.findIndex((opening) => startOf.get(opening) === startOf.get(event))
    const [opening] = index < 0 ? [] : later.splice(index, 1)
    if (opening === undefined) orphans.push(event)
    else exchanges.push([opening, event])
  }
  return { exchanges, orphans }
}

/** What a part opens or closes; approvals are AI SDK's, and have ids of their own. */
const EXCHANGES: Readonly<Record<string, { readonly opens: boolean; readonly idKey: string }>> = {
  'tool-call': { opens: true, idKey: 'toolCallId' },
  'tool-result': { opens: false, idKey: 'toolCallId' },
  'tool-approval-request': { opens: true, idKey: 'approvalId' },
  'tool-approval-response': { opens: false, idKey: 'approvalId' },
}

/** The parts of a message that belong to a tool exchange, or to an approval of one. */
export function exchangeParts({
  message: { content },
}: Pick<SessionEvent, 'message'>): readonly { readonly opens: boolean; readonly id: string }[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    const exchange = Object.hasOwn(EXCHANGES, part.type) ? EXCHANGES[part.type] : undefined
    const id = exchange && (part as Readonly<Record<string, unknown>>)[exchange.idKey]
    return exchange && typeof id === 'string'
      ? [{ opens: exchange.opens, id: `${exchange.idKey}:${id}` }]
      : []
  })
}
