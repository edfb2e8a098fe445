/** Requests to the API: authenticated, bounded in time, and made again when their answer got lost. */

import {
  readDelay,
  readInteger,
  readOptionalFunction,
  readOptions,
  readSignal,
} from '../core/arguments.ts'
import { describeValue, invalidArgument, isSessionError, SessionError } from '../core/errors.ts'
import { untilAborted } from '../core/until-aborted.ts'
import { type HttpErrorCode, type Problem, STATUS_OF } from '../wire/problem.ts'

/** What `getToken` is told. */
export interface TokenRequest {
  /** The token that the server has just refused: give another, or the call fails. */
  readonly rejected: string | null
}

/** Where the server is, who asks, and how patiently. */
export interface ConnectionOptions {
  /** Where the API is mounted, such as `https://memory.example.com`; in a page, a path will do: `/api`. */
  readonly baseUrl: string | URL
  /** The bearer token for a request; asked for with every one. Default: none is sent. */
  readonly getToken?:
    | ((request: TokenRequest) => string | null | undefined | Promise<string | null | undefined>)
    | null
    | undefined
  /** Default: the runtime's own. */
  readonly fetch?: typeof fetch | null | undefined
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | null | undefined
  /** Tries of one call, the first included. Default 5. */
  readonly attempts?: number | null | undefined
  /**
   * Milliseconds before the second try; doubled for each further one up to 10 s, and shortened by up to
   * a half at random. A `Retry-After` of the server is waited for, up to a minute. Default 200.
   */
  readonly retryDelay?: number | null | undefined
  /** Milliseconds that one try may take. Default 60,000. */
  readonly timeout?: number | null | undefined
  /** Ends every call, those that wait for another try included. */
  readonly signal?: AbortSignal | null | undefined
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL, with its query. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Connection {
  /**
   * What `read` makes of the JSON that a call is answered with.
   *
   * @throws SessionError with the code that the server gave; `STORAGE_UNAVAILABLE` when it could not be
   * reached or did not answer in any of the tries; `STORAGE_FAILED` when `read` throws; `CLOSED`.
   */
  call<T, R>(call: Call, read: (answer: T) => R): Promise<R>
  /** One try of a request whose answer is read by the caller, until `signal` ends it. */
  open(call: Call, signal: AbortSignal): Promise<Response>
  close(): void
}

const MAX_DELAY = 10_000
const MAX_RETRY_AFTER = 60_000
/** Statuses that another try may not meet again; of the server's own faults all but the hopeless. */
const HOPELESS = [501, 505, 507]
const TRANSIENT = [408, 425, 429]

const HTTP_CODES: readonly string[] = [
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'AUTHENTICATION_UNAVAILABLE',
  'INTERNAL',
] satisfies HttpErrorCode[]

/** @throws SessionError `INVALID_ARGUMENT` */
export function connect(given: ConnectionOptions): Connection {
  const options = readOptions(given)
  const base = readBaseUrl(options.baseUrl)
  const send =
    readOptionalFunction(options.fetch, 'fetch') ??
    ((url: string, init: RequestInit) => fetch(url, init))
  const getToken = readOptionalFunction(options.getToken, 'getToken')
  const attempts = readInteger(options.attempts, 'attempts', { least: 1, fallback: 5 })
  const retryDelay = readInteger(options.retryDelay, 'retryDelay', { least: 0, fallback: 200 })
  const timeout = readDelay(options.timeout, 'timeout', 60_000)
  const ending = readSignal(options.signal)
  const closing = new AbortController()
  let isClosed = false

  const checkOpen = () => {
    if (isClosed) throw new SessionError('CLOSED', 'the store is closed')
    if (ending.aborted) throw aborted(ending)
  }

  const tokenFor = async (rejected: string | null): Promise<string | null> => {
    try {
      return (await getToken?.({ rejected })) ?? null
    } catch (cause) {
      throw isSessionError(cause)
        ? cause
        : new SessionError('UNAUTHENTICATED', `getToken failed: ${String(cause)}`, { cause })
    }
  }

  const sendWith = (token: string | null, call: Call, body: string | null, signal: AbortSignal) =>
    send(base + call.path, {
      method: call.method,
      headers: {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
        ...call.headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      signal,
      ...(body === null ? {} : { body }),
    })

  /** A request with a token; once more with another one when the first is refused. */
  const request = async (call: Call, body: string | null, signal: AbortSignal) => {
    const token = await tokenFor(null)
    const response = await sendWith(token, call, body, signal)
    if (response.status !== 401 || token === null) return response
    const other = await tokenFor(token)
    if (other === null || other === token) return response
    await response.body?.cancel()
    return sendWith(other, call, body, signal)
  }

  /** One try within its time; what it throws is worth another one. */
  const attempt = async (call: Call, body: string | null): Promise<Attempt> => {
    const controller = new AbortController()
    const { signal } = controller
    const abort = () => controller.abort()
    const timer = setTimeout(abort, timeout)
    ending.addEventListener('abort', abort)
    try {
      // The token's maker knows no signal, and a fetch of the application's own may not heed it.
      return await untilAborted(signal, async () => {
        const response = await request(call, body, signal)
        return readAnswer(response, await response.text())
      })
    } finally {
      clearTimeout(timer)
      ending.removeEventListener('abort', abort)
    }
  }

  return {
    async call<T, R>(call: Call, read: (answer: T) => R): Promise<R> {
      const body = call.body === undefined ? null : JSON.stringify(call.body)
      let delay = retryDelay
      for (let made = 1; ; made++) {
        checkOpen()
        let failed: Attempt
        try {
          failed = await attempt(call, body)
        } catch (cause) {
          if (isSessionError(cause)) throw cause // of getToken, not of the network
          failed = { ok: false, error: unreachable(base, made, cause), retry: true, retryAfter: 0 }
        }
        if (failed.ok) return understand(call, () => read(failed.value as T))
        checkOpen()
        if (!failed.retry || made >= attempts || failed.retryAfter > MAX_RETRY_AFTER) {
          throw failed.error
        }
        const wait = Math.max(delay * (1 - Math.random() / 2), failed.retryAfter)
        await pause(wait, [ending, closing.signal])
        delay = Math.min(delay * 2, MAX_DELAY)
      }
    },

    async open(call, signal) {
      checkOpen()
      return untilAborted(signal, () => request(call, null, signal))
    },

    close() {
      isClosed = true
      closing.abort()
    },
  }
}

/** A server of another version, or none of this API, may answer anything. */
function understand<R>({ method, path }: Call, read: () => R): R {
  try {
    return read()
  } catch (cause) {
    if (isSessionError(cause)) throw cause
    throw new SessionError('STORAGE_FAILED', `the answer to ${method} ${path} is not readable`, {
      cause,
    })
  }
}

function readBaseUrl(value: unknown): string {
  const isText = typeof value === 'string' || value instanceof URL
  // Without its scheme, a page would take the name of a server for a path of its own.
  if (isText && /^(https?:\/\/|\/|$)/i.test(String(value))) return String(value).replace(/\/+$/, '')
  throw invalidArgument(
    'baseUrl',
    `must start with http://, https:// or /, not ${describeValue(value)}`,
  )
}

type Attempt =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly error: SessionError
      readonly retry: boolean
      /** Milliseconds that the server asks to wait for. */
      readonly retryAfter: number
    }

function readAnswer(response: Response, text: string): Attempt {
  const { status, headers } = response
  if (response.ok) {
    // What is no JSON comes from something in between, and may be gone with the next try.
    return { ok: true, value: JSON.parse(text) }
  }
  const retry = TRANSIENT.includes(status) || (status >= 500 && !HOPELESS.includes(status))
  const seconds = Number(headers.get('retry-after') ?? 0)
  return {
    ok: false,
    error: toError(status, parseProblem(text)),
    retry,
    retryAfter: Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0,
  }
}

function parseProblem(text: string): Partial<Problem> | null {
  try {
    const problem: unknown = JSON.parse(text)
    return typeof problem === 'object' ? problem : null
  } catch {
    return null // an answer of something between here and the API
  }
}

function toError(status: number, problem: Partial<Problem> | null): SessionError {
  const { code, detail, details, requestId } = problem ?? {}
  const facts = { status, ...(requestId === undefined ? {} : { requestId }) }
  if (code !== undefined && code in STATUS_OF && !HTTP_CODES.includes(code)) {
    return new SessionError(code as SessionError['code'], String(detail), {
      details: status >= 429 ? { ...details, ...facts } : { ...details },
    })
  }
  const text = `the server answered ${status}${code === undefined ? '' : ` ${code}: ${detail}`}`
  return new SessionError(codeOf(status), text, {
    details: { ...facts, ...(code === undefined ? {} : { code }) },
  })
}

function codeOf(status: number): SessionError['code'] {
  if (status === 401) return 'UNAUTHENTICATED'
  if (status === 429) return 'RATE_LIMITED'
  return status === 502 || status === 503 || status === 504
    ? 'STORAGE_UNAVAILABLE'
    : 'STORAGE_FAILED'
}

function unreachable(base: string, attempts: number, cause: unknown): SessionError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new SessionError(
    'STORAGE_UNAVAILABLE',
    `${base} did not answer in ${attempts} attempts: ${reason}`,
    { cause, details: { attempts } },
  )
}

function aborted(signal: AbortSignal): SessionError {
  return new SessionError('STORAGE_UNAVAILABLE', 'the call was aborted', { cause: signal.reason })
}

/** Waits, or until one of the signals ends it. */
function pause(milliseconds: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    for (const signal of signals) signal.addEventListener('abort', end)
  })
}
