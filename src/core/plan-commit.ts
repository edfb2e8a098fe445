/** What a commit writes: the rules of appending, shared by every store. */

import { placeOf } from './boundary.ts'
import { SessionError, sessionNotFound } from './errors.ts'
import { MAX_TIME } from './instant.ts'
import {
  intersectRanges,
  rangesInclude,
  rangesOf,
  type SeqRanges,
  subtractRanges,
  uniteRanges,
} from './seq-ranges.ts'
import { requireSession } from './session-record.ts'
import type {
  Boundary,
  Commit,
  CommitResult,
  EventRecord,
  EventView,
  SessionRecord,
} from './session-repository.ts'

/** What a store looks up before it plans: all in the transaction that writes. */
export interface CommitContext {
  /** The session, `null` when it is unknown; an expired one may be passed as it is. */
  readonly session: SessionRecord | null
  /** The stored events among the ids that {@link idsOfCommit} gives. */
  readonly stored: ReadonlyMap<string, EventRecord>
  /** Whether a boundary with the commit's `operationId` is stored. */
  readonly operationStored: boolean
}

/** What a store writes, and what it answers. */
export interface CommitPlan {
  /** Nothing to write when `false`. */
  readonly changed: boolean
  readonly session: SessionRecord
  readonly events: readonly EventRecord[]
  /** A boundary to append to the session's boundaries; it is `session.boundary` as well. */
  readonly boundary: Boundary | null
  readonly result: CommitResult
}

/** The event ids that a commit refers to. */
export function idsOfCommit(commit: Commit): readonly string[] {
  return [
    ...new Set([...commit.events.map((event) => event.id), ...(commit.boundary?.summaries ?? [])]),
  ]
}

/**
 * Decides what a commit does.
 *
 * @throws SessionError `SESSION_NOT_FOUND`, `VERSION_CONFLICT`, `BOUNDARY_CONFLICT`, `EVENT_NOT_FOUND`;
 * nothing may have been written then.
 */
export function planCommit(sessionId: string, commit: Commit, context: CommitContext): CommitPlan {
  const session = requireSession(sessionId, context.session, commit.now)
  if (commit.expectedSession !== undefined && commit.expectedSession !== session.number) {
    throw sessionNotFound(sessionId)
  }
  const known = new Map(context.stored)
  const added: EventRecord[] = []
  let latestTimestamp = session.latestTimestamp
  if (!context.operationStored) {
    for (const event of commit.events) {
      if (known.has(event.id)) continue
      latestTimestamp = Math.max(latestTimestamp ?? event.timestamp, event.timestamp)
      const record = { ...event, seq: session.lastSeq + added.length + 1, latestTimestamp }
      known.set(event.id, record)
      added.push(record)
    }
  }
  const newBoundary = context.operationStored ? undefined : commit.boundary
  if (added.length === 0 && newBoundary === undefined) return unchanged(session, commit, known)

  const { expectedVersion, expectedBoundary } = commit
  if (expectedVersion !== undefined && expectedVersion !== session.version) {
    throw new SessionError(
      'VERSION_CONFLICT',
      `session "${sessionId}" is at version ${session.version}, not ${expectedVersion}`,
      { details: { sessionId, expected: expectedVersion, actual: session.version } },
    )
  }
  const boundaryId = session.boundary?.id ?? null
  if (expectedBoundary !== undefined && expectedBoundary !== boundaryId) {
    throw new SessionError(
      'BOUNDARY_CONFLICT',
      `the active view of session "${sessionId}" has changed meanwhile`,
      { details: { sessionId, expected: expectedBoundary, actual: boundaryId } },
    )
  }

  const lastSeq = session.lastSeq + added.length
  let boundary: Boundary | null = null
  let summariesAdded = 0
  if (newBoundary !== undefined) {
    // Ranges beyond the log would take out events that are still to come.
    const rewound = uniteRanges(
      session.boundary?.rewound ?? [],
      intersectRanges(newBoundary.rewound, [[1, session.lastSeq]]),
    )
    const summaries = [...new Set(newBoundary.summaries)]
      .map((id) => {
        const event = known.get(id)
        if (event === undefined) {
          throw new SessionError(
            'EVENT_NOT_FOUND',
            `summary "${id}" is not in session "${sessionId}"`,
            {
              details: { sessionId, eventId: id },
            },
          )
        }
        return event.seq
      })
      .filter((seq) => !rangesInclude(rewound, seq))
    summariesAdded = added.filter((event) => summaries.includes(event.seq)).length
    const through = Math.min(newBoundary.through, session.lastSeq)
    const appendedSince: SeqRanges = through < lastSeq ? [[through + 1, lastSeq]] : []
    boundary = {
      id: commit.operationId ?? `boundary-${lastSeq}-${session.version}`,
      position: lastSeq,
      summaries,
      kept: subtractRanges(
        uniteRanges(intersectRanges(newBoundary.kept, [[1, through]]), appendedSince),
        uniteRanges(rangesOf(summaries), rewound),
      ),
      rewound,
      appended: added.length,
      createdAt: commit.now,
    }
  }
  const next: SessionRecord = {
    ...session,
    lastSeq,
    latestTimestamp,
    lastEventAt: added.at(-1)?.timestamp ?? session.lastEventAt,
    version: session.version + added.length - summariesAdded + (boundary === null ? 0 : 1),
    boundary: boundary ?? session.boundary,
    expiresAt:
      session.slidingTimeToLive === null || added.length === 0
        ? session.expiresAt
        : Math.min(commit.now + session.slidingTimeToLive, MAX_TIME),
  }
  return {
    changed: true,
    session: next,
    events: added,
    boundary,
    result: { session: next, events: viewsOf(commit, known, next) },
  }
}

function unchanged(
  session: SessionRecord,
  commit: Commit,
  known: ReadonlyMap<string, EventRecord>,
): CommitPlan {
  return {
    changed: false,
    session,
    events: [],
    boundary: null,
    result: { session, events: viewsOf(commit, known, session) },
  }
}

function viewsOf(
  commit: Commit,
  known: ReadonlyMap<string, EventRecord>,
  session: SessionRecord,
): EventView[] {
  return commit.events
    .map((event) => known.get(event.id))
    .filter((event) => event !== undefined)
    .map((event) => ({ ...event, ...placeOf(session.boundary, event.seq) }))
}
