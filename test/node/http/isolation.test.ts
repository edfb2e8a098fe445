// Two users: whatever ana asks for with an id of bo's, in a path, a query, a body or a header, is
// answered as an id that nobody has.
import { sign } from 'hono/jwt'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'
import { documentation } from '../../../src/http/documentation.ts'
import { testApi, userMessage } from '../../support/session-api.ts'

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}
type Send = (
  user: string,
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Reply>

interface Attempt {
  /** The route that it goes to, as the documentation names it. */
  readonly route: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const secret = 'the words of bo that nobody else may read'

/** Every way to name somebody else's session, event, user or boundary. */
function attempts(sessionId: string, eventId: string, userId: string): readonly Attempt[] {
  const session = `/sessions/${encodeURIComponent(sessionId)}`
  const event = encodeURIComponent(eventId)
  const user = encodeURIComponent(userId)
  const lines = { 'content-type': 'application/x-ndjson' }
  return [
    { route: 'GET /sessions/{sessionId}', path: session },
    { route: 'GET /sessions/{sessionId}', path: `${session}?absent=null` },
    { route: 'PATCH /sessions/{sessionId}', path: session, body: { metadata: { mine: true } } },
    { route: 'GET /sessions/{sessionId}/boundaries', path: `${session}/boundaries` },
    { route: 'GET /sessions/{sessionId}/events', path: `${session}/events` },
    { route: 'GET /sessions/{sessionId}/events', path: `${session}/events?format=ndjson` },
    { route: 'GET /sessions/{sessionId}/events', path: `${session}/events?keyword=words` },
    { route: 'GET /sessions/{sessionId}/events', path: `${session}/events?after=0` },
    {
      route: 'GET /sessions/{sessionId}/events',
      path: `${session}/events?cursor=${encodeURIComponent('{"boundary":null,"remaining":[[1,9]],"skip":0,"take":null}')}`,
    },
    { route: 'GET /sessions/{sessionId}/view', path: `${session}/view` },
    { route: 'POST /sessions/{sessionId}/query', path: `${session}/query`, body: {} },
    {
      route: 'POST /sessions/{sessionId}/events',
      path: `${session}/events`,
      body: userMessage('from ana', eventId),
    },
    {
      route: 'POST /sessions/{sessionId}/events',
      path: `${session}/events`,
      body: { events: [], expectedVersion: 1 },
    },
    {
      route: 'POST /sessions/{sessionId}/commits',
      path: `${session}/commits`,
      body: {
        operationId: 'op',
        boundary: { summaries: [eventId], kept: [], through: 9, rewound: [[1, 9]] },
      },
    },
    { route: 'GET /sessions/{sessionId}/events/{eventId}', path: `${session}/events/${event}` },
    {
      route: 'GET /sessions/{sessionId}/events/{eventId}',
      path: `${session}/events/${event}?absent=null`,
    },
    { route: 'DELETE /sessions/{sessionId}/events/{eventId}', path: `${session}/events/${event}` },
    { route: 'GET /sessions/{sessionId}/changes', path: `${session}/changes` },
    {
      route: 'GET /sessions/{sessionId}/changes',
      path: `${session}/changes?after=0`,
      headers: { 'last-event-id': '0' },
    },
    { route: 'GET /sessions/{sessionId}/export', path: `${session}/export` },
    {
      route: 'POST /sessions/{sessionId}/tools/conversation_search',
      path: `${session}/tools/conversation_search`,
      body: { innerThought: '', query: 'words' },
    },
    { route: 'DELETE /sessions/{sessionId}', path: session },
    // Users in queries and bodies.
    { route: 'GET /sessions', path: `/sessions?userId=${user}` },
    { route: 'DELETE /user', path: `/user?userId=${user}` },
    { route: 'POST /sessions', path: '/sessions', body: { id: 'new', userId } },
    { route: 'PUT /sessions/{sessionId}', path: '/sessions/new', body: { userId } },
    { route: 'POST /recall', path: '/recall', body: { userId } },
    // Ids where they mean nothing: answered for ana, as ever.
    { route: 'GET /recall', path: '/recall?keyword=words' },
    {
      route: 'GET /sessions',
      path: '/sessions',
      headers: { 'x-user-id': userId, 'x-session-id': sessionId, cookie: `user=${user}` },
    },
    { route: 'GET /user', path: '/user', headers: { 'x-forwarded-user': userId } },
    {
      route: 'POST /tools/cross_session_search',
      path: '/tools/cross_session_search',
      body: { innerThought: '', query: 'words', userId, sessionId },
    },
    { route: 'GET /tools', path: '/tools' },
    { route: 'DELETE /expired-sessions', path: '/expired-sessions?before=0' },
    {
      route: 'POST /import',
      path: `/import?sessionId=${encodeURIComponent(sessionId)}`,
      body: 'no lines',
      headers: lines,
    },
  ]
}

/** An answer with what must differ taken out: the ids that were asked for, and the request's own. */
function shapeOf({ status, headers, text }: Reply, names: readonly string[]) {
  let body = text
  for (const name of names) body = body.replaceAll(JSON.stringify(name).slice(1, -1), '<id>')
  const requestId = headers.get('x-request-id') ?? ''
  return {
    status,
    type: headers.get('content-type'),
    body: body.replaceAll(requestId, '<request>').replaceAll(/"createdAt":"[^"]+"/g, ''),
  }
}

function describeIsolation(name: string, start: () => Promise<Send>) {
  describe(name, () => {
    let send: Send
    beforeAll(async () => {
      send = await start()
      for (const user of ['ana', 'bo']) {
        await send(user, 'PUT', `/sessions/of-${user}`, { body: { metadata: { owner: user } } })
      }
      await send('bo', 'POST', '/sessions/of-bo/events', {
        body: { events: [userMessage(secret, 'event-bo'), userMessage(`${secret}!`, 'later-bo')] },
      })
      await send('bo', 'POST', '/sessions/of-bo/commits', {
        body: {
          operationId: 'op-bo',
          boundary: { summaries: [], kept: [[2, 2]], through: 2, rewound: [] },
        },
      })
    })

    test('bo’s ids are as unknown to ana as ids that nobody has, and stay as they are', async () => {
      const before = await send('bo', 'GET', '/sessions/of-bo/export')
      const foreign = attempts('of-bo', 'event-bo', 'bo')
      const unknown = attempts('of-xx', 'event-xx', 'xx')
      for (const [index, attempt] of foreign.entries()) {
        const other = unknown[index] as Attempt
        const method = attempt.route.split(' ')[0] as string
        const found = await send('ana', method, attempt.path, attempt)
        const missed = await send('ana', method, other.path, other)
        const shape = shapeOf(found, ['of-bo', 'event-bo', 'op-bo'])
        expect(shape, attempt.path).toEqual(shapeOf(missed, ['of-xx', 'event-xx', 'op-xx']))
        expect(found.text, attempt.path).not.toContain('words of bo')
        expect(found.text, attempt.path).not.toContain('op-bo')
        const isBySession = attempt.path.includes('of-bo') && !attempt.path.startsWith('/import')
        const isByUser =
          attempt.path.includes('userId=') || JSON.stringify(attempt.body ?? '').includes('userId')
        const isNull = attempt.path === '/sessions/of-bo?absent=null'
        if (isNull) expect(found.text, attempt.path).toBe('{"session":null}')
        else if (isBySession && method !== 'DELETE') expect(found.status, attempt.path).toBe(404)
        if (isByUser && !attempt.path.startsWith('/tools')) {
          expect(found.status, attempt.path).toBe(404)
        }
      }
      expect((await send('bo', 'GET', '/sessions/of-bo/export')).text).toBe(before.text)
    })

    test('every route is among the attempts', () => {
      const tried = new Set(attempts('', '', '').map(({ route }) => route))
      expect(Object.keys(documentation).filter((route) => !tried.has(route))).toEqual([])
    })

    test('the same ids live side by side, and deleting one user leaves the other', async () => {
      for (const user of ['ana', 'bo']) {
        await send(user, 'PUT', '/sessions/same', { body: { metadata: { user } } })
        await send(user, 'POST', '/sessions/same/events', {
          body: userMessage(`I am ${user}`, 'same-event'),
        })
      }
      for (const user of ['ana', 'bo']) {
        const { text } = await send(user, 'GET', '/sessions/same/events')
        expect(JSON.parse(text).events).toMatchObject([{ message: { content: `I am ${user}` } }])
      }
      await send('ana', 'DELETE', '/user')
      expect((await send('ana', 'GET', '/sessions/same')).status).toBe(404)
      expect((await send('bo', 'GET', '/sessions/same')).status).toBe(200)
      expect((await send('bo', 'GET', '/sessions/of-bo')).status).toBe(200)
    })

    test('users whose ids look alike are different users', async () => {
      const users = [
        'cy',
        'Cy',
        'cy ',
        ' cy',
        'c/y',
        'c%2Fy',
        'ćy',
        'c\u0301y',
        'user:cy',
        'cy.',
        '.',
        '..',
      ]
      for (const [index, user] of users.entries()) {
        await send(user, 'PUT', '/sessions/mine', { body: { metadata: { index } } })
      }
      for (const [index, user] of users.entries()) {
        const { text } = await send(user, 'GET', '/sessions/mine')
        expect(JSON.parse(text).session, user).toMatchObject({ userId: user, metadata: { index } })
      }
    })
  })
}

describeIsolation('in this process', async () => {
  const api = testApi({ crossSessionSearch: true })
  return (user, method, path, options = {}) => api.request(method, path, { ...options, user })
})

let worker: LocalWorker | undefined
afterAll(() => worker?.close())

describeIsolation('the Worker that is deployed', async () => {
  const key = 'a secret of at least thirty-two bytes'
  worker = await startWorker({
    entry: 'src/worker/deploy.ts',
    bindings: { JWT_SECRET: key, CROSS_SESSION_SEARCH: 'true' },
  })
  const { url } = worker
  const exp = Math.floor(Date.now() / 1000) + 3600
  return async (user, method, path, { body, headers } = {}) => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${await sign({ sub: user, exp }, key)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
})
