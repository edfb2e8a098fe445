/**
 * The seam between turnlog and a store. Implement `SessionRepository` to keep sessions somewhere else,
 * and run the contract suite of `turnlog/testing` against it.
 *
 * A repository is one namespace of session ids. Everything that crosses the seam is plain data (times
 * in epoch milliseconds, JSON as text), so that it survives RPC. The rules live above it in shared code:
 * `planCommit` decides what a commit writes and `readLog` what a read returns, so that a store only
 * moves records and no two stores can answer differently.
 */

import type { EventFilterJson } from './event-filter.ts'
import type { MessageType } from './message.ts'
import type { SeqRange, SeqRanges } from './seq-ranges.ts'

/** A session as it is stored. */
export interface SessionRecord {
  /** 1, 2, 3 … in the order of creation within the store, given by the store, never used again. */
  readonly number: number
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  /** From then on the session is unknown; `null`: never. */
  readonly expiresAt: number | null
  /** When set, every commit moves `expiresAt` to its own time plus this many milliseconds. */
  readonly slidingTimeToLive: number | null
  /** A JSON object as text. */
  readonly metadata: string
  /** The `seq` of the newest event, 0 when there is none: also how many there are. */
  readonly lastSeq: number
  /** Grows by one per appended event that is not a boundary's summary, and by one per boundary. */
  readonly version: number
  /** The timestamp of the event that was appended last. */
  readonly lastEventAt: number | null
  /** The latest timestamp of all events. */
  readonly latestTimestamp: number | null
  /** What the active view is; `null`: the whole log. */
  readonly boundary: Boundary | null
}

/**
 * What the active view is, from one commit on: the summaries, then the kept events by `seq`, then
 * everything with a `seq` above `position`.
 */
export interface Boundary {
  /** The operation that appended it. */
  readonly id: string
  /** The `seq` of the newest event at its commit, its own summaries included. */
  readonly position: number
  /** `seq`s of the summary events, in view order. */
  readonly summaries: readonly number[]
  /** The kept events, all at or below `position`. */
  readonly kept: SeqRanges
  /** Everything that rewinds have taken out so far. */
  readonly rewound: SeqRanges
  /** How many events its commit appended: the last ones up to `position`. */
  readonly appended: number
  readonly createdAt: number
}

/** An event on its way into the log. */
export interface NewEventRecord {
  readonly id: string
  readonly timestamp: number
  readonly role: MessageType
  readonly branch: string | null
  readonly synthetic: boolean
  /** `{"message":…,"metadata":…}` as text, opaque to a store. At most 8 MiB in UTF-8. */
  readonly body: string
}

/** An event as it is stored. */
export interface EventRecord extends NewEventRecord {
  readonly seq: number
  /** The latest timestamp of this event and all before it: what time ranges are found by. */
  readonly latestTimestamp: number
}

/** An event as a read returns it, with what is derived from the boundary. */
export interface EventView extends EventRecord {
  readonly archived: boolean
  readonly rewound: boolean
}

/** A boundary on its way into the log. */
export interface NewBoundary {
  /** Ids of the summary events, of this commit or already stored, in view order; rewound ones stay out. */
  readonly summaries: readonly string[]
  /** Which events up to `through` stay in the view. */
  readonly kept: SeqRanges
  /** The last `seq` that the decision covers: what was appended since then stays in the view. */
  readonly through: number
  /** Everything rewound so far, this operation included. */
  readonly rewound: SeqRanges
}

/** The one write to a log: append, compact, rewind and replace are all commits. */
export interface Commit {
  /** The time of the commit, epoch milliseconds. */
  readonly now: number
  readonly events: readonly NewEventRecord[]
  readonly boundary?: NewBoundary | undefined
  /** Names the boundary. A commit whose operation is stored already changes nothing and succeeds. */
  readonly operationId?: string | undefined
  /** Fail with `VERSION_CONFLICT` unless the session is at this version. */
  readonly expectedVersion?: number | undefined
  /** Fail with `BOUNDARY_CONFLICT` unless this is the newest boundary's id (`null`: there is none). */
  readonly expectedBoundary?: string | null | undefined
  /**
   * Fail with `SESSION_NOT_FOUND` unless this is the session's `number`: what was decided about one
   * session must not happen to another that was created under its id meanwhile.
   */
  readonly expectedSession?: number | undefined
}

/** What a commit led to. */
export interface CommitResult {
  readonly session: SessionRecord
  /** The stored event for every event of the commit, in its order. */
  readonly events: readonly EventView[]
}

/** What to read of a log. */
export interface ReadRequest {
  readonly now: number
  readonly filter: EventFilterJson
  /** Only events with a greater `seq`: to follow a log. */
  readonly afterSeq?: number | undefined
  /** Where an earlier answer stopped. */
  readonly cursor?: ReadCursor | undefined
}

/** The rest of a read that was too large for one answer; it goes on with the log as the first answer saw it. */
export interface ReadCursor {
  readonly boundary: Boundary | null
  /** What is still to be looked at, in view order. */
  readonly remaining: readonly SeqRange[]
  /** How many matches are still to be skipped. */
  readonly skip: number
  /** How many matches are still to be returned; `null`: all. */
  readonly take: number | null
}

/** A stored event that could not be read; everything else was. */
export interface Damage {
  readonly seq: number
  readonly reason: string
}

/** One answer of a read, at most about 8 MiB. */
export interface ReadAnswer {
  readonly session: SessionRecord
  readonly events: readonly EventView[]
  readonly damage: readonly Damage[]
  readonly next: ReadCursor | null
}

/** Which sessions to list. */
export interface ListRequest {
  readonly now: number
  readonly userId: string
  /** `recent`: by `lastEventAt` (or `createdAt` while empty), newest first; `created`: by `createdAt`, oldest first. Ties: by `number`, in the same direction. */
  readonly order: 'recent' | 'created'
  readonly limit: number
  /** Only sessions that come after this place in the order. */
  readonly after?: { readonly time: number; readonly number: number } | undefined
}

/** One user's events across all sessions, by timestamp, then session id, then `seq`. */
export interface RecallRequest {
  readonly now: number
  readonly userId: string
  /** `lastN`, `page` and `pageSize` are not used here. */
  readonly filter: EventFilterJson
  readonly offset: number
  readonly limit: number
}

/** One answer of a recall. */
export interface RecallAnswer {
  readonly events: readonly (EventView & { readonly sessionId: string })[]
  readonly damage: readonly (Damage & { readonly sessionId: string })[]
  /** `false` when there is more within `limit` than fits into one answer: ask again with a greater `offset`. */
  readonly complete: boolean
}

/** Somebody changed a session: look again. Only a hint, it may be doubled or missing. */
export type ChangeListener = (sessionId: string) => void

/**
 * A store of sessions. Every method that changes something is atomic, and its promise resolves once the
 * change survives a crash. Expired sessions (`expiresAt <= now`) are unknown to every method that takes
 * `now`. Failures are `SessionError`s.
 */
export interface SessionRepository {
  /**
   * Stores a new session, or returns the one that has the id already. Remains of an expired one are
   * purged in the same transaction.
   *
   * `creation` names the call, for callers that repeat it when its answer was lost: repeated with the
   * same name, it says `created` again. A store that nobody calls over a network may leave it unused.
   */
  createSession(
    session: Omit<SessionRecord, 'number'>,
    options: { readonly now: number; readonly creation?: string | undefined },
  ): Promise<{ readonly session: SessionRecord; readonly created: boolean }>
  findSession(sessionId: string, options: { readonly now: number }): Promise<SessionRecord | null>
  /**
   * Changes metadata by key (`null` removes one) and the expiry; an explicit expiry ends a sliding one.
   *
   * @throws `SESSION_NOT_FOUND`
   */
  updateSession(
    sessionId: string,
    change: {
      readonly now: number
      /** A JSON object as text. */
      readonly metadata?: string | undefined
      readonly expiresAt?: number | null | undefined
    },
  ): Promise<SessionRecord>
  /** Unexpired sessions of a user, without reading events. */
  listSessions(request: ListRequest): Promise<readonly SessionRecord[]>
  /** Removes every byte of a session, expired or not; `false` when there was none. */
  deleteSession(sessionId: string): Promise<boolean>
  /** Removes every session of a user; how many there were. */
  deleteUser(userId: string): Promise<number>
  /** Removes every session with `expiresAt <= before`; how many there were. */
  deleteExpiredSessions(before: number): Promise<number>
  /**
   * The one write to a log. Events whose id is stored already are skipped; when all are, the commit
   * succeeds before anything is compared.
   *
   * @throws `SESSION_NOT_FOUND`, `VERSION_CONFLICT`, `BOUNDARY_CONFLICT`, `EVENT_NOT_FOUND` (a boundary
   * names an unknown summary)
   */
  commit(sessionId: string, commit: Commit): Promise<CommitResult>
  /** @throws `SESSION_NOT_FOUND` */
  readEvents(sessionId: string, request: ReadRequest): Promise<ReadAnswer>
  /** @throws `SESSION_NOT_FOUND` */
  findEvent(
    sessionId: string,
    eventId: string,
    options: { readonly now: number },
  ): Promise<EventView | null>
  /**
   * All boundaries, oldest first; with `beforeSeq` only the newest one whose `position` is below it:
   * the one that was in force when that event was appended.
   *
   * @throws `SESSION_NOT_FOUND`
   */
  readBoundaries(
    sessionId: string,
    options: { readonly now: number; readonly beforeSeq?: number | undefined },
  ): Promise<readonly Boundary[]>
  /**
   * Replaces an event's body, everywhere, leaving id, `seq`, timestamp, role and branch.
   *
   * @returns whether there is such an event.
   * @throws `SESSION_NOT_FOUND`
   */
  eraseEvent(
    sessionId: string,
    eventId: string,
    options: { readonly now: number; readonly body: string },
  ): Promise<boolean>
  /** Searches all sessions of a user. */
  recallEvents(request: RecallRequest): Promise<RecallAnswer>
  /**
   * Calls the listener after changes, of this and of other instances on the same store; gives the way to
   * stop. `sessionId` says that only this session is of interest: a store behind a network may then
   * listen for no more, and one that is not asked for a session may know of its own changes only.
   */
  watch(listener: ChangeListener, options?: { readonly sessionId?: string | undefined }): () => void
  /** Releases connections; later calls fail with `CLOSED`. */
  close(): Promise<void>
}
