/** The one error class of turnlog, and its codes. */

/**
 * What went wrong, as a stable string. Decide on this, never on the message or on `instanceof`:
 * the code survives Durable Object RPC and HTTP, the class does not.
 */
export type SessionErrorCode =
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXISTS'
  | 'NOT_OWNER'
  | 'EVENT_NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'INVALID_FILTER'
  | 'INVALID_EVENT'
  | 'EVENT_TOO_LARGE'
  | 'VERSION_CONFLICT'
  | 'BOUNDARY_CONFLICT'
  | 'COMPACTION_FAILED'
  | 'INVALID_IMPORT'
  | 'STORAGE_UNAVAILABLE'
  | 'STORAGE_BLOCKED'
  | 'STORAGE_OUTDATED'
  | 'STORAGE_FAILED'
  | 'QUOTA_EXCEEDED'
  | 'UNAUTHENTICATED'
  | 'RATE_LIMITED'
  | 'CLOSED'

/** Facts that belong to an error, as plain JSON (`{ field }`, `{ size, limit }`, `{ expected, actual }`). */
export type SessionErrorDetails = Readonly<Record<string, string | number | boolean | null>>

/** Every failure that turnlog reports. The message says what was wrong and where. */
export class SessionError extends Error {
  readonly code: SessionErrorCode
  readonly details: SessionErrorDetails

  constructor(
    code: SessionErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: SessionErrorDetails } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'SessionError'
    this.code = code
    this.details = options.details ?? {}
  }
}

/** Whether a caught value is a turnlog error, judged by its `code`, so that it holds across realms and RPC. */
export function isSessionError(error: unknown): error is SessionError {
  return (
    typeof error === 'object' &&
    error !== null &&
    (error as { name?: unknown }).name === 'SessionError' &&
    typeof (error as { code?: unknown }).code === 'string'
  )
}

/** An error about one named field: what it is called first, then what is wrong with it. */
export function invalid(
  code: 'INVALID_ARGUMENT' | 'INVALID_FILTER' | 'INVALID_EVENT',
  field: string,
  problem: string,
  cause?: unknown,
): SessionError {
  return new SessionError(code, `${field} ${problem}`, { cause, details: { field } })
}

/** {@link invalid} for an argument. */
export function invalidArgument(field: string, problem: string): SessionError {
  return invalid('INVALID_ARGUMENT', field, problem)
}

/**
 * Gives what `read` gives. When a getter or a Proxy throws meanwhile, the error names the field and has
 * the other as its cause.
 */
export function reading<T>(
  code: 'INVALID_ARGUMENT' | 'INVALID_FILTER' | 'INVALID_EVENT',
  field: string,
  read: () => T,
): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof SessionError) throw error
    throw invalid(code, field, `cannot be read: ${describeThrown(error)}`, error)
  }
}

/** A `SESSION_NOT_FOUND` error; an expired session is as unknown as one that never was. */
export function sessionNotFound(sessionId: string): SessionError {
  return new SessionError('SESSION_NOT_FOUND', `session "${sessionId}" does not exist`, {
    details: { sessionId },
  })
}

/** An `EVENT_NOT_FOUND` error. */
export function eventNotFound(sessionId: string, eventId: string): SessionError {
  return new SessionError(
    'EVENT_NOT_FOUND',
    `event "${eventId}" is not in session "${sessionId}"`,
    { details: { sessionId, eventId } },
  )
}

/** A `NOT_OWNER` error. */
export function notOwner(sessionId: string, userId: string): SessionError {
  return new SessionError(
    'NOT_OWNER',
    `session "${sessionId}" does not belong to user "${userId}"`,
    { details: { sessionId, userId } },
  )
}

/** A caught value in an error message; nobody has to throw an `Error`. */
export function describeThrown(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return describeValue(thrown) // an object without a prototype, or a Proxy
  }
}

/** How a value looks in an error message: its kind, and short primitives themselves. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  try {
    return Array.isArray(value) ? 'an array' : typeof value
  } catch {
    return 'a revoked Proxy' // of which even this may not be asked
  }
}
