/** SessionService: what applications use. */

import type { CompactionResult, CompactOptions } from './compact.ts'
import type { EventFilterInput } from './event-filter.ts'
import type { SessionChange, SubscribeOptions } from './follow.ts'
import type { InstantInput } from './instant.ts'
import type { Message } from './message.ts'
import type { RewindTarget } from './rewind.ts'
import type { EventInput, Session, SessionEvent, TimeToLive } from './session.ts'
import type { SessionRepository } from './session-repository.ts'
import type { ImportOptions, TextInput } from './transfer.ts'

/** How long a session lives unless said otherwise: 60 days from its creation, in milliseconds. */
export const DEFAULT_TIME_TO_LIVE = 60 * 24 * 60 * 60 * 1000

/** A stored event that could not be read. Everything else was; nothing was changed. */
export interface DamageReport {
  readonly sessionId: string
  readonly seq: number
  readonly reason: string
}

/** What holds for all calls of a service. */
export interface SessionServiceOptions {
  /** Whose sessions they are when a call names no user. Default: every call has to. */
  readonly defaultUserId?: string | null | undefined
  /** Lifetime of new sessions. Default 60 days from creation; `null`: for ever. */
  readonly timeToLive?: TimeToLive | undefined
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | null | undefined
  /** Makes ids of sessions and events that come without one. Default: random UUIDs. */
  readonly generateId?: (() => string | Promise<string>) | null | undefined
  /** Hears of stored events that cannot be read. Default: a warning on the console. */
  readonly onDamage?: ((damage: DamageReport) => void) | null | undefined
}

/** A session to be. */
export interface CreateSessionOptions {
  /** Default, and for a blank one: a random UUID. */
  readonly id?: string | null | undefined
  /** Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** Milliseconds, `{ sliding: milliseconds }`, or `null` for ever. Default: the service's. */
  readonly timeToLive?: TimeToLive | undefined
  /** A JSON object of at most 256 KiB. Default `{}`. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
}

/** What changes of a session; what is not given stays. */
export interface UpdateSessionOptions {
  /** Merged by key; `null` removes one. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** `null`: never. An explicit expiry ends a sliding lifetime. */
  readonly expiresAt?: InstantInput | null | undefined
}

/** Which of the sessions of a user to list. */
export interface ListSessionsOptions {
  /** Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** `'recent'`: latest event first; `'created'`: oldest session first. Default `'recent'`. */
  readonly order?: 'recent' | 'created' | null | undefined
  /** Sessions per page, 1 to 1,000. Default 50. */
  readonly limit?: number | null | undefined
  /** The `cursor` of the page before. */
  readonly cursor?: string | null | undefined
}

/** One page of sessions. */
export interface SessionPage {
  readonly sessions: readonly Session[]
  /** Give it to the next call; `null` at the end. */
  readonly cursor: string | null
}

/** Under which condition to append. */
export interface AppendOptions {
  /** Fail with `VERSION_CONFLICT` and store nothing unless `getEventVersion` would give this. */
  readonly expectedVersion?: number | null | undefined
}

/**
 * Sessions and their event logs. A promise resolves when the change is stored for good. Every method
 * that takes a session id fails with `SESSION_NOT_FOUND` for an unknown or expired session unless it
 * says otherwise, and with `INVALID_ARGUMENT` for a bad argument, which the message names.
 */
export interface SessionService<M extends Message = Message> {
  /** The store below: for adapters, such as HTTP, that pass its commits on. */
  readonly repository: SessionRepository
  /** @throws SessionError `SESSION_EXISTS` when the id is taken. */
  create(options?: CreateSessionOptions | null): Promise<Session>
  /** @throws SessionError `NOT_OWNER` when the id belongs to another user. */
  findOrCreate(options?: CreateSessionOptions | null): Promise<Session>
  /** `null` when there is none. */
  findById(sessionId: string): Promise<Session | null>
  update(sessionId: string, change: UpdateSessionOptions): Promise<Session>
  /** One page of a user's sessions, without reading events. */
  listSessions(options?: ListSessionsOptions | null): Promise<SessionPage>
  /** Removes every byte of the session; whether there was one. */
  delete(sessionId: string): Promise<boolean>
  /** Removes every session of a user; how many there were. */
  deleteUser(userId: string): Promise<number>
  /** Removes every session that expires up to `before` (default: now); how many there were. */
  deleteExpiredSessions(
    options?: { readonly before?: InstantInput | null | undefined } | null,
  ): Promise<number>
  /**
   * Appends one event. When the session holds its id already, nothing changes and the stored event is
   * returned.
   *
   * @throws SessionError `INVALID_EVENT`, `EVENT_TOO_LARGE`
   */
  appendEvent(sessionId: string, event: EventInput<M>): Promise<SessionEvent<M>>
  /**
   * Appends several events, all or none; those whose id is stored already are skipped.
   *
   * @throws SessionError `INVALID_EVENT`, `EVENT_TOO_LARGE`, `VERSION_CONFLICT`
   */
  appendEvents(
    sessionId: string,
    events: readonly EventInput<M>[],
    options?: AppendOptions | null,
  ): Promise<readonly SessionEvent<M>[]>
  /** Appends a message as an event; `rest` gives the event's other fields. */
  appendMessage(
    sessionId: string,
    message: M,
    rest?: Omit<EventInput<M>, 'message'> | null,
  ): Promise<SessionEvent<M>>
  /** The events that `filter` (default: all) gives, by `seq`; for `excludeArchived` in view order. */
  getEvents(
    sessionId: string,
    filter?: EventFilterInput | null,
  ): Promise<readonly SessionEvent<M>[]>
  /** The messages of {@link getEvents}. */
  getMessages(sessionId: string, filter?: EventFilterInput | null): Promise<M[]>
  /** One event by its id; `null` when the session has none such. */
  findEvent(sessionId: string, eventId: string): Promise<SessionEvent<M> | null>
  /**
   * One page (default: the first 10) of the events of all unexpired sessions of a user that `filter`
   * gives, by timestamp, then session id, then `seq`.
   *
   * @throws SessionError `INVALID_FILTER` for `lastN`.
   */
  recallEvents(
    filter: EventFilterInput,
    options?: { readonly userId?: string | null | undefined } | null,
  ): Promise<readonly SessionEvent<M>[]>
  /** {@link getEvents} for a large log, in bounded memory; the log is seen as it was at the start. */
  iterateEvents(
    sessionId: string,
    filter?: EventFilterInput | null,
    options?: { readonly afterSeq?: number | null | undefined } | null,
  ): AsyncIterable<SessionEvent<M>>
  /** Grows by one per appended event and per boundary; 0 for an unknown session. */
  getEventVersion(sessionId: string): Promise<number>
  /**
   * Archives what the strategy leaves out of the view, when the trigger says so. Nothing is deleted, and
   * events that are appended meanwhile stay in the view. A compaction of the same session that this
   * service runs already is joined: its result is given.
   */
  compact(sessionId: string, options: CompactOptions): Promise<CompactionResult>
  /**
   * Takes the events from the named one on out of the view, for good: to edit a question
   * (`before` it) or to regenerate an answer (`after` the question). For an archived event the view is
   * what it was when that event was appended. `EventFilter.all()` still has everything.
   *
   * @returns how many events left the view.
   * @throws SessionError `EVENT_NOT_FOUND`; `INVALID_ARGUMENT` when the event was itself rewound.
   */
  rewind(sessionId: string, target: RewindTarget): Promise<number>
  /** Archives the whole view; how many events left it. */
  clearView(sessionId: string): Promise<number>
  /**
   * Calls `listener` for every append, compaction, rewind and the deletion, of this and of every other
   * instance on the same store, each once and in order; gives the way to stop.
   */
  subscribe(
    sessionId: string,
    listener: (change: SessionChange<M>) => void,
    options?: SubscribeOptions | null,
  ): Promise<() => void>
  /** The session as JSON Lines with its boundaries, lossless; each string is a line with its line feed. */
  exportSession(sessionId: string): AsyncIterable<string>
  /**
   * Stores an exported session. Importing it again changes nothing; so does a file with an invalid line.
   *
   * @throws SessionError `INVALID_IMPORT` naming the line, `SESSION_EXISTS` when the id holds another log,
   * `NOT_OWNER`.
   */
  importSession(input: TextInput, options?: ImportOptions | null): Promise<Session>
  /**
   * Takes the content of an event out of the log and the search, for good. Its `seq` stays, and its id,
   * so that a repeated append does not bring it back; `metadata.erased` is `true`.
   *
   * @throws SessionError `EVENT_NOT_FOUND`
   */
  eraseEvent(sessionId: string, eventId: string): Promise<void>
  /** Releases the store; later calls fail with `CLOSED`. */
  close(): Promise<void>
}
