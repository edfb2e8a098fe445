/** The Durable Object: one user's sessions in its SQLite, and the sweep of expired ones by its alarm. */

import { DurableObject } from 'cloudflare:workers'
import type { SessionError } from '../core/errors.ts'
import type {
  ListRequest,
  ReadRequest,
  RecallRequest,
  SessionRecord,
} from '../core/session-repository.ts'
import type { BoundaryPlace } from '../stores/durable-object/boundary-rows.ts'
import { migrate } from '../stores/durable-object/schema.ts'
import { toSessionError } from '../stores/durable-object/sql-errors.ts'
import { SqlSessions } from '../stores/durable-object/sql-sessions.ts'
import { type PackedCommit, packResult, unpackEvents } from './packed-commit.ts'
import type { Answer, DeletedSessions, SessionObject } from './session-object.ts'

/**
 * Milliseconds between an expiry and the sweep. An expired session is unknown at once; the sweep only
 * frees its space. Later, sessions that expire together go together, and a caller whose clock is a
 * little behind still finds what it may.
 */
const SWEEP_DELAY = 60_000
/**
 * The farthest that an alarm is set, in milliseconds: the platform refuses dates after 2189. One that
 * rings before anything has expired plans again.
 */
const FARTHEST_ALARM = 365 * 24 * 60 * 60 * 1000
/** Sessions that one alarm looks at; the next one goes on at once. */
const SWEEP_PORTION = 100
/** Ids of deleted sessions in an answer. */
const MAX_HINTS = 1000

/**
 * The session store of one user, to be exported by the Worker and bound as a namespace:
 *
 * ```toml
 * [[durable_objects.bindings]]
 * name = "SESSIONS"
 * class_name = "SessionStore"
 *
 * [[migrations]]
 * tag = "v1"
 * new_sqlite_classes = ["SessionStore"]
 * ```
 *
 * Call it through `durableObjectSessions`. Its methods are that function's wire format, not an API.
 *
 * What is deleted, erased or swept is in no table any more, and no code can read it. The platform's
 * files may hold its bytes until their pages are used again, and Cloudflare keeps 30 days of history for
 * point-in-time recovery: Durable Objects refuse `PRAGMA secure_delete`.
 */
export class SessionStore<Env = unknown> extends DurableObject<Env> implements SessionObject {
  readonly #sessions: SqlSessions
  /** Why the tables cannot be used. */
  readonly #failure: SessionError | null
  /** When the alarm is set for, `null`: it is not; `undefined`: not known in this instance yet. */
  #alarm: number | null | undefined

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#sessions = new SqlSessions(ctx.storage)
    let failure: SessionError | null = null
    try {
      migrate(ctx.storage) // synchronous, so no call can come before it is done
    } catch (error) {
      failure = toSessionError(error) // thrown from here, it would reach callers without its code
    }
    this.#failure = failure
  }

  createSession(
    session: Omit<SessionRecord, 'number'>,
    options: { readonly now: number; readonly creation: string },
  ): Promise<Answer<{ readonly session: SessionRecord; readonly created: boolean }>> {
    return this.#change((sessions) => sessions.createSession(session, options))
  }

  findSession(
    sessionId: string,
    { now }: { readonly now: number },
  ): Promise<Answer<SessionRecord | null>> {
    return this.#answer((sessions) => sessions.findSession(sessionId, now))
  }

  updateSession(
    sessionId: string,
    change: {
      readonly now: number
      readonly metadata?: string | undefined
      readonly expiresAt?: number | null | undefined
    },
  ) {
    return this.#change((sessions) => sessions.updateSession(sessionId, change))
  }

  listSessions(request: ListRequest) {
    return this.#answer((sessions) => sessions.listSessions(request))
  }

  deleteSession(sessionId: string) {
    return this.#change((sessions) => sessions.deleteSession(sessionId))
  }

  deleteUser(userId: string) {
    return this.#change((sessions) => describeDeleted(sessions.deleteUser(userId)))
  }

  deleteExpiredSessions(before: number) {
    return this.#change((sessions) => describeDeleted(sessions.deleteExpiredSessions(before)))
  }

  commit(sessionId: string, { events: packed, ...commit }: PackedCommit) {
    return this.#change((sessions) => {
      const events = unpackEvents(packed)
      const result = sessions.commit(sessionId, { ...commit, events })
      return packResult(events, result, (seq) => sessions.readBody(result.session, seq))
    })
  }

  readEvents(sessionId: string, request: ReadRequest) {
    return this.#answer((sessions) => sessions.readEvents(sessionId, request))
  }

  findEvent(sessionId: string, eventId: string, { now }: { readonly now: number }) {
    return this.#answer((sessions) => sessions.findEvent(sessionId, eventId, now))
  }

  readBoundaries(
    sessionId: string,
    options: {
      readonly now: number
      readonly beforeSeq?: number | undefined
      readonly after?: BoundaryPlace | undefined
    },
  ) {
    return this.#answer((sessions) => sessions.readBoundaries(sessionId, options))
  }

  eraseEvent(
    sessionId: string,
    eventId: string,
    options: { readonly now: number; readonly body: string },
  ) {
    return this.#answer((sessions) => sessions.eraseEvent(sessionId, eventId, options))
  }

  recallEvents(request: RecallRequest) {
    return this.#answer((sessions) => sessions.recallEvents(request))
  }

  /** Sweeps a portion of the expired sessions. May run again at any time: it looks at what is there. */
  override async alarm(): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    this.#alarm = null // the one that is ringing
    const complete = this.#sessions.sweep(Date.now(), SWEEP_PORTION)
    await (complete ? this.#planSweep() : this.#setAlarm(Date.now()))
  }

  async #answer<T>(operation: (sessions: SqlSessions) => T | Promise<T>): Promise<Answer<T>> {
    try {
      if (this.#failure !== null) throw this.#failure
      return { ok: true, value: await operation(this.#sessions) }
    } catch (error) {
      const { code, message, details } = toSessionError(error)
      return { ok: false, error: { code, message, details } }
    }
  }

  /** {@link #answer} for an operation that may change when there is something to sweep. */
  #change<T>(operation: (sessions: SqlSessions) => T): Promise<Answer<T>> {
    return this.#answer(async (sessions) => {
      if (this.#alarm === undefined) this.#alarm = await this.ctx.storage.getAlarm()
      const value = operation(sessions)
      await this.#planSweep() // begins in the same turn: stored together with the change, or not at all
      return value
    })
  }

  /** Sets the alarm for the earliest expiry; without one there is no alarm. */
  async #planSweep(): Promise<void> {
    const due = this.#sessions.nextSweep()
    if (due === null) return this.#setAlarm(null)
    const now = Date.now()
    const time = Math.min(Math.max(due, now) + SWEEP_DELAY, now + FARTHEST_ALARM)
    // An earlier alarm is left alone: it sweeps nothing and plans again.
    if (this.#alarm === null || this.#alarm === undefined || this.#alarm > time) {
      await this.#setAlarm(time)
    }
  }

  async #setAlarm(time: number | null): Promise<void> {
    if (this.#alarm === time) return
    this.#alarm = time
    await (time === null ? this.ctx.storage.deleteAlarm() : this.ctx.storage.setAlarm(time))
  }
}

function describeDeleted(sessionIds: readonly string[]): DeletedSessions {
  return { count: sessionIds.length, sessionIds: sessionIds.slice(0, MAX_HINTS) }
}
