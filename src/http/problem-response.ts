/** Failures as answers: which status and text a caller gets, and what only the log may know. */

import { isSessionError, type SessionErrorDetails } from '../core/errors.ts'
import { PROBLEM_TYPE, type Problem, type ProblemCode, STATUS_OF } from '../wire/problem.ts'

/** A failure that only HTTP knows. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly code: ProblemCode
  readonly details: SessionErrorDetails
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    message: string,
    options: {
      readonly details?: SessionErrorDetails
      readonly headers?: Readonly<Record<string, string>>
      readonly cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

/** A failure as a caller may see it: of a fault of the server it learns the code and the request id. */
export function toProblem(error: unknown, requestId: string): Problem {
  const known = error instanceof HttpError || isSessionError(error) ? error : null
  const code: ProblemCode = known !== null && known.code in STATUS_OF ? known.code : 'INTERNAL'
  const status = STATUS_OF[code]
  const isFault = status >= 500
  return {
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail: isFault
      ? `The request could not be answered. The server's log says more under ${requestId}.`
      : (known?.message ?? ''),
    details: isFault ? {} : (known?.details ?? {}),
    requestId,
  }
}

/** The answer for a failure. */
export function problemResponse(error: unknown, requestId: string): Response {
  const problem = toProblem(error, requestId)
  const headers: Record<string, string> = { 'content-type': PROBLEM_TYPE }
  if (problem.status === 503) headers['retry-after'] = '1'
  if (problem.status === 401) headers['www-authenticate'] = 'Bearer'
  if (error instanceof HttpError) Object.assign(headers, error.headers)
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}
