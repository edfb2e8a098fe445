/**
 * Sessions in a Durable Object's SQLite, as synchronous calls. Rules are the core's: here records are
 * fetched and written, each change in one transaction.
 */

import { placeOf } from '../../core/boundary.ts'
import { type CommitPlan, idsOfCommit, planCommit } from '../../core/plan-commit.ts'
import { readLog } from '../../core/read-log.ts'
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
import { createLogIndex } from '../../search/log-index.ts'
import { recallBlocks } from '../../search/recall-blocks.ts'
import { removalOfSessions, removalOfText } from '../../search/removal.ts'
import { countTails, SEARCH_SETTINGS, type SearchSettings } from '../../search/sealing.ts'
import { type Look, SealingDemand } from '../../search/sealing-demand.ts'
import {
  blockSource,
  insertTail,
  readTails,
  removeFromBlocks,
  sealBlock,
  unsealAll,
} from './block-rows.ts'
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
  findSessionByNumber,
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

/** How and when the search structure is built. */
export interface SqlSearchSettings extends SearchSettings {
  /** Runs the sealing of a block, outside any transaction. */
  readonly schedule: (seal: () => void) => void
}

const DEFAULT_SEARCH: SqlSearchSettings = {
  ...SEARCH_SETTINGS,
  schedule: (seal) => setTimeout(seal, 0),
}

/** The operations of `SessionRepository` on one database, whose tables are up to date. */
export class SqlSessions {
  readonly #database: SqlDatabase
  readonly #search: SqlSearchSettings
  readonly #demand: SealingDemand
  #isDamaged = false
  #isSealing = false

  constructor(database: SqlDatabase, search: SqlSearchSettings = DEFAULT_SEARCH) {
    this.#database = database
    this.#search = search
    this.#demand = new SealingDemand(search.limits)
  }

  /** Seals a block in a turn of its own, and then the next: no call waits for more than one of them. */
  #sealSoon(): void {
    if (this.#isSealing || !(this.#isDamaged || this.#demand.isEnough)) return
    this.#isSealing = true
    this.#search.schedule(() => {
      this.#isSealing = false
      try {
        this.#demand.looked(transact(this.#database, () => this.#sealBlock()))
        this.#isDamaged = false
      } catch {
        // No answer depends on it: what is not sealed is looked at event by event. What is wrong with
        // the storage is told to the next call that needs it.
        this.#isDamaged = false
        this.#demand.pause()
      }
      this.#sealSoon()
    })
  }

  #sealBlock(): Look {
    if (this.#isDamaged) unsealAll(this.#database)
    return sealBlock(this.#database, this.#search.limits, this.#demand)
  }

  readonly #damaged = (): void => {
    this.#isDamaged = true
    this.#sealSoon()
  }

  #seen(events: number): void {
    this.#demand.seen(events)
    this.#sealSoon()
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
      if (found !== null) this.#deleteRows([found.record.number])
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
      if (found !== null) this.#deleteRows([found.record.number])
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
    const result = transact(this.#database, () => {
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
      this.#demand.appended(plan.events)
      // An object that is evicted after every call would never count to a block.
      this.#demand.seen(plan.session.lastSeq - (found?.sealedSeq ?? 0))
      return {
        session: plan.session,
        changed: plan.changed,
        sweepAdvanced: plan.changed && this.#write(plan, found),
        events: plan.result.events.map((event) =>
          stored.has(event.id) ? { ...event, body: null } : event,
        ),
      }
    })
    this.#sealSoon()
    return result
  }

  /** The body of a stored event; `null` when it cannot be read. */
  readBody(session: SessionRecord, seq: number): string | null {
    return readBody(this.#database, session.number, seq)
  }

  async readEvents(sessionId: string, request: ReadRequest): Promise<ReadAnswer> {
    const found = this.#require(sessionId, request.now)
    const { record, damage } = found
    this.#seen(record.lastSeq - found.sealedSeq)
    const answer = await readLog(this.#logSource(found), record, request)
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
      if (event === null) return false
      replaceBody(this.#database, record.number, event.seq, body)
      removeFromBlocks(this.#database, removalOfText(record.number, event.seq, body))
      return true
    })
  }

  async recallEvents(request: RecallRequest): Promise<RecallAnswer> {
    const { userId, now } = request
    return recallBlocks(request, {
      blocks: blockSource(this.#database, this.#damaged),
      tails: async () => {
        const { tails } = readTails(this.#database)
        this.#seen(countTails(tails))
        return tails
      },
      session: async (number) => {
        const record = findSessionByNumber(this.#database, number)?.record
        return record?.userId === userId && !isExpired(record, now) ? record : null
      },
      sessions: () =>
        readSessionPages(
          { userId, now, order: 'created', limit: Number.MAX_SAFE_INTEGER },
          (list) => this.listSessions(list),
        ),
      open: ({ number }) => logSource(this.#database, number),
    })
  }

  #require(sessionId: string, now: number): FoundSession {
    const found = findSessionRow(this.#database, sessionId)
    requireSession(sessionId, found?.record, now)
    return found as FoundSession
  }

  #delete(sessions: readonly SessionKey[]): readonly string[] {
    this.#deleteRows(sessions.map(({ number }) => number))
    return sessions.map(({ id }) => id)
  }

  #deleteRows(numbers: readonly number[]): void {
    if (numbers.length === 0) return
    removeFromBlocks(this.#database, removalOfSessions(new Set(numbers)))
    for (const number of numbers) deleteSessionRows(this.#database, number)
  }

  #logSource({ record, sealedSeq }: FoundSession) {
    const { number } = record
    const blocks = blockSource(this.#database, this.#damaged)
    const index = createLogIndex(blocks, number, sealedSeq, this.#search.worthwhile)
    return logSource(this.#database, number, index)
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
    if (found !== null && events.length > 0 && found.sealedSeq === found.record.lastSeq) {
      insertTail(this.#database, session.number)
    }
    return session.expiresAt !== found?.record.expiresAt && advanceSweep(this.#database, session)
  }
}
