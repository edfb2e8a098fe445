/** Edits of the view by a boundary: rewind for editing and regenerating, and clearing it. */

import { isGiven, readOptions } from './arguments.ts'
import { placeOf, viewRanges } from './boundary.ts'
import { eventNotFound, invalidArgument, isSessionError } from './errors.ts'
import { EventFilter } from './event-filter.ts'
import { checkId, randomId } from './identifiers.ts'
import {
  countRanges,
  normalizeRanges,
  rangesInclude,
  type SeqRange,
  subtractRanges,
  uniteRanges,
} from './seq-ranges.ts'
import { requireSession } from './session-record.ts'
import type {
  Boundary,
  EventView,
  NewBoundary,
  SessionRecord,
  SessionRepository,
} from './session-repository.ts'

/** From where on events leave the view: the named one included (`before`) or kept (`after`). */
export type RewindTarget =
  | { readonly before: string; readonly after?: null | undefined }
  | { readonly after: string; readonly before?: null | undefined }

/**
 * The id that a target names, and whether what it names stays.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function readTarget(target: RewindTarget): {
  readonly id: string
  readonly stays: boolean
} {
  const { before, after } = readOptions<{
    readonly before?: string | null | undefined
    readonly after?: string | null | undefined
  }>(target, 'target')
  if (isGiven(before) === isGiven(after)) {
    throw invalidArgument('target', 'must be { before: id } or { after: id }')
  }
  return isGiven(before)
    ? { id: checkId(before, 'before'), stays: false }
    : { id: checkId(after, 'after'), stays: true }
}

interface EditContext {
  readonly repository: SessionRepository
  readonly now: () => number
}

/** See `SessionService.rewind`. */
export async function rewind(
  context: EditContext,
  sessionId: string,
  target: RewindTarget,
): Promise<number> {
  const { id: eventId, stays } = readTarget(target)
  return editView(context, sessionId, async (session) => {
    const event = await context.repository.findEvent(sessionId, eventId, { now: context.now() })
    if (event === null) throw eventNotFound(sessionId, eventId)
    if (event.seq > session.lastSeq) return null
    const place = placeOf(session.boundary, event.seq)
    if (place.rewound) {
      throw invalidArgument('target', `"${eventId}" was itself taken out by an earlier rewind`)
    }
    const { boundary, lastSeq } = await viewToCut(context, session, event)
    const view = viewRanges(boundary, lastSeq)
    const remaining = cutView(view, event.seq, stays)
    const rewound = session.boundary?.rewound ?? []
    const summaries = remaining.filter(([seq]) => {
      return boundary?.summaries.includes(seq) === true && !rangesInclude(rewound, seq)
    })
    const kept = normalizeRanges(remaining)
    const present = viewRanges(session.boundary, session.lastSeq)
    const from = stays ? event.seq + 1 : event.seq
    const affected = normalizeRanges([...present, ...view, [from, session.lastSeq]])
    return {
      summaries: await idsOf(context, sessionId, summaries),
      kept,
      rewound: subtractRanges(affected, kept),
    }
  })
}

/**
 * Which view a rewind to `event` cuts: the present one, unless that holds in summaries what came after
 * the event. Then it is the one of the moment when the event was appended, or, for a summary, of the
 * compaction that wrote it.
 */
async function viewToCut(
  { repository, now }: EditContext,
  session: SessionRecord,
  event: EventView,
): Promise<{ readonly boundary: Boundary | null; readonly lastSeq: number }> {
  const present = { boundary: session.boundary, lastSeq: session.lastSeq }
  const { boundary } = session
  if (boundary === null || event.seq > boundary.position) return present
  const isSummary = boundary.summaries.includes(event.seq)
  const view = normalizeRanges(viewRanges(boundary, boundary.position))
  const later = subtractRanges(
    [[event.seq + 1, boundary.position]],
    uniteRanges(view, boundary.rewound),
  )
  const isInView = rangesInclude(view, event.seq)
  if (isSummary || (isInView && later.length === 0)) return present

  const boundaries = await repository.readBoundaries(session.id, { now: now() })
  const written = new Set(boundaries.flatMap(({ summaries }) => summaries))
  const onlySummariesLeft = later.every(([first, last]) => {
    for (let seq = first; seq <= last; seq++) if (!written.has(seq)) return false
    return true
  })
  if (isInView && onlySummariesLeft) return present
  const own = boundaries.find(({ summaries }) => summaries.includes(event.seq))
  if (own !== undefined) return { boundary: own, lastSeq: own.position }
  const then = boundaries.findLast(({ position }) => position < event.seq) ?? null
  return { boundary: then, lastSeq: event.seq }
}

/** See `SessionService.clearView`. */
export async function clearView(context: EditContext, sessionId: string): Promise<number> {
  return editView(context, sessionId, async () => ({ summaries: [], kept: [], rewound: [] }))
}

/** How often an edit is tried when compactions or edits of others keep coming first. */
const ATTEMPTS = 8

/**
 * Commits the boundary that `edit` makes of the session as it is; gives how many events left the view.
 * `null` asks for a newer look at the session.
 */
async function editView(
  { repository, now }: EditContext,
  sessionId: string,
  edit: (session: SessionRecord) => Promise<Omit<NewBoundary, 'through'> | null>,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const found = await repository.findSession(sessionId, { now: now() })
    const session = requireSession(sessionId, found, now())
    const boundary = await edit(session)
    if (boundary === null) continue
    const view = normalizeRanges(viewRanges(session.boundary, session.lastSeq))
    const removed = countRanges(subtractRanges(view, boundary.kept))
    if (removed === 0 && countRanges(boundary.kept) === countRanges(view)) return 0
    try {
      await repository.commit(sessionId, {
        now: now(),
        operationId: randomId(),
        expectedSession: session.number,
        expectedBoundary: session.boundary?.id ?? null,
        events: [],
        boundary: { ...boundary, through: session.lastSeq },
      })
      return removed
    } catch (error) {
      const retry = isSessionError(error) && error.code === 'BOUNDARY_CONFLICT'
      if (!retry || attempt === ATTEMPTS) throw error
    }
  }
}

/** The part of a view up to the event at `seq`, with it or without. */
function cutView(view: readonly SeqRange[], seq: number, inclusive: boolean): readonly SeqRange[] {
  const result: SeqRange[] = []
  for (const [first, last] of view) {
    if (seq < first || seq > last) result.push([first, last])
    else {
      const end = inclusive ? seq : seq - 1
      if (first <= end) result.push([first, end])
      break
    }
  }
  return result
}

/** The ids of a few events by `seq`. */
async function idsOf(
  { repository, now }: EditContext,
  sessionId: string,
  ranges: readonly SeqRange[],
): Promise<readonly string[]> {
  const filter = EventFilter.of({ pageSize: 1 }).toJSON()
  const ids: string[] = []
  for (const [seq] of ranges) {
    const { events } = await repository.readEvents(sessionId, {
      now: now(),
      filter,
      afterSeq: seq - 1,
    })
    for (const event of events) if (event.seq === seq) ids.push(event.id)
  }
  return ids
}
