/**
 * What travels between a caller and a session object: the operations of `SessionRepository` as plain
 * data. Errors are data as well: thrown ones lose their class on the way, and at compatibility dates
 * before 2026-08-01 their `code`.
 */

import type { SessionErrorCode, SessionErrorDetails } from '../core/errors.ts'
import type {
  EventView,
  ListRequest,
  ReadAnswer,
  ReadRequest,
  RecallAnswer,
  RecallRequest,
  SessionRecord,
} from '../core/session-repository.ts'
import type { BoundaryPlace } from '../stores/durable-object/boundary-rows.ts'
import type { BoundaryPage, SessionPage } from '../stores/durable-object/pages.ts'
import type { PackedCommit, PackedCommitResult } from './packed-commit.ts'

/** A `SessionError` as data. */
export interface ErrorRecord {
  readonly code: SessionErrorCode
  readonly message: string
  readonly details: SessionErrorDetails
}

/** What a call gives: a value, or an error that the caller throws. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ErrorRecord }

/** Sessions that a call deleted. */
export interface DeletedSessions {
  readonly count: number
  /** Their ids, as hints for listeners: not all of them when they are many. */
  readonly sessionIds: readonly string[]
}

/**
 * The RPC surface of `SessionStore`. Every call may be repeated when its answer was lost: nothing is
 * done twice. Answers stay well below the 32 MiB at which RPC stops, and lists come in pages.
 */
export interface SessionObject {
  /** `creation` names the call: repeated with the same name, it says `created` again. */
  createSession(
    session: Omit<SessionRecord, 'number'>,
    options: { readonly now: number; readonly creation: string },
  ): Promise<Answer<{ readonly session: SessionRecord; readonly created: boolean }>>
  findSession(
    sessionId: string,
    options: { readonly now: number },
  ): Promise<Answer<SessionRecord | null>>
  updateSession(
    sessionId: string,
    change: {
      readonly now: number
      readonly metadata?: string | undefined
      readonly expiresAt?: number | null | undefined
    },
  ): Promise<Answer<SessionRecord>>
  listSessions(request: ListRequest): Promise<Answer<SessionPage>>
  deleteSession(sessionId: string): Promise<Answer<boolean>>
  deleteUser(userId: string): Promise<Answer<DeletedSessions>>
  deleteExpiredSessions(before: number): Promise<Answer<DeletedSessions>>
  commit(sessionId: string, commit: PackedCommit): Promise<Answer<PackedCommitResult>>
  readEvents(sessionId: string, request: ReadRequest): Promise<Answer<ReadAnswer>>
  findEvent(
    sessionId: string,
    eventId: string,
    options: { readonly now: number },
  ): Promise<Answer<EventView | null>>
  readBoundaries(
    sessionId: string,
    options: {
      readonly now: number
      readonly beforeSeq?: number | undefined
      readonly after?: BoundaryPlace | undefined
    },
  ): Promise<Answer<BoundaryPage>>
  eraseEvent(
    sessionId: string,
    eventId: string,
    options: { readonly now: number; readonly body: string },
  ): Promise<Answer<boolean>>
  recallEvents(request: RecallRequest): Promise<Answer<RecallAnswer>>
}
