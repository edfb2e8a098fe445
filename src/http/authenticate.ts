/** Who makes a request. */

import type { HonoRequest } from 'hono'
import { checkId } from '../core/identifiers.ts'
import { HttpError } from './problem-response.ts'

/** What an authentication may look at: Hono's `Context`, as far as it needs no types of its own. */
export interface AuthenticationContext<Env> {
  readonly req: HonoRequest
  readonly env: Env
  /** What a middleware before has set. */
  get(key: string): unknown
}

/**
 * Gives the id of the user who makes a request, or `null` to refuse it. The id decides whose sessions
 * the request sees, so it must come from something that only this user can show, never from a
 * parameter that anybody could set. What it throws refuses the request as well.
 */
export type Authenticate<Env> = (
  context: AuthenticationContext<Env>,
) => string | null | undefined | Promise<string | null | undefined>

/** The token of an `Authorization: Bearer …` header; `null` when there is none. */
export function bearerToken(request: Request): string | null {
  const match = /^bearer +([^\s,]+) *$/i.exec(request.headers.get('authorization') ?? '')
  return match?.[1] ?? null
}

/** @throws HttpError `UNAUTHENTICATED` unless there is a user. */
export function requireUser(userId: string | null | undefined): string {
  if (userId === null || userId === undefined) throw unauthenticated()
  try {
    return checkId(userId, 'userId')
  } catch (cause) {
    throw unauthenticated(cause)
  }
}

function unauthenticated(cause?: unknown): HttpError {
  return new HttpError('UNAUTHENTICATED', 'the request shows no valid credentials', { cause })
}
