/** Failures of Durable Object storage as turnlog's errors. */

import { isSessionError, SessionError } from '../../core/errors.ts'

/**
 * A failure as a `SessionError`: what is one stays as it is; a full database is `QUOTA_EXCEEDED`, all
 * else `STORAGE_FAILED`.
 */
export function toSessionError(error: unknown): SessionError {
  if (isSessionError(error)) return error
  const reason = error instanceof Error ? error.message : String(error)
  // SQLite's own name for the error: workerd gives errors of SQL no code.
  return reason.includes('SQLITE_FULL')
    ? new SessionError('QUOTA_EXCEEDED', `the database is full: ${reason}`, { cause: error })
    : new SessionError('STORAGE_FAILED', `the storage failed: ${reason}`, { cause: error })
}
