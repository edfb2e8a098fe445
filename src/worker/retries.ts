/** Which failures of a call to a Durable Object are worth another try, and how often. */

import { readDelay, readOptions, readPositive } from '../core/arguments.ts'
import { isSessionError, SessionError } from '../core/errors.ts'

export interface RetryOptions {
  /** Tries of one call, the first included. Default 5. */
  readonly attempts?: number | null | undefined
  /**
   * Milliseconds before the second try; doubled for each further one, and shortened by up to a half at
   * random, so that the callers of one object do not come back all at once. Default 50.
   */
  readonly delay?: number | null | undefined
}

/** {@link RetryOptions} that were checked. */
export interface CheckedRetryOptions {
  readonly attempts: number
  readonly delay: number
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function readRetryOptions(given: RetryOptions | null | undefined): CheckedRetryOptions {
  const { attempts, delay } = readOptions(given)
  return {
    attempts: readPositive(attempts, 'attempts', 5),
    delay: readDelay(delay, 'delay', 50),
  }
}

/** What a Worker reads of an error that the platform threw. */
interface PlatformError {
  readonly message?: unknown
  readonly durableObjectReset?: unknown
  readonly overloaded?: unknown
  readonly retryable?: unknown
}

/** Not all of them come with a flag. */
const TRANSIENT_MESSAGES = [
  'Durable Object reset because its code was updated',
  'Network connection lost',
  'The Durable Object’s code has been updated',
  "The Durable Object's code has been updated",
]

/**
 * Whether the object was reset or the connection lost: it is not known whether the call took effect, and
 * the next try finds an object that works. An overloaded object is not tried again: that would load it
 * more.
 */
export function isTransient(error: unknown): boolean {
  const { message, durableObjectReset, overloaded, retryable } = (error ?? {}) as PlatformError
  if (overloaded === true) return false
  if (durableObjectReset === true || retryable === true) return true
  return typeof message === 'string' && TRANSIENT_MESSAGES.some((text) => message.includes(text))
}

/**
 * Calls until it does not fail, or not for a transient reason, or the tries are used up.
 *
 * @param attempt makes one try.
 * @throws SessionError `STORAGE_UNAVAILABLE` when the object could not be reached, with
 * `details.overloaded`; `STORAGE_FAILED` for any other failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  options: CheckedRetryOptions,
): Promise<T> {
  const { attempts } = options
  let { delay } = options
  for (let made = 1; ; made++) {
    try {
      return await attempt()
    } catch (error) {
      if (isSessionError(error)) throw error
      const transient = isTransient(error)
      if (!transient || made >= attempts) throw unreachable(error, transient, made)
    }
    await new Promise<void>((resolve) => setTimeout(resolve, delay * (1 - Math.random() / 2)))
    delay *= 2
  }
}

function unreachable(error: unknown, transient: boolean, attempts: number): SessionError {
  const reason = error instanceof Error ? error.message : String(error)
  const overloaded = (error as PlatformError | null)?.overloaded === true
  if (!transient && !overloaded) {
    return new SessionError('STORAGE_FAILED', `the session object failed: ${reason}`, {
      cause: error,
    })
  }
  return new SessionError(
    'STORAGE_UNAVAILABLE',
    overloaded
      ? `the session object is overloaded: ${reason}`
      : `the session object could not be reached in ${attempts} attempts: ${reason}`,
    { cause: error, details: { overloaded, attempts } },
  )
}
