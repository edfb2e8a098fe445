/** Events for the cases of the contract suite. */

import { EventFilter, type EventFilterJson } from '../core/event-filter.ts'
import { encodeBody } from '../core/event-input.ts'
import type { Message } from '../core/message.ts'
import type { SeqRange } from '../core/seq-ranges.ts'
import type { EventInput, SessionEvent } from '../core/session.ts'
import type { Commit, NewBoundary, NewEventRecord } from '../core/session-repository.ts'
import type { SessionService } from '../core/session-service.ts'

/** A user's message with a given id; the id is the text unless said otherwise. */
export function userEvent(id: string, text = id, rest: Partial<EventInput> = {}): EventInput {
  return { id, message: { role: 'user', content: text }, ...rest }
}

/** An answer with a given id. */
export function answerEvent(id: string, text = id, rest: Partial<EventInput> = {}): EventInput {
  return { id, message: { role: 'assistant', content: text }, ...rest }
}

/** `count` user events with the ids `prefix1`, `prefix2` … */
export function userEvents(count: number, prefix = 'e'): EventInput[] {
  return Array.from({ length: count }, (_, index) => userEvent(`${prefix}${index + 1}`))
}

/** An event as it crosses the seam, for commits that no service makes. */
export function eventRecord(
  id: string,
  text = id,
  rest: Partial<NewEventRecord> = {},
): NewEventRecord {
  const synthetic = rest.synthetic ?? false
  const message: Message = { role: rest.role ?? 'user', content: text }
  return {
    id,
    timestamp: 1_700_000_000_000,
    role: message.role,
    branch: null,
    synthetic,
    body: encodeBody(message, synthetic ? { synthetic: true } : {}),
    ...rest,
  }
}

/** A summary as it crosses the seam. */
export function summaryRecord(id: string, text = `summary ${id}`): NewEventRecord {
  return eventRecord(id, text, { role: 'assistant', synthetic: true })
}

/** A commit of a boundary with new summaries, that keeps `kept` of the events up to `through`. */
export function boundaryCommit(
  now: number,
  options: {
    readonly summaries?: readonly string[]
    readonly kept: readonly SeqRange[]
    readonly through: number
    readonly rewound?: readonly SeqRange[]
    readonly operationId?: string
    readonly expectedBoundary?: string | null
    readonly expectedVersion?: number
  },
): Commit & { readonly boundary: NewBoundary } {
  const { summaries = [], kept, through, rewound = [], ...rest } = options
  return {
    now,
    events: summaries.map((id) => summaryRecord(id)),
    boundary: { summaries, kept, through, rewound },
    ...rest,
  }
}

/** A session `s` with `count` events `e1`, `e2` … */
export async function createLog(
  service: SessionService,
  count: number,
  sessionId = 's',
): Promise<readonly SessionEvent[]> {
  await service.create({ id: sessionId })
  return service.appendEvents(sessionId, userEvents(count))
}

export function idsOf(events: readonly { readonly id: string }[]): string[] {
  return events.map(({ id }) => id)
}

export function seqsOf(events: readonly { readonly seq: number }[]): number[] {
  return events.map(({ seq }) => seq)
}

/** `first`, `first + 1`, … `last`. */
export function numbers(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
}

/** The filter of all events, as it crosses the seam. */
export const ALL_EVENTS: EventFilterJson = EventFilter.all().toJSON()
