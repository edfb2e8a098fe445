// The client: what it asks of a server that loses answers, repeats requests, is overloaded, or is none.
import { SessionError, type SessionService } from 'turnlog'
import {
  createHttpSessionRepository,
  createHttpSessionService,
  type HttpSessionOptions,
} from 'turnlog/client'
import { describe, expect, test } from 'vitest'
import { BASE_URL, type TestApi, testApi } from '../../support/session-api.ts'

const hello = { role: 'user', content: 'hello' } as const

function clientOf(api: TestApi, options: Partial<HttpSessionOptions> = {}): SessionService {
  return createHttpSessionService({
    baseUrl: BASE_URL,
    getToken: () => 'ana',
    fetch: api.fetch,
    retryDelay: 1,
    ...options,
  })
}

/** What happens to one request on its way. */
type Fault =
  | 'request lost'
  | 'answer lost'
  | 'answer cut off'
  | 'sent twice'
  | 'answered by a proxy'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

/** `fetch` that does what `faults` says to the requests that `matches`, one after the other. */
function faulty(
  api: TestApi,
  faults: readonly Fault[],
  matches: (method: string, url: string) => boolean = (method) => method !== 'GET',
) {
  const left = [...faults]
  const requests: { method: string; url: string; body: string; headers: Headers }[] = []
  const send: typeof fetch = async (input, init) => {
    const method = init?.method ?? 'GET'
    const url = String(input)
    requests.push({ method, url, body: String(init?.body), headers: new Headers(init?.headers) })
    const fault = matches(method, url) ? left.shift() : undefined
    if (fault === undefined) return api.fetch(input, init)
    if (fault === 'request lost') throw new TypeError('fetch failed')
    if (typeof fault === 'object') {
      return new Response(fault.body ?? '', { status: fault.status, headers: fault.headers ?? {} })
    }
    const response = await api.fetch(input, init)
    if (fault === 'sent twice') {
      await response.text()
      return api.fetch(input, init)
    }
    const text = await response.text()
    if (fault === 'answer lost') throw new TypeError('network error')
    if (fault === 'answered by a proxy') return new Response('<html>Sign in to the café’s network')
    return new Response(text.slice(0, text.length >> 1), response)
  }
  return { send, requests, left }
}

const faults: readonly Fault[] = [
  'request lost',
  'answer lost',
  'answer cut off',
  'sent twice',
  'answered by a proxy',
  { status: 500, body: '{"code":"INTERNAL"}' },
  { status: 502, body: '<html>Bad gateway</html>' },
  { status: 503, headers: { 'retry-after': '0' } },
  { status: 504 },
  { status: 429, headers: { 'retry-after': '0' } },
  { status: 408 },
]

describe.each(faults.map((fault) => [JSON.stringify(fault), fault] as const))('%s', (_, fault) => {
  test('every write happens once', async () => {
    const api = testApi()
    const { send, left } = faulty(
      api,
      Array.from({ length: 30 }, () => fault),
      () => everyOther(),
    )
    let count = 0
    const everyOther = () => count++ % 2 === 0
    const client = clientOf(api, { fetch: send })
    const session = await client.create({ id: 's', metadata: { a: 1 } })
    expect(session).toMatchObject({ id: 's', userId: 'ana', metadata: { a: 1 } })
    expect(await client.findOrCreate({ id: 's' })).toEqual(session)
    expect((await client.create()).id).toMatch(/^[0-9a-f-]{36}$/)
    for (const text of ['one', 'two', 'three']) {
      const event = await client.appendMessage('s', { role: 'user', content: text })
      expect(event.message.content).toBe(text)
    }
    await client.appendEvents('s', [{ message: hello }, { message: hello }], { expectedVersion: 3 })
    expect((await client.getEvents('s')).map(({ seq, message }) => [seq, message.content])).toEqual(
      [
        [1, 'one'],
        [2, 'two'],
        [3, 'three'],
        [4, 'hello'],
        [5, 'hello'],
      ],
    )
    const result = await client.compact('s', {
      trigger: () => true,
      strategy: (view) => ({
        summaries: [{ message: { role: 'assistant', content: 'so far' } }],
        keep: view.slice(-2).map(({ id }) => id),
      }),
    })
    expect(result.status).toBe('compacted')
    expect((await client.update('s', { metadata: { b: 2 } })).metadata).toEqual({ a: 1, b: 2 })
    const boundaries = await client.repository.readBoundaries('s', { now: Date.now() })
    expect(boundaries).toHaveLength(1)
    const view = await client.getMessages('s', { excludeArchived: true })
    expect(view.map(({ content }) => content)).toEqual(['so far', 'hello', 'hello'])
    await client.eraseEvent('s', (await client.getEvents('s'))[0]?.id ?? '')
    expect(await client.getEventVersion('s')).toBe(6)
    await client.rewind('s', { before: (await client.getEvents('s'))[4]?.id ?? '' })
    expect(await client.getEventVersion('s')).toBe(7)
    const lines: string[] = []
    for await (const line of client.exportSession('s')) lines.push(line)
    expect((await client.importSession(lines, { sessionId: 'copy' })).eventCount).toBe(6)
    await client.delete('s')
    expect(await client.findById('s')).toBeNull()
    expect(await api.serviceOf('ana').findById('s')).toBeNull()
    expect(left.length).toBeLessThan(30)
  })
})

test('a repeated request carries the same ids', async () => {
  const api = testApi()
  const { send, requests } = faulty(api, ['answer lost', 'answer lost', 'answer lost'])
  const client = clientOf(api, { fetch: send })
  await client.create()
  const [first, second, third, fourth] = requests.filter(({ method }) => method === 'PUT')
  expect(fourth).toMatchObject({ url: first?.url, body: first?.body })
  expect(first?.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
  for (const request of [second, third, fourth]) {
    expect(request?.headers.get('idempotency-key')).toBe(first?.headers.get('idempotency-key'))
  }
})

test('a creation whose answer was lost is not taken for somebody else’s', async () => {
  const api = testApi()
  await api.serviceOf('ana').create({ id: 'taken' })
  const { send } = faulty(api, ['answer lost', 'answer lost'])
  const client = clientOf(api, { fetch: send, userId: 'ana' })
  expect((await client.create({ id: 'new' })).id).toBe('new')
  await expect(client.create({ id: 'new' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await expect(client.create({ id: 'taken' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
})

describe('tries', () => {
  const always = (fault: Fault) => Array.from({ length: 100 }, () => fault)

  test('are bounded, and the error says how many there were', async () => {
    const api = testApi()
    const { send, requests } = faulty(api, always('request lost'), () => true)
    const client = clientOf(api, { fetch: send, attempts: 3 })
    await expect(client.findById('s')).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: expect.stringContaining('3 attempts: fetch failed'),
      details: { attempts: 3 },
      cause: expect.any(TypeError),
    })
    expect(requests).toHaveLength(3)
  })

  test('are not made for what another one would not change', async () => {
    for (const [fault, code] of [
      [{ status: 400, body: '{"code":"INVALID_ARGUMENT","detail":"x"}' }, 'INVALID_ARGUMENT'],
      [{ status: 404, body: '{"code":"NOT_FOUND","detail":"x"}' }, 'STORAGE_FAILED'],
      [{ status: 404, body: 'no such page' }, 'STORAGE_FAILED'],
      [{ status: 409, body: '{"code":"VERSION_CONFLICT","detail":"x"}' }, 'VERSION_CONFLICT'],
      [{ status: 403, body: 'blocked' }, 'STORAGE_FAILED'],
      [{ status: 413, body: '{"code":"PAYLOAD_TOO_LARGE","detail":"x"}' }, 'STORAGE_FAILED'],
      [{ status: 501 }, 'STORAGE_FAILED'],
      [{ status: 507, body: '{"code":"QUOTA_EXCEEDED","detail":"x"}' }, 'QUOTA_EXCEEDED'],
    ] as const) {
      const api = testApi()
      const { send, requests } = faulty(api, always(fault))
      const client = clientOf(api, { fetch: send })
      const append = client.appendMessage('s', hello)
      await expect(append).rejects.toMatchObject({ name: 'SessionError', code })
      expect(requests).toHaveLength(1)
    }
  })

  test('end with the code of the last answer', async () => {
    for (const [fault, code] of [
      [{ status: 429 }, 'RATE_LIMITED'],
      [{ status: 429, body: '{"code":"RATE_LIMITED","detail":"slowly"}' }, 'RATE_LIMITED'],
      [{ status: 503, body: '{"code":"STORAGE_UNAVAILABLE","detail":"x"}' }, 'STORAGE_UNAVAILABLE'],
      [{ status: 502, body: 'bad gateway' }, 'STORAGE_UNAVAILABLE'],
      [{ status: 500, body: '{"code":"INTERNAL","detail":"x","requestId":"r"}' }, 'STORAGE_FAILED'],
      [
        { status: 500, body: '{"code":"STORAGE_FAILED","detail":"x","requestId":"r"}' },
        'STORAGE_FAILED',
      ],
    ] as const) {
      const api = testApi()
      const { send, requests } = faulty(api, always(fault))
      const client = clientOf(api, { fetch: send, attempts: 4 })
      const error = await client.appendMessage('s', hello).catch((reason: SessionError) => reason)
      expect(error).toBeInstanceOf(SessionError)
      expect(error).toMatchObject({ code, details: { status: fault.status } })
      if (fault.status === 500) expect(error).toMatchObject({ details: { requestId: 'r' } })
      expect(requests).toHaveLength(4)
    }
  })

  test('wait as long as the server asks, but not for ever', async () => {
    const api = testApi()
    await api.serviceOf('ana').create({ id: 's' })
    const patient = faulty(api, [{ status: 429, headers: { 'retry-after': '1' } }])
    const start = performance.now()
    await clientOf(api, { fetch: patient.send }).appendMessage('s', hello)
    expect(performance.now() - start).toBeGreaterThanOrEqual(995)
    const endless = faulty(api, always({ status: 429, headers: { 'retry-after': '3600' } }))
    const client = clientOf(api, { fetch: endless.send })
    await expect(client.appendMessage('s', hello)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    expect(endless.requests).toHaveLength(1)
  })

  test('end at once when the signal says so, or the client is closed', async () => {
    const api = testApi()
    for (const end of [
      { code: 'STORAGE_UNAVAILABLE', by: (controller: AbortController) => controller.abort() },
      { code: 'CLOSED', by: (_: AbortController, client: SessionService) => client.close() },
    ]) {
      const controller = new AbortController()
      const { send } = faulty(api, always('request lost'), () => true)
      const client = clientOf(api, {
        fetch: send,
        retryDelay: 1e9,
        attempts: 100,
        signal: controller.signal,
      })
      const call = client.findById('s')
      await new Promise((resolve) => setTimeout(resolve, 5))
      await end.by(controller, client)
      await expect(call).rejects.toMatchObject({ code: end.code })
      await expect(client.findById('s')).rejects.toMatchObject({ code: end.code })
    }
  })

  test('that hang are given up after their time', async () => {
    const api = testApi()
    let count = 0
    const send: typeof fetch = (input, init) =>
      count++ > 0
        ? api.fetch(input, init)
        : new Promise((_, reject) => {
            init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
          })
    const client = clientOf(api, { fetch: send, timeout: 20 })
    expect(await client.findById('s')).toBeNull()
    expect(count).toBe(2)
  })

  test('that wait for a token, or for a fetch that heeds no signal, are given up as well', async () => {
    const api = testApi()
    const never = () => Promise.withResolvers<never>().promise
    for (const options of [{ getToken: never }, { fetch: never }]) {
      const client = clientOf(api, { ...options, timeout: 20, attempts: 2 })
      await expect(client.findById('s')).rejects.toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
        details: { attempts: 2 },
      })
    }
  })

  test('of a request that is under way end with the signal', async () => {
    const api = testApi()
    const controller = new AbortController()
    const send: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })
    const client = clientOf(api, { fetch: send, signal: controller.signal })
    const call = client.findById('s')
    await new Promise((resolve) => setTimeout(resolve, 1))
    controller.abort()
    await expect(call).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'the call was aborted',
    })
  })
})

describe('an answer of something else', () => {
  test.each([
    ['nothing', null],
    ['a number', 5],
    ['an empty object', {}],
    ['lists in place of objects', { session: [], events: 5, sessions: {}, boundaries: null }],
  ])('%s: is a typed error of every call', async (_, body) => {
    const send: typeof fetch = async () => Response.json(body)
    const client = createHttpSessionService({ baseUrl: BASE_URL, fetch: send, userId: 'ana' })
    for (const call of [
      () => client.create(),
      () => client.findById('s'),
      () => client.update('s', {}),
      () => client.listSessions(),
      () => client.appendMessage('s', hello),
      () => client.getEvents('s'),
      () => client.findEvent('s', 'e'),
      () => client.recallEvents({}),
      () => client.rewind('s', { before: 'e' }),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: 'SessionError', code: 'STORAGE_FAILED' })
    }
  })
})

describe('bad options', () => {
  test.each([
    ['baseUrl', { baseUrl: undefined }],
    ['baseUrl', { baseUrl: 5 }],
    ['baseUrl', { baseUrl: 'memory.example.com' }],
    ['baseUrl', { baseUrl: 'localhost:8787' }],
    ['fetch', { fetch: 'fetch' }],
    ['getToken', { getToken: 'token' }],
    ['attempts', { attempts: Number.NaN }],
    ['attempts', { attempts: 0 }],
    ['retryDelay', { retryDelay: -1 }],
    ['timeout', { timeout: Number.POSITIVE_INFINITY }],
    ['timeout', { timeout: 2 ** 31 }],
    ['signal', { signal: {} }],
  ])('%s is refused (%#)', (field, options) => {
    expect(() => clientOf(testApi(), options as never)).toThrowError(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { field } }),
    )
  })
})

describe('tokens', () => {
  test('are asked for with every request; a refused one is renewed once', async () => {
    const api = testApi({
      authenticate: ({ req }) => (req.header('authorization') === 'Bearer fresh' ? 'ana' : null),
    })
    const asked: (string | null)[] = []
    let current = 'stale'
    const client = clientOf(api, {
      getToken: async ({ rejected }) => {
        asked.push(rejected)
        if (rejected === 'stale') current = 'fresh'
        return current
      },
    })
    expect(await client.findById('s')).toBeNull()
    expect(asked).toEqual([null, 'stale'])
    expect(await client.findById('s')).toBeNull()
    expect(asked).toEqual([null, 'stale', null])
  })

  test('that cannot be renewed end the call', async () => {
    const api = testApi({ authenticate: () => null })
    let asked = 0
    for (const token of ['stale', null]) {
      const client = clientOf(api, {
        getToken: () => {
          asked++
          return token
        },
      })
      await expect(client.findById('s')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
    expect(asked).toBe(3)
    const failing = clientOf(api, {
      getToken: () => {
        throw new Error('signed out')
      },
    })
    await expect(failing.findById('s')).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('signed out'),
    })
    const own = new SessionError('STORAGE_UNAVAILABLE', 'offline')
    const offline = clientOf(api, { getToken: () => Promise.reject(own) })
    await expect(offline.findById('s')).rejects.toBe(own)
  })

  test('go only into the header, also when the base URL ends with a slash', async () => {
    const api = testApi()
    const { send, requests } = faulty(api, [])
    const client = clientOf(api, {
      fetch: send,
      baseUrl: new URL(`${BASE_URL}/`),
      headers: { 'x-app': 'notes' },
    })
    await client.findById('a/../b')
    expect(requests[0]?.url).toBe(`${BASE_URL}/sessions/a%2F..%2Fb?absent=null`)
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer ana')
    expect(requests[0]?.headers.get('x-app')).toBe('notes')
  })
})

test('a page may name its own server by a path, or by none', async () => {
  const asked: string[] = []
  const send = async (url: string | URL | Request) => {
    asked.push(String(url))
    return Response.json({ session: null })
  }
  for (const baseUrl of ['/api', '/api/', '/', '']) {
    await createHttpSessionService({ baseUrl, fetch: send, userId: 'ana' }).findById('s')
  }
  const paths = ['/api/sessions/s', '/api/sessions/s', '/sessions/s', '/sessions/s']
  expect(asked).toEqual(paths.map((path) => `${path}?absent=null`))
})

describe('the user', () => {
  test('is asked for once, and named in every session', async () => {
    const api = testApi()
    const { send, requests } = faulty(api, [])
    const client = clientOf(api, { fetch: send })
    expect((await client.create({ id: 's' })).userId).toBe('ana')
    await client.findOrCreate({ id: 's' })
    await client.listSessions()
    await client.listSessions(null)
    await client.recallEvents({ keyword: 'a' })
    expect(requests.filter(({ url }) => url.endsWith('/user'))).toHaveLength(1)
  })

  test('of another name is refused, and nothing is stored or removed', async () => {
    const api = testApi()
    const client = clientOf(api, { userId: 'ana' })
    await client.create({ id: 's' })
    const refused = { code: 'NOT_OWNER' }
    await expect(client.create({ id: 't', userId: 'bo' })).rejects.toMatchObject(refused)
    await expect(client.findOrCreate({ id: 's', userId: 'bo' })).rejects.toMatchObject(refused)
    await expect(client.listSessions({ userId: 'bo' })).rejects.toMatchObject(refused)
    await expect(client.recallEvents({}, { userId: 'bo' })).rejects.toMatchObject(refused)
    await expect(client.deleteUser('bo')).rejects.toMatchObject(refused)
    expect(await api.serviceOf('ana').findById('t')).toBeNull()
    expect((await api.serviceOf('bo').listSessions()).sessions).toEqual([])
    expect(await client.deleteUser('ana')).toBe(1)
  })

  test('whose token changed to another’s is not written for', async () => {
    const api = testApi()
    let token = 'ana'
    const client = clientOf(api, { getToken: () => token })
    await client.create({ id: 's' })
    token = 'bo'
    await expect(client.create({ id: 't' })).rejects.toMatchObject({ code: 'NOT_OWNER' })
    expect(await api.serviceOf('bo').findById('t')).toBeNull()
  })
})

describe('clocks', () => {
  test('the server’s counts: a client that is a day off creates, finds and expires the same', async () => {
    for (const offset of [86_400_000, -86_400_000]) {
      const api = testApi()
      const repository = createHttpSessionRepository({
        baseUrl: BASE_URL,
        fetch: api.fetch,
        getToken: () => 'ana',
      })
      const now = Date.now() + offset
      const { session } = await repository.createSession(
        {
          id: 's',
          userId: 'ana',
          createdAt: now,
          expiresAt: now + 60_000,
          slidingTimeToLive: null,
          metadata: '{}',
          lastSeq: 0,
          version: 0,
          lastEventAt: null,
          latestTimestamp: null,
          boundary: null,
        },
        { now },
      )
      expect(Math.abs(session.createdAt - Date.now())).toBeLessThan(30_000)
      expect((session.expiresAt ?? 0) - session.createdAt).toBe(60_000)
      expect(await repository.findSession('s', { now })).toEqual(session)
    }
  })

  test('what has expired is for the server to say', async () => {
    const api = testApi()
    const { send, requests } = faulty(api, [])
    const client = clientOf(api, { fetch: send, userId: 'ana' })
    await client.create({ id: 's', timeToLive: 60_000 })
    expect(await client.deleteExpiredSessions()).toBe(0)
    expect(requests.at(-1)?.url).toBe(`${BASE_URL}/expired-sessions`)
    expect(await client.deleteExpiredSessions({ before: Date.now() + 120_000 })).toBe(1)
  })

  test('an import keeps its instants', async () => {
    const api = testApi()
    const source = testApi({ now: () => Date.parse('2020-01-01T00:00:00Z') })
    const from = clientOf(source, { userId: 'ana' })
    await from.create({ id: 's', timeToLive: null })
    await from.appendMessage('s', hello, { timestamp: 5 })
    const to = clientOf(api)
    const session = await to.importSession(from.exportSession('s'))
    expect(session.createdAt.toISOString()).toBe('2020-01-01T00:00:00.000Z')
    expect((await to.getEvents('s'))[0]?.timestamp).toEqual(new Date(5))
    const sliding = await source.serviceOf('ana').create({ id: 't', timeToLive: { sliding: 1e13 } })
    const copy = await to.importSession(source.serviceOf('ana').exportSession('t'))
    expect(copy.expiresAt).toEqual(sliding.expiresAt)
  })
})

describe('what may be absent', () => {
  const look = async (sessions: SessionService) => [
    await sessions.findById('none'),
    (await sessions.findById('s'))?.id,
    await sessions.findEvent('s', 'none'),
    (await sessions.findEvent('s', 'e'))?.id,
  ]

  test('is looked for without an answer that a browser would call an error', async () => {
    const api = testApi()
    const statuses: number[] = []
    const sessions = clientOf(api, {
      fetch: async (input, init) => {
        const response = await api.fetch(input, init)
        statuses.push(response.status)
        return response
      },
    })
    await sessions.create({ id: 's' })
    await sessions.appendEvents('s', [{ id: 'e', message: hello }])
    expect(await look(sessions)).toEqual([null, 's', null, 'e'])
    expect(statuses.filter((status) => status >= 400)).toEqual([])
  })

  test('is absent to a server as well that knows no such parameter', async () => {
    const api = testApi()
    const sessions = clientOf(api, {
      fetch: (input, init) => api.fetch(String(input).replace('?absent=null', ''), init),
    })
    await sessions.create({ id: 's' })
    await sessions.appendEvents('s', [{ id: 'e', message: hello }])
    expect(await look(sessions)).toEqual([null, 's', null, 'e'])
  })
})

test('bad arguments are refused before anything is sent', async () => {
  const api = testApi()
  const { send, requests } = faulty(api, [])
  const client = clientOf(api, { fetch: send, userId: 'ana' })
  for (const call of [
    () => client.findById(' '),
    () => client.create('text' as never),
    () => client.create({ timeToLive: 'long' as never }),
    () => client.appendEvent('s', { message: 5 as never }),
    () => client.getEvents('s', { lastN: 0 }),
    () => client.deleteExpiredSessions({ before: 'soon' }),
    () => client.appendEvent('s', { message: { role: 'user', content: 'x'.repeat(9e6) } }),
  ]) {
    await expect(call()).rejects.toMatchObject({ name: 'SessionError' })
  }
  expect(requests).toEqual([])
})

test('tiny events of a batch at its limit fit into one request', async () => {
  const api = testApi()
  const client = clientOf(api, { userId: 'ana' })
  await client.create({ id: 's' })
  const message = { role: 'user', content: '' } as const
  const events = Array.from({ length: 150_000 }, (_, index) => ({
    id: `${index}`.padEnd(36, 'x'),
    message,
    branch: 'a',
  }))
  expect(await client.appendEvents('s', events)).toHaveLength(150_000)
})
