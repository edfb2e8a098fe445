/** What a route is, and what it is given. */

import type { LogService } from '../core/create-log-service.ts'
import type { SessionRepository } from '../core/session-repository.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An authenticated request on its way to a route. */
export interface RouteRequest {
  readonly raw: Request
  /** The values of the path's `{…}`, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** From authentication, never from the request. */
  readonly userId: string
  /** The user's sessions. */
  readonly service: LogService
  /** The store below `service`. */
  readonly repository: SessionRepository
  /** The server's clock, in epoch milliseconds. */
  readonly now: () => number
  readonly requestId: string
  /** Tells the log of a failure that the answer can no longer show. */
  readonly report: (error: unknown) => void
}

/** What answers requests; documentation.ts says the rest about it. */
export interface Route {
  readonly method: Method
  /** With `{name}` for a segment that is an id. */
  readonly path: string
  readonly handle: (request: RouteRequest) => Promise<Response>
}

/** The value of a segment of the path; every route that asks for one has it in its path. */
export function param(request: RouteRequest, name: string): string {
  const value = request.params[name]
  if (value === undefined) throw new Error(`the path has no {${name}}`)
  return value
}

/** An answer as JSON. */
export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json' },
  })
}
