// What every answer has, whatever it says: CORS, security headers, a request id, and no more of a fault
// than its id. And which code comes with which status.
import { SessionError, type SessionErrorCode } from 'turnlog'
import {
  createSessionApi,
  HttpError,
  type LogEntry,
  type ProblemCode,
  STATUS_OF,
} from 'turnlog/http'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test } from 'vitest'
import { describeFault } from '../../../src/http/request-log.ts'
import {
  type Answer,
  BASE_URL,
  type TestApi,
  testApi,
  userMessage,
} from '../../support/session-api.ts'

const origin = 'https://app.example.com'

/** An API whose store fails with an error. */
function failing(error: unknown): TestApi {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  const fail = async () => {
    throw error
  }
  return testApi({
    allowedOrigins: [origin],
    sessions: () => ({ ...service, repository: { ...service.repository, findSession: fail } }),
  })
}

const found = (api: TestApi, headers: Record<string, string> = {}) =>
  api.request('GET', '/sessions/s', { headers })

/** How each code is reached; those of stores by a store that fails so. */
const reached: Readonly<Record<ProblemCode, () => Promise<Answer>>> = {
  INVALID_ARGUMENT: () => testApi().request('POST', '/sessions', { body: { id: 5 } }),
  INVALID_FILTER: () => testApi().request('GET', '/sessions/s/events?lastN=0'),
  INVALID_EVENT: () =>
    testApi().request('POST', '/sessions/s/events', { body: { message: { role: 'robot' } } }),
  INVALID_IMPORT: () =>
    testApi().request('POST', '/import', {
      body: '{"type":"session"}\n',
      headers: { 'content-type': 'application/x-ndjson' },
    }),
  UNAUTHENTICATED: () => testApi().request('GET', '/user', { user: null }),
  NOT_FOUND: () => testApi().request('GET', '/nothing'),
  SESSION_NOT_FOUND: () => testApi().request('GET', '/sessions/none'),
  EVENT_NOT_FOUND: async () => {
    const api = testApi()
    await api.request('PUT', '/sessions/s', { body: {} })
    return api.request('GET', '/sessions/s/events/none')
  },
  NOT_OWNER: () => testApi().request('GET', '/sessions?userId=bo'),
  METHOD_NOT_ALLOWED: () => testApi().request('PATCH', '/sessions'),
  SESSION_EXISTS: async () => {
    const api = testApi()
    await api.request('POST', '/sessions', { body: { id: 's' } })
    return api.request('POST', '/sessions', { body: { id: 's' } })
  },
  VERSION_CONFLICT: async () => {
    const api = testApi()
    await api.request('PUT', '/sessions/s', { body: {} })
    return api.request('POST', '/sessions/s/events', {
      body: { events: [userMessage('a')], expectedVersion: 1 },
    })
  },
  BOUNDARY_CONFLICT: async () => {
    const api = testApi()
    await api.request('PUT', '/sessions/s', { body: {} })
    return api.request('POST', '/sessions/s/commits', {
      body: {
        expectedBoundary: 'another',
        boundary: { summaries: [], kept: [], through: 0, rewound: [] },
      },
    })
  },
  EVENT_TOO_LARGE: async () => {
    const api = testApi()
    await api.request('PUT', '/sessions/s', { body: {} })
    return api.request('POST', '/sessions/s/events', { body: userMessage('x'.repeat(9_000_000)) })
  },
  PAYLOAD_TOO_LARGE: () =>
    testApi().request('POST', '/sessions', { body: { metadata: { a: 'x'.repeat(3_000_000) } } }),
  UNSUPPORTED_MEDIA_TYPE: () =>
    testApi().request('POST', '/sessions', {
      body: '{}',
      headers: { 'content-type': 'text/plain' },
    }),
  RATE_LIMITED: () => found(testApi({ rateLimit: () => ({ retryAfter: 2.5 }) })),
  INTERNAL: () => found(failing(new TypeError('secret internals'))),
  COMPACTION_FAILED: () =>
    found(failing(new SessionError('COMPACTION_FAILED', 'secret internals'))),
  STORAGE_FAILED: () => found(failing(new SessionError('STORAGE_FAILED', 'secret internals'))),
  STORAGE_OUTDATED: () => found(failing(new SessionError('STORAGE_OUTDATED', 'secret internals'))),
  AUTHENTICATION_UNAVAILABLE: () =>
    found(
      testApi({
        authenticate: () => {
          throw new HttpError('AUTHENTICATION_UNAVAILABLE', 'secret internals')
        },
      }),
    ),
  STORAGE_BLOCKED: () => found(failing(new SessionError('STORAGE_BLOCKED', 'secret internals'))),
  STORAGE_UNAVAILABLE: () =>
    found(failing(new SessionError('STORAGE_UNAVAILABLE', 'secret internals'))),
  CLOSED: () => found(failing(new SessionError('CLOSED', 'secret internals'))),
  QUOTA_EXCEEDED: () => found(failing(new SessionError('QUOTA_EXCEEDED', 'secret internals'))),
}

test.each(Object.keys(STATUS_OF) as ProblemCode[])('%s has its status', async (code) => {
  const { status, json, headers, text } = await reached[code]()
  expect({ status, code: json.code }).toEqual({ status: STATUS_OF[code], code })
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(Object.keys(json)).toEqual(['title', 'status', 'code', 'detail', 'details', 'requestId'])
  expect(json).toMatchObject({ status, requestId: headers.get('x-request-id') })
  expect(json.detail).not.toBe('')
  expect(json.title).not.toBe('Error')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('cache-control')).toBe('no-store')
  if (status >= 500) {
    expect(text).not.toContain('secret')
    expect(json).toMatchObject({ details: {}, detail: expect.stringContaining(json.requestId) })
  }
  expect(headers.get('retry-after')).toBe(status === 503 ? '1' : status === 429 ? '3' : null)
  expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
})

test('a fault that is no error of ours is INTERNAL, whatever it looks like', async () => {
  for (const error of [
    Object.assign(new Error('x'), { code: 'SESSION_NOT_FOUND' }),
    Object.assign(new Error('x'), { name: 'SessionError', code: 'SOMETHING_NEW' }),
    'a text',
    null,
    undefined,
    new Response('no', { status: 200 }),
  ]) {
    expect(await found(failing(error))).toMatchObject({ status: 500, json: { code: 'INTERNAL' } })
  }
})

test('an error that lost its class on its way through RPC keeps its meaning', async () => {
  const error = Object.assign(new Error('session "s" does not exist'), {
    name: 'SessionError',
    code: 'SESSION_NOT_FOUND' satisfies SessionErrorCode,
    details: { sessionId: 's' },
  })
  expect(await found(failing(error))).toMatchObject({
    status: 404,
    json: { code: 'SESSION_NOT_FOUND', details: { sessionId: 's' } },
  })
})

describe('CORS', () => {
  const api = testApi({
    allowedOrigins: [origin, 'http://localhost:5173'],
    rateLimit: (_, userId) => userId !== 'limited' || { retryAfter: 1 },
  })
  const from = (given: string) => ({ headers: { origin: given } })

  test('every answer can be read by a listed origin, failures too', async () => {
    const answers = [
      await api.request('GET', '/sessions', from(origin)),
      await api.request('GET', '/sessions?limit=0', from(origin)),
      await api.request('GET', '/sessions', { ...from(origin), user: null }),
      await api.request('GET', '/sessions/none', from(origin)),
      await api.request('GET', '/nothing', from(origin)),
      await api.request('PUT', '/sessions', from(origin)),
      await api.request('POST', '/sessions', { ...from(origin), body: 'x'.repeat(3_000_000) }),
      await api.request('GET', '/sessions', { ...from(origin), user: 'limited' }),
      await api.request('GET', '/openapi.json', from(origin)),
      await found(failing(new Error('x')), { origin }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      200, 400, 401, 404, 404, 405, 413, 429, 200, 500,
    ])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('vary')).toContain('Origin')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      for (const name of ['X-Request-Id', 'Retry-After']) {
        expect(headers.get('access-control-expose-headers')).toContain(name)
      }
    }
  })

  test('other origins get nothing to read with', async () => {
    for (const other of [
      'https://evil.example.com',
      'null',
      `${origin}.evil.com`,
      'https://app.example.com:444',
    ]) {
      const { headers } = await api.request('GET', '/sessions', from(other))
      expect(headers.get('access-control-allow-origin')).toBeNull()
      expect(headers.get('vary')).toContain('Origin')
    }
    const closed = await testApi().request('GET', '/sessions', from(origin))
    expect(closed.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a preflight is answered without a token, for every method and header of the client', async () => {
    for (const path of ['/sessions', '/sessions/a%2Fb/events/c', '/nothing']) {
      const { status, headers, text } = await api.request('OPTIONS', path, {
        user: null,
        headers: {
          origin,
          'access-control-request-method': 'DELETE',
          'access-control-request-headers': 'authorization, if-match, idempotency-key, prefer',
        },
      })
      expect([status, text]).toEqual([204, ''])
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      const methods = headers.get('access-control-allow-methods')?.split(', ')
      expect(methods).toEqual(expect.arrayContaining(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']))
      const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
      expect(allowed).toEqual(
        expect.arrayContaining([
          'authorization',
          'content-type',
          'prefer',
          'if-match',
          'idempotency-key',
          'last-event-id',
        ]),
      )
      expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0)
    }
    const refused = await api.request('OPTIONS', '/sessions', {
      user: null,
      headers: { origin: 'https://evil.example.com', 'access-control-request-method': 'DELETE' },
    })
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('apps in web views have origins of other schemes', async () => {
    const app = testApi({ allowedOrigins: ['capacitor://localhost', 'http://[::1]:3000'] })
    for (const own of ['capacitor://localhost', 'http://[::1]:3000']) {
      const { headers } = await app.request('GET', '/sessions', from(own))
      expect(headers.get('access-control-allow-origin')).toBe(own)
    }
  })

  test('all origins only where that is said', async () => {
    const open = testApi({ allowedOrigins: ['*'] })
    const { headers } = await open.request('GET', '/sessions', from('https://any.example.com'))
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })
})

describe('a request id', () => {
  test('is Cloudflare’s, else the caller’s, else a new one', async () => {
    const api = testApi()
    const idOf = async (headers: Record<string, string>) =>
      (await api.request('GET', '/user', { headers })).headers.get('x-request-id')
    expect(await idOf({ 'cf-ray': '8f3a-FRA', 'x-request-id': 'mine' })).toBe('8f3a-FRA')
    expect(await idOf({ 'x-request-id': 'mine_1-2' })).toBe('mine_1-2')
    for (const bad of ['a b', 'a"}', 'x'.repeat(65), '']) {
      expect(await idOf({ 'x-request-id': bad })).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect(api.log.at(-1)?.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the log', () => {
  test('has a line for every request, without ids and texts', async () => {
    const api = testApi()
    await api.request('PUT', '/sessions/private-id', { body: { metadata: { a: 'private' } } })
    await api.request('POST', '/sessions/private-id/events', {
      body: userMessage('private', 'private'),
    })
    await api.request('POST', '/sessions/private-id/events', { body: '{"private' })
    await api.request('GET', '/private')
    await api.request('GET', '/sessions/private-id/events?keyword=private')
    expect(api.log.map(({ requestId, milliseconds, ...entry }) => entry)).toEqual([
      { level: 'info', method: 'PUT', route: '/sessions/{sessionId}', status: 201 },
      { level: 'info', method: 'POST', route: '/sessions/{sessionId}/events', status: 201 },
      {
        level: 'info',
        method: 'POST',
        route: '/sessions/{sessionId}/events',
        status: 400,
        code: 'INVALID_ARGUMENT',
      },
      { level: 'info', method: 'GET', route: null, status: 404, code: 'NOT_FOUND' },
      { level: 'info', method: 'GET', route: '/sessions/{sessionId}/events', status: 200 },
    ])
    expect(JSON.stringify(api.log)).not.toContain('private')
    for (const { milliseconds } of api.log) expect(milliseconds).toBeGreaterThanOrEqual(0)
  })

  test('tells of a fault where it came from, without what stands in quotes', async () => {
    const entries: LogEntry[] = []
    const cause = new SyntaxError(`Unexpected token 'p', "private words" is not valid JSON`)
    const error = new SessionError(
      'STORAGE_FAILED',
      'event 5 of session "private" cannot be read',
      {
        cause,
      },
    )
    const service = createInMemorySessionService({ defaultUserId: 'ana' })
    const api = testApi({
      sessions: () => ({
        ...service,
        repository: {
          ...service.repository,
          listSessions: async () => {
            throw error
          },
        },
      }),
      log: (entry) => entries.push(entry),
    })
    const { json } = await api.request('GET', '/sessions')
    expect(entries).toHaveLength(1)
    const [entry] = entries
    expect(entry).toMatchObject({
      level: 'error',
      status: 500,
      code: 'STORAGE_FAILED',
      requestId: json.requestId,
    })
    expect(entry?.error).toContain('SessionError STORAGE_FAILED: event 5 of session "…"')
    expect(entry?.error).toContain('caused by SyntaxError')
    expect(entry?.error).toContain('answers.test.ts')
    expect(entry?.error).not.toContain('private')
  })

  test('describes whatever was thrown', () => {
    expect(describeFault('a text')).toBe('string: ')
    expect(describeFault(null)).toContain('object')
    const loop = new Error('around')
    loop.cause = loop
    expect(describeFault(loop).match(/around/g)).toHaveLength(4)
  })

  test('by default has only faults, on the console', async () => {
    const lines: string[] = []
    const { error } = console
    console.error = (line: string) => lines.push(line)
    try {
      const api = createSessionApi({
        authenticate: () => 'ana',
        sessions: () => {
          throw new Error('no store')
        },
      })
      await api.request(`${BASE_URL}/nothing`)
      const response = await api.request(`${BASE_URL}/sessions`)
      expect(response.status).toBe(500)
    } finally {
      console.error = error
    }
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', code: 'INTERNAL' })
  })
})

test('HTTPS is to be used on, by who came by it', async () => {
  const api = createSessionApi({ sessions: () => createInMemorySessionService() })
  const header = async (url: string) =>
    (await api.request(url)).headers.get('strict-transport-security')
  expect(await header('https://memory.example.com/user')).toMatch(/max-age=\d{8}/)
  expect(await header('http://localhost/user')).toBeNull()
})

test('options that cannot work are refused by name', () => {
  const sessions = () => createInMemorySessionService()
  for (const [options, name] of [
    [null, 'sessions'],
    [{ sessions: 5 }, 'sessions'],
    [{ sessions, authenticate: 'everybody' }, 'authenticate'],
    [{ sessions, allowedOrigins: 'https://app.example.com' }, 'allowedOrigins'],
    [{ sessions, allowedOrigins: ['https://app.example.com/'] }, 'allowedOrigins[0]'],
    [{ sessions, allowedOrigins: ['*', 'app.example.com'] }, 'allowedOrigins[1]'],
    [{ sessions, allowedOrigins: ['https://app.example.com/chat'] }, 'allowedOrigins[0]'],
    [{ sessions, rateLimit: true }, 'rateLimit'],
    [{ sessions, follow: { pollInterval: 0 } }, 'follow.pollInterval'],
    [{ sessions, follow: { duration: Number.POSITIVE_INFINITY } }, 'follow.duration'],
    [{ sessions, log: 'console' }, 'log'],
    [{ sessions, now: 5 }, 'now'],
    [{ sessions, crossSessionSearch: 'yes' }, 'crossSessionSearch'],
  ] as const) {
    expect(() => createSessionApi(options as never), name).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(name) }),
    )
  }
})

test('a method that a route does not take is told which it does', async () => {
  const api = testApi()
  expect((await api.request('POST', '/sessions/s')).headers.get('allow')).toBe(
    'GET, PUT, PATCH, DELETE, OPTIONS',
  )
  expect((await api.request('GET', '/import')).headers.get('allow')).toBe('POST, OPTIONS')
  expect((await api.request('SEARCH', '/user')).status).toBe(405)
})
