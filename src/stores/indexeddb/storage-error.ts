/** What the browser's errors mean to users of turnlog. */

import { isSessionError, SessionError } from '../../core/errors.ts'

/** The error of a transaction as a `SessionError`, with what the browser said as its cause. */
export function toStorageError(error: unknown): SessionError {
  if (isSessionError(error)) return error
  if (nameOf(error) === 'QuotaExceededError') {
    return new SessionError(
      'QUOTA_EXCEEDED',
      'the storage that the browser allows is full; nothing was stored',
      { cause: error },
    )
  }
  return new SessionError('STORAGE_FAILED', `IndexedDB failed: ${describe(error)}`, {
    cause: error,
  })
}

/** The error of opening a database as a `SessionError`. */
export function toOpenError(error: unknown, databaseName: string): SessionError {
  if (isSessionError(error)) return error
  const name = nameOf(error)
  if (name === 'QuotaExceededError') return toStorageError(error)
  if (name === 'VersionError') {
    return new SessionError(
      'STORAGE_OUTDATED',
      `a newer version of this page has upgraded the database "${databaseName}": reload the page`,
      { cause: error },
    )
  }
  return new SessionError(
    'STORAGE_UNAVAILABLE',
    `the database "${databaseName}" cannot be opened: ${describe(error)}`,
    { cause: error },
  )
}

/** The name of a `DOMException`. */
export function nameOf(error: unknown): unknown {
  return (error as { readonly name?: unknown } | null | undefined)?.name
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
