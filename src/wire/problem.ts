/** Errors over HTTP: `application/problem+json` (RFC 9457) with a stable code. */

import type { SessionErrorCode, SessionErrorDetails } from '../core/errors.ts'

/** What only HTTP can get wrong. */
export type HttpErrorCode =
  /** No such route. */
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  /** The keys that tokens are checked with could not be fetched. */
  | 'AUTHENTICATION_UNAVAILABLE'
  /** A fault of the server; its log has more under the request id. */
  | 'INTERNAL'

export type ProblemCode = SessionErrorCode | HttpErrorCode

/** The status of every code: the one table that server, client and documents share. */
export const STATUS_OF: Readonly<Record<ProblemCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_FILTER: 400,
  INVALID_EVENT: 400,
  INVALID_IMPORT: 400,
  UNAUTHENTICATED: 401,
  NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  EVENT_NOT_FOUND: 404,
  // Not 403: a session of another user and one that does not exist are the same to a caller.
  NOT_OWNER: 404,
  METHOD_NOT_ALLOWED: 405,
  SESSION_EXISTS: 409,
  VERSION_CONFLICT: 409,
  BOUNDARY_CONFLICT: 409,
  EVENT_TOO_LARGE: 413,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  COMPACTION_FAILED: 500,
  STORAGE_FAILED: 500,
  STORAGE_OUTDATED: 500,
  AUTHENTICATION_UNAVAILABLE: 503,
  STORAGE_BLOCKED: 503,
  STORAGE_UNAVAILABLE: 503,
  CLOSED: 503,
  QUOTA_EXCEEDED: 507,
}

/** The body of every answer with a status of 400 or more. */
export interface Problem {
  readonly title: string
  readonly status: number
  /** Decide on this, never on the texts. */
  readonly code: ProblemCode
  /** What was wrong and where. */
  readonly detail: string
  /** Facts, such as `{ field }`, `{ size, limit }` or `{ expected, actual }`. */
  readonly details: SessionErrorDetails
  /** Also in the header `X-Request-Id`, and in the server's log. */
  readonly requestId: string
}

export const PROBLEM_TYPE = 'application/problem+json'
