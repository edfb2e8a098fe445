// The HTTP API in this process, over sessions in memory: one store per user, as one object per user.
import type { SessionService } from 'turnlog'
import { bearerToken, createSessionApi, type LogEntry, type SessionApiOptions } from 'turnlog/http'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { decodeSegment, encodeSegment } from '../../src/wire/ids.ts'

export interface TestApi {
  /** Makes a request as the user `ana`, or as `user` (`null`: as nobody). */
  request(
    method: string,
    path: string,
    options?: {
      readonly user?: string | null
      /** Sent as JSON; a string is sent as it is. */
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    },
  ): Promise<Answer>
  /** For `createHttpSessionService`: the API as `fetch`. */
  readonly fetch: typeof fetch
  /** The store of a user. */
  serviceOf(userId: string): SessionService
  readonly log: readonly LogEntry[]
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, whatever it is. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what was answered and say what they expect
  readonly json: any
}

export const BASE_URL = 'http://memory.test'

/** Tokens are the user's id, percent-encoded. */
export function testApi(
  options: Partial<SessionApiOptions> & { readonly now?: () => number } = {},
): TestApi {
  const log: LogEntry[] = []
  const services = new Map<string, SessionService>()
  const serviceOf = (userId: string) => {
    const found = services.get(userId)
    if (found !== undefined) return found
    const service = createInMemorySessionService({ defaultUserId: userId, now: options.now })
    services.set(userId, service)
    return service
  }
  const api = createSessionApi({
    authenticate: (context) => {
      const token = bearerToken(context.req.raw)
      return token === null ? null : decodeSegment(token)
    },
    sessions: (_, userId) => serviceOf(userId),
    log: (entry) => log.push(entry),
    ...options,
  })
  return {
    log,
    serviceOf,
    fetch: async (input, init) => api.fetch(new Request(input as string, init)),
    async request(method, path, { user = 'ana', body, headers } = {}) {
      const response = await api.request(BASE_URL + path, {
        method,
        headers: {
          ...(user === null ? {} : { authorization: `Bearer ${encodeSegment(user)}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: parse(text) }
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A user's message for an append. */
export function userMessage(content: string, id?: string): object {
  return { ...(id === undefined ? {} : { id }), message: { role: 'user', content } }
}

/** One field of everything in a list. */
export function pluck(list: readonly Readonly<Record<string, unknown>>[], name: string): unknown[] {
  return list.map((item) => item[name])
}
