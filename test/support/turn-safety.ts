// What turn safety means, written apart from the code that keeps it, and without its cleverness.
import type { SessionEvent } from 'turnlog'

/** The turn that an event of a view belongs to: the position of its opening message, -1 before the first. */
export function turnsOf(view: readonly SessionEvent[]): ReadonlyMap<SessionEvent, number> {
  const turns = new Map<SessionEvent, number>()
  let opening = -1
  view.forEach((event, position) => {
    if (event.synthetic) return
    if (event.message.role === 'user' && event.branch === null) opening = position
    turns.set(event, opening)
  })
  return turns
}

interface Mark {
  readonly event: SessionEvent
  readonly position: number
  readonly opens: boolean
  readonly name: string
}

function marksOf(view: readonly SessionEvent[]): readonly Mark[] {
  return view.flatMap((event, position) => {
    if (event.synthetic || typeof event.message.content === 'string') return []
    return event.message.content.flatMap((part): Mark[] => {
      const { type, toolCallId, approvalId } = part as Record<string, string>
      const mark = (opens: boolean, kind: string, id: string | undefined) => [
        { event, position, opens, name: `${kind} ${id} on ${String(event.branch)}` },
      ]
      if (type === 'tool-call') return mark(true, 'call', toolCallId)
      if (type === 'tool-result') return mark(false, 'call', toolCallId)
      if (type === 'tool-approval-request') return mark(true, 'approval', approvalId)
      if (type === 'tool-approval-response') return mark(false, 'approval', approvalId)
      return []
    })
  })
}

/** The exchanges of a view, by looking for a partner mark by mark. */
export function exchangesOf(view: readonly SessionEvent[]): {
  readonly pairs: readonly (readonly [SessionEvent, SessionEvent])[]
  readonly waiting: readonly SessionEvent[]
  readonly orphans: readonly SessionEvent[]
} {
  const turns = turnsOf(view)
  const marks = marksOf(view)
  const partner = new Map<Mark, Mark>()
  const join = (a: Mark, b: Mark) => partner.set(a, b).set(b, a)
  const isFree = (mark: Mark, name: string) =>
    mark.opens && mark.name === name && !partner.has(mark)
  const closing = marks.filter(({ opens }) => !opens)
  for (const mark of closing) {
    const before = marks.slice(0, marks.indexOf(mark)).findLast((other) => isFree(other, mark.name))
    if (before !== undefined) join(before, mark)
  }
  for (const mark of closing.filter((other) => !partner.has(other))) {
    const after = marks
      .slice(marks.indexOf(mark))
      .find((other) => isFree(other, mark.name) && turns.get(other.event) === turns.get(mark.event))
    if (after !== undefined) join(after, mark)
  }
  return {
    pairs: marks.flatMap((mark) => {
      const other = partner.get(mark)
      return mark.opens && other !== undefined ? [[mark.event, other.event] as const] : []
    }),
    waiting: marks.filter((mark) => mark.opens && !partner.has(mark)).map(({ event }) => event),
    orphans: closing.filter((mark) => !partner.has(mark)).map(({ event }) => event),
  }
}

/** What a view may never lose: its newest turn and what belongs to that. */
export function requiredOf(view: readonly SessionEvent[]): ReadonlySet<SessionEvent> {
  const turns = turnsOf(view)
  const { pairs, orphans } = exchangesOf(view)
  const newest = Math.max(-1, ...turns.values())
  const required = new Set([...turns.keys()].filter((event) => turns.get(event) === newest))
  for (let size = -1; size !== required.size; ) {
    size = required.size
    for (const [call, result] of pairs) {
      if (required.has(call) || required.has(result)) required.add(call).add(result)
    }
    for (const event of [...required]) {
      const opening = view[turns.get(event) ?? -1]
      if (opening !== undefined && event.message.role !== 'system') required.add(opening)
    }
    for (const event of orphans) {
      const opening = view[turns.get(event) ?? -1]
      if (opening !== undefined && required.has(opening)) required.add(event)
    }
  }
  return required
}

/** What is wrong with keeping just these events of a view; empty when nothing is. */
export function findUnsafe(
  view: readonly SessionEvent[],
  keptIds: ReadonlySet<string>,
): readonly string[] {
  const problems: string[] = []
  const turns = turnsOf(view)
  const isKept = (event: SessionEvent) => keptIds.has(event.id)
  const { pairs, orphans, waiting } = exchangesOf(view)
  for (const [call, result] of pairs) {
    if (isKept(call) !== isKept(result)) problems.push(`half of ${call.id} and ${result.id}`)
  }
  for (const [event, turn] of turns) {
    const opening = view[turn]
    if (opening === undefined || event.message.role === 'system') continue
    if (isKept(event) && !isKept(opening)) problems.push(`${event.id} without its question`)
  }
  for (const event of orphans) {
    const opening = view[turns.get(event) ?? -1]
    if (opening !== undefined && isKept(opening) && !isKept(event)) {
      problems.push(`the orphan ${event.id} left its turn`)
    }
  }
  const newest = Math.max(-1, ...turns.values())
  for (const [event, turn] of turns) {
    if (turn === newest && !isKept(event)) problems.push(`${event.id} of the newest turn is gone`)
  }
  for (const event of waiting) {
    if (turns.get(event) === newest && !isKept(event)) problems.push(`${event.id} still waits`)
  }
  const first = view.find((event) => {
    const inPreamble = turns.get(event) === -1
    const counts = !event.synthetic && event.branch === null && event.message.role !== 'system'
    return counts && !inPreamble && isKept(event)
  })
  if (first !== undefined && first.message.role !== 'user') {
    problems.push(`the view begins with ${first.id}, a message of the ${first.message.role}`)
  }
  return problems
}
