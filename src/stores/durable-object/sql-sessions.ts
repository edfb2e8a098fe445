/**
 * Sessions in a Durable Object's SQLite, as synchronous calls. Rules are the core's: here records are
 * fetched and written, each change in one transaction.
 */

import { placeOf } from '../../core/boundary.ts'
import { type CommitPlan, idsOfCommit, planCommit } from '../../core/plan-commit.ts'
import { readLog } from '../../core/read-log.ts'
import { recallLogs } from '../../core/recall.ts'
import { changeSession, isExpired, requireSession } from '../../core/session-record.ts'
import type {
  Boundary,
  Commit,
  EventRecord,
  EventView,
  ListRequest,
  ReadAnswer,
  ReadRequest,
  RecallAnswer,
  RecallRequest,
  SessionRecord,
} from '../../core/session-repository.ts'
import {
  type BoundaryPlace,
  hasBoundary,
  insertBoundary,
  newestBoundary,
  nextBoundary,
} from './boundary-rows.ts'
import { findEnvelope, insertEvent, logSource, readBody, replaceBody } from './event-rows.ts'
import { type BoundaryPage, readSessionPages, type SessionPage } from './pages.ts'
import {
  advanceSweep,
  deleteSessionRows,
  earliestSweep,
  type FoundSession,
  findExpired,
  findSessionRow,
  insertSession,
  listSessionRows,
  type SessionKey,
  sessionsOfUser,
  updateAfterCommit,
  updateSettings,
} from './session-rows.ts'
import { type SqlDatabase, transact } from './sql-database.ts'

/** An answer holds boundaries up to about this many ranges. */
const ANSWER_RANGES = 1 << 18

/** What a commit did. */
export interface SqlCommit {
  readonly session: SessionRecord
  readonly changed: boolean
  /** Whether the session may now expire before the earliest sweep that was planned. */
  readonly sweepAdvanced: boolean
  /**
   * The stored event for every event of the commit. Those that were stored before come without their
   * body (`null`): a repeated batch may be as large as the memory allows.
   */
  readonly events: readonly (Omit<EventView, 'body'> & { readonly body: string | null })[]
}

/** The operations of `SessionRepository` on one database, whose tables are up to date. */
export class SqlSessions {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  /** `creation` names the call: repeated with the same name, it says `created` again. */
  createSession(
    session: Omit<SessionRecord, 'number'>,
    { now, creation = null }: { readonly now: number; readonly creation?: string | null },
  ): { readonly session: SessionRecord; readonly created: boolean } {
    return transact(this.#database, () => {
      const found = findSessionRow(this.#database, session.id)
      if (found !== null && !isExpired(found.record, now)) {
        const repeated = creation !== null && found.creation === creation
        return { session: found.record, created: repeated }
      }
      if (found !== null) deleteSessionRows(this.#database, found.record.number)
      return { session: insertSession(this.#database, session, creation), created: true }
    })
  }

  findSession(sessionId: string, now: number): SessionRecord | null {
    const found = findSessionRow(this.#database, sessionId)
    return found === null || isExpired(found.record, now) ? null : found.record
  }

  updateSession(
    sessionId: string,
    change: {
      readonly now: number
      readonly metadata?: string | undefined
      readonly expiresAt?: number | null | undefined
    },
  ): SessionRecord {
    return transact(this.#database, () => {
      const session = changeSession(this.#require(sessionId, change.now).record, change)
      updateSettings(this.#database, session)
      return session
    })
  }

  listSessions(request: ListRequest): SessionPage {
    return listSessionRows(this.#database, request)
  }

  deleteSession(sessionId: string): boolean {
    return transact(this.#database, () => {
      const found = findSessionRow(this.#database, sessionId)
      if (found !== null) deleteSessionRows(this.#database, found.record.number)
      return found !== null
    })
  }

  /** Gives the ids of the deleted sessions. */
  deleteUser(userId: string): readonly string[] {
    return transact(this.#database, () => this.#delete(sessionsOfUser(this.#database, userId)))
  }

  /** Gives the ids of the deleted sessions. */
  deleteExpiredSessions(before: number): readonly string[] {
    return transact(this.#database, () => this.#delete(findExpired(this.#database, before).expired))
  }

  /** Deletes expired sessions, looking at no more than `limit` sessions; whether that were all. */
  sweep(now: number, limit: number): boolean {
    return transact(this.#database, () => {
      const { expired, complete } = findExpired(this.#database, now, limit)
      this.#delete(expired)
      return complete
    })
  }

  /** When there is something to sweep, at the earliest; `null` when nothing ever expires. */
  nextSweep(): number | null {
    return earliestSweep(this.#database)
  }

  commit(sessionId: string, commit: Commit): SqlCommit {
    return transact(this.#database, () => {
      const found = findSessionRow(this.#database, sessionId)
      const stored = this.#findStored(found, commit)
      const plan = planCommit(sessionId, commit, {
        session: found?.record ?? null,
        stored,
        operationStored:
          found !== null &&
          commit.operationId !== undefined &&
          hasBoundary(this.#database, found.record.number, commit.operationId),
      })
      return {
        session: plan.session,
        changed: plan.changed,
        sweepAdvanced: plan.changed && this.#write(plan, found),
        events: plan.result.events.map((event) =>
          stored.has(event.id) ? { ...event, body: null } : event,
        ),
      }
    })
  }

  /** The body of a stored event; `null` when it cannot be read. */
  readBody(session: SessionRecord, seq: number): string | null {
    return readBody(this.#database, session.number, seq)
  }

  async readEvents(sessionId: string, request: ReadRequest): Promise<ReadAnswer> {
    const { record, damage } = this.#require(sessionId, request.now)
    const answer = await readLog(logSource(this.#database, record.number), record, request)
    // Said once, not with every portion of a large answer.
    return damage.length === 0 || request.cursor !== undefined
      ? answer
      : { ...answer, damage: [...damage, ...answer.damage] }
  }

  findEvent(sessionId: string, eventId: string, now: number): EventView | null {
    const { record } = this.#require(sessionId, now)
    const envelope = findEnvelope(this.#database, record.number, eventId)
    if (envelope === null) return null
    const body = readBody(this.#database, record.number, envelope.seq) ?? ''
    return { ...envelope, body, ...placeOf(record.boundary, envelope.seq) }
  }

  readBoundaries(
    sessionId: string,
    options: {
      readonly now: number
      readonly beforeSeq?: number | undefined
      readonly after?: BoundaryPlace | undefined
    },
  ): BoundaryPage {
    const { number } = this.#require(sessionId, options.now).record
    if (options.beforeSeq !== undefined) {
      const { boundary } = newestBoundary(this.#database, number, options.beforeSeq)
      return { boundaries: boundary === null ? [] : [boundary], next: null }
    }
    const boundaries: Boundary[] = []
    let ranges = 0
    let place = options.after ?? { position: -1, version: -1 }
    for (;;) {
      const found = nextBoundary(this.#database, number, place)
      if (found === null) return { boundaries, next: null }
      const { kept, rewound, summaries } = found.boundary
      ranges += kept.length + rewound.length + summaries.length + 16
      if (boundaries.length > 0 && ranges > ANSWER_RANGES) return { boundaries, next: place }
      boundaries.push(found.boundary)
      place = found.place
    }
  }

  eraseEvent(
    sessionId: string,
    eventId: string,
    { now, body }: { readonly now: number; readonly body: string },
  ): boolean {
    return transact(this.#database, () => {
      const { record } = this.#require(sessionId, now)
      const event = findEnvelope(this.#database, record.number, eventId)
      if (event !== null) replaceBody(this.#database, record.number, event.seq, body)
      return event !== null
    })
  }

  async recallEvents(request: RecallRequest): Promise<RecallAnswer> {
    const { userId, now } = request
    const sessions = await readSessionPages(
      { userId, now, order: 'created', limit: Number.MAX_SAFE_INTEGER },
      (list) => this.listSessions(list),
    )
    return recallLogs(request, sessions, ({ number }) => logSource(this.#database, number))
  }

  #require(sessionId: string, now: number): FoundSession {
    const found = findSessionRow(this.#database, sessionId)
    requireSession(sessionId, found?.record, now)
    return found as FoundSession
  }

  #delete(sessions: readonly SessionKey[]): readonly string[] {
    for (const { number } of sessions) deleteSessionRows(this.#database, number)
    return sessions.map(({ id }) => id)
  }

  /** What is stored already of the events that a commit names, without bodies. */
  #findStored(found: FoundSession | null, commit: Commit): ReadonlyMap<string, EventRecord> {
    const stored = new Map<string, EventRecord>()
    if (found === null) return stored
    for (const id of idsOfCommit(commit)) {
      // One query an id reads nothing for a new one, and has no list of ids to be bound.
      const envelope = findEnvelope(this.#database, found.record.number, id)
      if (envelope !== null) stored.set(id, { ...envelope, body: '' })
    }
    return stored
  }

  /** Writes a plan; whether the session's sweep had to be moved to an earlier time. */
  #write({ session, events, boundary }: CommitPlan, found: FoundSession | null): boolean {
    for (const event of events) insertEvent(this.#database, session.number, event)
    if (boundary !== null) {
      insertBoundary(this.#database, session.number, session.version, boundary)
    }
    updateAfterCommit(this.#database, session)
    return session.expiresAt !== found?.record.expiresAt && advanceSweep(this.#database, session)
  }
}
