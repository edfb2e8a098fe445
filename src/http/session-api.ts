/** The HTTP API of sessions: a Hono app to mount in any Worker or server. */

import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import {
  readDelay,
  readFlag,
  readFunction,
  readOptionalFunction,
  readOptions,
} from '../core/arguments.ts'
import type { LogService } from '../core/create-log-service.ts'
import { describeValue, invalidArgument } from '../core/errors.ts'
import { randomId } from '../core/identifiers.ts'
import { decodeSegment } from '../wire/ids.ts'
import { type Authenticate, requireUser } from './authenticate.ts'
import openApi from './openapi.json' with { type: 'json' }
import { HttpError, problemResponse, toProblem } from './problem-response.ts'
import { describeFault, type LogEntry, logFaults } from './request-log.ts'
import { addCorsHeaders, addSecurityHeaders, preflightResponse } from './response-headers.ts'
import type { Route } from './route.ts'
import { listRoutes } from './routes.ts'

// biome-ignore lint/suspicious/noExplicitAny: as in Hono, what is not said to be typed can be written without a cast
type AnyEnv = any

export interface SessionApiOptions<Env = AnyEnv> {
  /** Who makes a request. Without it every request is refused. See `jwtAuth`. */
  readonly authenticate?: Authenticate<NoInfer<Env>> | null | undefined
  /**
   * A service over the sessions of this user and of nobody else: ids in a request are looked for
   * there. `durableObjectSessions(env.SESSIONS, userId)` is one.
   */
  readonly sessions: (env: Env, userId: string) => LogService | Promise<LogService>
  /** Whether `cross_session_search` is offered. Default `false`. */
  readonly crossSessionSearch?: boolean | null | undefined
  /**
   * Origins whose pages may call the API, such as `https://app.example.com`; `['*']` is all. Default
   * none: only pages of the API's own origin.
   */
  readonly allowedOrigins?: readonly string[] | null | undefined
  /** Whether a user may make one more request; called after authentication. Default: always. */
  readonly rateLimit?: RateLimit<Env> | null | undefined
  /**
   * How a session is followed live: milliseconds between looks at the store (default 1,000) and until
   * a stream ends (default 300,000); callers come back by themselves. A look is a call to the session
   * object, a subrequest, of which the platform allows a request only so many.
   */
  readonly follow?:
    | { readonly pollInterval?: number | null; readonly duration?: number | null }
    | null
    | undefined
  /**
   * Further routes behind the same authentication, such as `mcpRoutes` of turnlog/mcp. Default none.
   */
  readonly routes?: readonly Route[] | null | undefined
  /** Hears of every request. Default: faults of the server go to the console. See `logRequests`. */
  readonly log?: ((entry: LogEntry) => void) | null | undefined
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | null | undefined
}

/** `true`, or the seconds until it is worth another try. */
export type RateLimit<Env> = (
  env: Env,
  userId: string,
) => true | { readonly retryAfter: number } | Promise<true | { readonly retryAfter: number }>

/** What `createSessionApi` gives: an app with nothing in its types that a caller could get stuck in. */
export type SessionApi<Env = AnyEnv> = Hono<{ Bindings: Env & object }>

/**
 * The API over the sessions of authenticated users.
 *
 * ```ts
 * export default createSessionApi({
 *   authenticate: jwtAuth({ jwksUri }),
 *   sessions: (env, userId) => durableObjectSessions(env.SESSIONS, userId),
 * })
 * ```
 *
 * Or under a path of an app of one's own: `app.route('/memory', createSessionApi({ … }))`.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function createSessionApi<Env = AnyEnv>(given: SessionApiOptions<Env>): SessionApi<Env> {
  const options = readOptions(given)
  const sessions = readFunction(options.sessions, 'sessions')
  const authenticate = readOptionalFunction(options.authenticate, 'authenticate') ?? null
  const rateLimit = readOptionalFunction(options.rateLimit, 'rateLimit')
  const origins = readOrigins(options.allowedOrigins)
  const log = readOptionalFunction(options.log, 'log') ?? logFaults
  /** What was done is done: a log that fails must not make a failure of it. */
  const tell = (entry: LogEntry) => {
    try {
      log(entry)
    } catch (error) {
      logFaults({ ...entry, level: 'error', error: describeFault(error) })
    }
  }
  const now = readOptionalFunction(options.now, 'now') ?? Date.now
  const follow = readOptions(options.follow, 'follow')
  const routes = [
    ...listRoutes({
      pollInterval: readDelay(follow.pollInterval, 'follow.pollInterval', 1000),
      duration: readDelay(follow.duration, 'follow.duration', 300_000),
      crossSessionSearch: readFlag(options.crossSessionSearch, 'crossSessionSearch'),
    }),
    ...(options.routes ?? []),
  ]
  type ApiContext = Context<{ Bindings: Env & object }>

  /** Answers a request, whatever happens, with all headers that an answer has. */
  const respond = async (
    context: ApiContext,
    route: string | null,
    handle: (requestId: string, report: (error: unknown) => void) => Promise<Response>,
  ): Promise<Response> => {
    const request = context.req.raw
    const requestId = requestIdOf(request)
    const start = Date.now()
    const enter = (status: number, fault?: { readonly code: string; readonly error?: unknown }) => {
      tell({
        level: status >= 500 ? 'error' : 'info',
        requestId,
        method: request.method,
        route,
        status,
        ...(fault === undefined ? {} : { code: fault.code }),
        milliseconds: Date.now() - start,
        ...(status >= 500 ? { error: describeFault(fault?.error) } : {}),
      })
    }
    const report = (error: unknown) => {
      const { status, code } = toProblem(error, requestId)
      if (status >= 500) enter(status, { code, error })
    }
    let response: Response
    try {
      response = await handle(requestId, report)
      enter(response.status)
    } catch (error) {
      const { status, code } = toProblem(error, requestId)
      response = problemResponse(error, requestId)
      enter(status, { code, error })
    }
    response.headers.set('x-request-id', requestId)
    addSecurityHeaders(response.headers, request)
    addCorsHeaders(response.headers, request, origins)
    return response
  }

  const answerRoute = (context: ApiContext, route: Route): Promise<Response> =>
    respond(context, route.path, async (requestId, report) => {
      const userId = await requireAuthenticated(context)
      const service = await sessions(context.env, userId)
      return route.handle({
        raw: context.req.raw,
        params: readParams(route.path, context.req.raw.url),
        userId,
        service,
        repository: service.repository,
        now,
        requestId,
        report,
      })
    })

  const requireAuthenticated = async (context: ApiContext): Promise<string> => {
    const userId = requireUser(await authenticate?.(context))
    const allowed = (await rateLimit?.(context.env, userId)) ?? true
    if (allowed === true) return userId
    const seconds = Math.max(1, Math.ceil(allowed.retryAfter))
    throw new HttpError('RATE_LIMITED', `too many requests; try again in ${seconds} s`, {
      details: { retryAfter: seconds },
      headers: { 'retry-after': `${seconds}` },
    })
  }

  const app = new Hono<{ Bindings: Env & object }>()
  app.options('*', async (context) => {
    const response = preflightResponse()
    addCorsHeaders(response.headers, context.req.raw, origins)
    return response
  })
  let document: string | undefined
  app.get('/openapi.json', (context) =>
    respond(context, '/openapi.json', async () => {
      // Nothing is open before somebody has said who may come in.
      if (authenticate === null) requireUser(null)
      document ??= describeRoutes(routes)
      return new Response(document, { headers: { 'content-type': 'application/json' } })
    }),
  )
  for (const route of routes) {
    app.on(route.method, honoPath(route.path), (context) => answerRoute(context, route))
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => method)
    app.all(honoPath(path), (context) =>
      respond(context, path, async () => {
        await requireAuthenticated(context)
        throw new HttpError('METHOD_NOT_ALLOWED', `${path} takes ${allowed.join(', ')}`, {
          headers: { allow: [...allowed, 'OPTIONS'].join(', ') },
        })
      }),
    )
  }
  app.all('*', (context) =>
    respond(context, null, async () => {
      await requireAuthenticated(context)
      throw new HttpError('NOT_FOUND', 'there is no such route')
    }),
  )
  return app
}

/** Also of other schemes: an app in a web view has an origin such as `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/

/** Origins as browsers send them: a slash at the end, or a path, would never match. */
function readOrigins(given: readonly string[] | null | undefined): readonly string[] {
  const origins = given ?? []
  if (!Array.isArray(origins)) {
    throw invalidArgument('allowedOrigins', `must be an array, not ${describeValue(origins)}`)
  }
  for (const [index, origin] of origins.entries()) {
    if (origin === '*' || (typeof origin === 'string' && ORIGIN.test(origin))) continue
    throw invalidArgument(
      `allowedOrigins[${index}]`,
      `must be an origin such as https://app.example.com, or *, not ${describeValue(origin)}`,
    )
  }
  return origins
}

/** The OpenAPI document of the routes that are there. */
function describeRoutes(routes: readonly Route[]): string {
  const paths = Object.entries(openApi.paths).filter(([path]) =>
    routes.some((route) => route.path === path),
  )
  return JSON.stringify({ ...openApi, paths: Object.fromEntries(paths) })
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/**
 * The ids in a path, from the URL as it came: Hono decodes what it can and keeps the rest, so that a
 * segment that is wrongly encoded would be another id than the one that was meant. Counted from the
 * end, because the app may be mounted below any path.
 */
function readParams(pattern: string, url: string): Readonly<Record<string, string>> {
  const names = pattern.split('/')
  const segments = new URL(url).pathname.split('/').slice(-names.length + 1)
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const name = /^\{(\w+)\}$/.exec(names[index + 1] ?? '')?.[1]
    if (name === undefined) continue
    const value = decodeSegment(segment)
    if (value === null) throw invalidArgument(name, 'is not percent-encoded UTF-8')
    params[name] = value
  }
  return params
}

/** Cloudflare's own id of the request, else the caller's, else a new one. */
function requestIdOf(request: Request): string {
  for (const name of ['cf-ray', 'x-request-id']) {
    const given = request.headers.get(name)
    // Nothing that could pretend to be another line of the log.
    if (given !== null && /^[\w-]{1,64}$/.test(given)) return given
  }
  return randomId()
}
