/** Turns, and which parts of a view belong together whatever a strategy says. */

import type { SessionEvent } from './session.ts'

/** Whether an event opens a turn: a real message of a user on the root branch. */
export function startsTurn(event: SessionEvent): boolean {
  return event.message.role === 'user' && event.branch === null && !event.synthetic
}

/** How many turns a view holds. */
export function countTurns(view: readonly SessionEvent[]): number {
  return view.filter(startsTurn).length
}

/**
 * What of `view` is really kept when a strategy wants to keep `wanted`:
 *
 * - the newest turn is kept whole; without any turn, everything is;
 * - of an older turn nothing is kept unless its opening user message is, but for system messages;
 * - a tool call and its results are kept or left together, also over the border of a turn;
 * - a tool result without a call stays with its turn.
 *
 * Summaries are left as the strategy wants them. The result is in view order, and keeping it again
 * gives the same.
 */
export function keepSafely(
  view: readonly SessionEvent[],
  wanted: ReadonlySet<string>,
): readonly SessionEvent[] {
  const real = view.filter((event) => !event.synthetic)
  const turnOf = new Map<SessionEvent, number>()
  const starts: (SessionEvent | undefined)[] = [undefined]
  for (const event of real) {
    if (startsTurn(event)) starts.push(event)
    turnOf.set(event, starts.length - 1)
  }
  const newest = starts.length - 1
  const { groupOf, orphans } = groupToolEvents(real, turnOf)

  // What must stay: the newest turn, what its tool exchanges reach, and the openings of those turns.
  const required = new Set<SessionEvent>()
  const require = (event: SessionEvent) => {
    if (required.has(event)) return
    required.add(event)
    groupOf.get(event)?.forEach(require)
    const start = starts[turnOf.get(event) ?? 0]
    if (start !== undefined) require(start)
  }
  for (const event of real) if (turnOf.get(event) === newest) require(event)

  // What may stay: dropping one event can only make others droppable, so this ends.
  const kept = new Set(real.filter((event) => required.has(event) || wanted.has(event.id)))
  const isComplete = (event: SessionEvent): boolean => {
    const start = starts[turnOf.get(event) ?? 0]
    const isOpened = start === undefined || kept.has(start) || event.message.role === 'system'
    return isOpened && (groupOf.get(event)?.every((member) => kept.has(member)) ?? true)
  }
  for (let before = -1; before !== kept.size; ) {
    before = kept.size
    for (const event of kept) if (!required.has(event) && !isComplete(event)) kept.delete(event)
  }
  for (const event of orphans) {
    const start = starts[turnOf.get(event) ?? 0]
    if (start !== undefined && kept.has(start)) kept.add(event)
  }
  return view.filter((event) => (event.synthetic ? wanted.has(event.id) : kept.has(event)))
}

/**
 * Events that a tool call and its results tie together, and results that have no call. Call ids are
 * paired on one branch, a result with the nearest call before it that still waits (providers use ids
 * again in later turns), else with a waiting call after it in the same turn.
 */
function groupToolEvents(
  events: readonly SessionEvent[],
  turnOf: ReadonlyMap<SessionEvent, number>,
): {
  readonly groupOf: ReadonlyMap<SessionEvent, readonly SessionEvent[]>
  readonly orphans: readonly SessionEvent[]
} {
  const groupOf = new Map<SessionEvent, SessionEvent[]>()
  const tie = (a: SessionEvent, b: SessionEvent) => {
    const [left, right] = [groupOf.get(a) ?? [a], groupOf.get(b) ?? [b]]
    if (left === right) return
    const group = [...left, ...right]
    for (const member of group) groupOf.set(member, group)
  }
  const waiting = new Map<string, SessionEvent[]>()
  const unmatched: { readonly key: string; readonly event: SessionEvent }[] = []
  for (const event of events) {
    for (const { type, id } of toolParts(event)) {
      const key = JSON.stringify([event.branch, id])
      const calls = waiting.get(key) ?? []
      if (type === 'tool-call') waiting.set(key, [...calls, event])
      else {
        const call = calls.pop()
        if (call !== undefined) tie(call, event)
        else unmatched.push({ key, event })
      }
    }
  }
  const orphans: SessionEvent[] = []
  for (const { key, event } of unmatched) {
    const calls = waiting.get(key) ?? []
    const index = calls.findIndex((call) => turnOf.get(call) === turnOf.get(event))
    const [call] = index < 0 ? [] : calls.splice(index, 1)
    if (call !== undefined) tie(call, event)
    else orphans.push(event)
  }
  return { groupOf, orphans }
}

/** The tool calls and results of a message. */
export function toolParts(
  event: Pick<SessionEvent, 'message'>,
): readonly { readonly type: 'tool-call' | 'tool-result'; readonly id: string }[] {
  const { content } = event.message
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    const { type, toolCallId } = part as { type: string; toolCallId?: unknown }
    return (type === 'tool-call' || type === 'tool-result') && typeof toolCallId === 'string'
      ? [{ type, id: toolCallId }]
      : []
  })
}
