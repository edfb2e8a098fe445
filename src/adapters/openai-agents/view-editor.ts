/** Changes of a session's view that no method of `SessionService` makes: what leaves it, what comes, at once. */

import { viewRanges } from '../../core/boundary.ts'
import { isSessionError, sessionNotFound } from '../../core/errors.ts'
import { EventFilter } from '../../core/event-filter.ts'
import { checkBatchSize, decodeEvent, prepareEvent } from '../../core/event-input.ts'
import { randomId } from '../../core/identifiers.ts'
import { normalizeRanges, rangesOf, subtractRanges } from '../../core/seq-ranges.ts'
import type { EventInput, SessionEvent } from '../../core/session.ts'
import type { SessionRecord, SessionRepository } from '../../core/session-repository.ts'

/** The active view, as of one moment. */
export interface View {
  readonly session: SessionRecord
  readonly events: readonly SessionEvent[]
}

/** What a view becomes. */
export interface ViewEdit {
  /** What leaves it. */
  readonly dropped: readonly SessionEvent[]
  /** It leaves as by a compaction, and can still be found. Default: as by a rewind. */
  readonly archive?: boolean
  /** What is appended. */
  readonly added: readonly EventInput[]
  /** Names the change. */
  readonly operationId?: string
}

/** How often a change is tried when others keep coming first. */
const ATTEMPTS = 32

/**
 * Changes the view as `decide` says of it, if nothing has changed since; else `decide` is asked again.
 * `null` changes nothing.
 *
 * @throws SessionError `VERSION_CONFLICT` when others kept coming first.
 */
export async function editView(
  repository: SessionRepository,
  sessionId: string,
  now: () => number,
  decide: (view: View) => ViewEdit | null | Promise<ViewEdit | null>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const view = await readView(repository, sessionId, now)
    const edit = await decide(view)
    if (edit === null) return
    try {
      await commitEdit(repository, view, edit, now)
      return
    } catch (error) {
      const code = isSessionError(error) ? error.code : null
      const isLate = code === 'VERSION_CONFLICT' || code === 'BOUNDARY_CONFLICT'
      if (!isLate || attempt === ATTEMPTS) throw error
    }
  }
}

async function readView(
  repository: SessionRepository,
  sessionId: string,
  now: () => number,
): Promise<View> {
  const filter = EventFilter.active().toJSON()
  let answer = await repository.readEvents(sessionId, { now: now(), filter })
  const { session } = answer
  const events: SessionEvent[] = []
  for (;;) {
    for (const event of answer.events) {
      const decoded = decodeEvent(sessionId, event)
      if (decoded !== null) events.push(decoded)
    }
    if (answer.next === null) return { session, events }
    answer = await repository.readEvents(sessionId, { now: now(), filter, cursor: answer.next })
    // Deleted and created anew meanwhile: that is another log.
    if (answer.session.number !== session.number) throw sessionNotFound(sessionId)
  }
}

async function commitEdit(
  repository: SessionRepository,
  { session, events }: View,
  { dropped, archive, added, operationId }: ViewEdit,
  now: () => number,
): Promise<void> {
  const prepared = added.map((input, index) => {
    const path = `items[${index}]`
    const id = input.id ?? randomId()
    return prepareEvent(input, { sessionId: session.id, id, now: now(), path })
  })
  checkBatchSize(prepared)
  const gone = rangesOf(dropped.map(({ seq }) => seq).sort((one, other) => one - other))
  const summaries = session.boundary?.summaries ?? []
  const isDropped = new Set(dropped.map(({ id }) => id))
  const view = normalizeRanges(viewRanges(session.boundary, session.lastSeq))
  await repository.commit(session.id, {
    now: now(),
    operationId: operationId ?? randomId(),
    expectedSession: session.number,
    expectedVersion: session.version,
    expectedBoundary: session.boundary?.id ?? null,
    events: prepared.map(({ record }) => record),
    boundary:
      dropped.length === 0
        ? undefined
        : {
            summaries: summaries.flatMap((seq) => {
              const event = events.find((each) => each.seq === seq)
              return event === undefined || isDropped.has(event.id) ? [] : [event.id]
            }),
            kept: subtractRanges(view, gone),
            through: session.lastSeq,
            rewound: archive === true ? [] : gone,
          },
  })
}
