// What every route does, by example.
import { expect, test } from 'vitest'
import { type Answer, pluck, testApi, userMessage } from '../../support/session-api.ts'

const now = Date.parse('2026-03-02T08:00:00.000Z')

async function apiWithLog(count: number) {
  const api = testApi({ now: () => now })
  await api.request('PUT', '/sessions/s', { body: {} })
  const events = Array.from({ length: count }, (_, index) => ({
    ...userMessage(`text ${index + 1}`, `e${index + 1}`),
    timestamp: now + index,
  }))
  await api.request('POST', '/sessions/s/events', { body: { events } })
  return api
}

const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

test('a session is created, read, changed, listed and deleted', async () => {
  const api = testApi({ now: () => now })
  const created = await api.request('POST', '/sessions', {
    body: { id: 'chat 1/ü', metadata: { title: 'Hi' } },
  })
  const session = {
    id: 'chat 1/ü',
    number: 1,
    userId: 'ana',
    createdAt: '2026-03-02T08:00:00.000Z',
    expiresAt: '2026-05-01T08:00:00.000Z',
    slidingTimeToLive: null,
    metadata: { title: 'Hi' },
    eventCount: 0,
    version: 0,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
  expect(created).toMatchObject({ status: 201, json: { created: true, session } })
  const path = `/sessions/${encodeURIComponent('chat 1/ü')}`
  expect(await api.request('GET', path)).toMatchObject({ status: 200, json: { session } })
  const changed = await api.request('PATCH', path, {
    body: { metadata: { title: null, draft: true }, expiresAt: null },
  })
  expect(changed.json.session).toEqual({ ...session, metadata: { draft: true }, expiresAt: null })
  expect((await api.request('GET', '/sessions')).json).toEqual({
    sessions: [changed.json.session],
    cursor: null,
  })
  expect((await api.request('DELETE', path)).json).toEqual({ deleted: true })
  expect((await api.request('DELETE', path)).json).toEqual({ deleted: false })
  expect(await api.request('GET', path)).toMatchObject({
    status: 404,
    json: { code: 'SESSION_NOT_FOUND' },
  })
})

test('POST refuses a taken id, PUT gives the session that has it', async () => {
  const api = testApi()
  expect((await api.request('PUT', '/sessions/s', { body: { metadata: { a: 1 } } })).status).toBe(
    201,
  )
  const again = await api.request('PUT', '/sessions/s', { body: { metadata: { b: 2 } } })
  expect(again).toMatchObject({
    status: 200,
    json: { created: false, session: { metadata: { a: 1 } } },
  })
  expect(await api.request('POST', '/sessions', { body: { id: 's' } })).toMatchObject({
    status: 409,
    json: { code: 'SESSION_EXISTS', details: { sessionId: 's' } },
  })
  expect(await api.request('PUT', '/sessions/s', { body: { id: 't' } })).toMatchObject({
    status: 400,
    json: { code: 'INVALID_ARGUMENT', details: { field: 'id' } },
  })
})

test('a session without an id gets one; named by Idempotency-Key, a repeat gives the same', async () => {
  const api = testApi()
  const first = await api.request('POST', '/sessions', { body: {} })
  const blank = await api.request('POST', '/sessions', { body: { id: ' ' } })
  expect(first.json.session.id).toMatch(/^[0-9a-f-]{36}$/)
  expect(blank.json.session.id).not.toBe(first.json.session.id)
  const headers = { 'idempotency-key': 'key-1' }
  const named = await api.request('POST', '/sessions', { body: {}, headers })
  const repeated = await api.request('POST', '/sessions', { body: {}, headers })
  expect(named).toMatchObject({ status: 201, json: { created: true } })
  expect(repeated.text).toBe(named.text)
  expect((await api.request('GET', '/sessions')).json.sessions).toHaveLength(3)
})

test('lifetimes: fixed, sliding, for ever, and of a session that is restored', async () => {
  const api = testApi({ now: () => now })
  const create = async (body: object) =>
    (await api.request('POST', '/sessions', { body })).json.session
  expect(await create({ timeToLive: 1000 })).toMatchObject({
    expiresAt: '2026-03-02T08:00:01.000Z',
    slidingTimeToLive: null,
  })
  expect(await create({ timeToLive: { sliding: 2000 } })).toMatchObject({
    expiresAt: '2026-03-02T08:00:02.000Z',
    slidingTimeToLive: 2000,
  })
  expect(await create({ timeToLive: null })).toMatchObject({ expiresAt: null })
  expect(
    await create({ createdAt: '2020-01-01T00:00:00+02:00', expiresAt: null, timeToLive: null }),
  ).toMatchObject({ createdAt: '2019-12-31T22:00:00.000Z', expiresAt: null })
  for (const body of [
    { timeToLive: 'long' },
    { timeToLive: { sliding: true } },
    { createdAt: '2020-01-01' },
    { expiresAt: 'soon' },
    { metadata: [] },
    { id: 5 },
  ]) {
    const [field] = Object.keys(body)
    expect(await api.request('POST', '/sessions', { body })).toMatchObject({
      status: 400,
      json: { code: 'INVALID_ARGUMENT', detail: expect.stringContaining(field as string) },
    })
  }
})

test('lists go on by their cursor, in both orders', async () => {
  const api = testApi()
  for (let index = 0; index < 5; index++) {
    await api.request('PUT', `/sessions/s${index}`, { body: {} })
  }
  await api.request('POST', '/sessions/s2/events', {
    body: { ...userMessage('later'), timestamp: Date.now() + 60_000 },
  })
  const walk = async (order: string) => {
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const after: string = cursor === null ? '' : `&cursor=${cursor}`
      const { json } = await api.request('GET', `/sessions?order=${order}&limit=2${after}`)
      expect(json.sessions.length).toBeLessThanOrEqual(2)
      ids.push(...idsOf(json.sessions))
      cursor = json.cursor
    } while (cursor !== null)
    return ids
  }
  expect(await walk('created')).toEqual(['s0', 's1', 's2', 's3', 's4'])
  expect((await walk('recent'))[0]).toBe('s2')
  expect(new Set(await walk('recent')).size).toBe(5)
})

test('a list of sessions with large metadata comes in several pages', async () => {
  const api = testApi()
  const metadata = { note: 'x'.repeat(200_000) }
  for (let index = 0; index < 80; index++) {
    await api.request('PUT', `/sessions/s${index}`, { body: { metadata } })
  }
  const { json } = await api.request('GET', '/sessions?limit=1000&order=created')
  expect(json.sessions).toHaveLength(64)
  const rest = await api.request('GET', `/sessions?limit=1000&order=created&cursor=${json.cursor}`)
  expect(idsOf(rest.json.sessions)).toEqual(
    Array.from({ length: 16 }, (_, index) => `s${index + 64}`),
  )
  expect(rest.json.cursor).toBeNull()
})

test('events are appended one or many, and those that are stored are skipped', async () => {
  const api = testApi({ now: () => now })
  await api.request('PUT', '/sessions/s', { body: {} })
  const one = await api.request('POST', '/sessions/s/events', { body: userMessage('hello', 'e1') })
  expect(one).toMatchObject({
    status: 201,
    json: {
      session: { eventCount: 1, version: 1, lastEventAt: '2026-03-02T08:00:00.000Z' },
      events: [
        {
          id: 'e1',
          seq: 1,
          timestamp: '2026-03-02T08:00:00.000Z',
          message: { role: 'user', content: 'hello' },
          metadata: {},
          branch: null,
          synthetic: false,
          archived: false,
          rewound: false,
        },
      ],
    },
  })
  const many = await api.request('POST', '/sessions/s/events', {
    body: {
      events: [
        userMessage('another text', 'e1'),
        { ...userMessage('b', 'e2'), branch: 'a.b', metadata: { k: [1] }, timestamp: 5 },
        userMessage('c', 'e2'),
      ],
      expectedVersion: 1,
    },
  })
  expect(many.json.events).toMatchObject([
    { id: 'e1', seq: 1, message: { content: 'hello' } },
    { id: 'e2', seq: 2, message: { content: 'b' } },
    { id: 'e2', seq: 2, message: { content: 'b' } },
  ])
  expect(many.json.events[1]).toMatchObject({
    branch: 'a.b',
    metadata: { k: [1] },
    timestamp: '1970-01-01T00:00:00.005Z',
  })
  expect(
    await api.request('POST', '/sessions/s/events', {
      body: { events: [userMessage('d', 'e3')], expectedVersion: 1 },
    }),
  ).toMatchObject({ status: 409, json: { code: 'VERSION_CONFLICT', details: { actual: 2 } } })
})

test('what was stored as it was sent need not come back', async () => {
  const api = await apiWithLog(1)
  const { json } = await api.request('POST', '/sessions/s/events', {
    headers: { prefer: 'return=minimal' },
    body: {
      events: [userMessage('new', 'n'), userMessage('differs', 'e1'), userMessage('differs', 'n')],
    },
  })
  const latestTimestamp = '2026-03-02T08:00:00.000Z'
  const place = { archived: false, rewound: false, latestTimestamp }
  expect(json.events).toEqual([
    { id: 'n', seq: 2, ...place },
    expect.objectContaining({ id: 'e1', message: { role: 'user', content: 'text 1' } }),
    { id: 'n', seq: 2, ...place },
  ])
})

test('events without ids are stored once when Idempotency-Key names the request', async () => {
  const api = await apiWithLog(0)
  const body = { events: [userMessage('a'), userMessage('b')] }
  const headers = { 'idempotency-key': 'append-1' }
  const first = await api.request('POST', '/sessions/s/events', { body, headers })
  const again = await api.request('POST', '/sessions/s/events', { body, headers })
  expect(again.json.events).toEqual(first.json.events)
  expect(again.json.session.eventCount).toBe(2)
})

test('events are read by filter, followed by seq, and found by id', async () => {
  const api = await apiWithLog(12)
  const read = async (query: string) => {
    const { json } = await api.request('GET', `/sessions/s/events${query}`)
    return idsOf(json.events)
  }
  expect(await read('?lastN=2')).toEqual(['e11', 'e12'])
  expect(await read('?keyword=TEXT%201')).toEqual(['e1', 'e10', 'e11', 'e12'])
  expect(await read('?keywords=3&keywords=7')).toEqual(['e3', 'e7'])
  expect(await read('?pageSize=5&page=2')).toEqual(['e11', 'e12'])
  expect(await read('?after=10')).toEqual(['e11', 'e12'])
  expect(await read(`?from=${now + 10}`)).toEqual(['e11', 'e12'])
  expect((await api.request('GET', '/sessions/s/events/e3')).json.event).toMatchObject({
    id: 'e3',
    seq: 3,
  })
  expect(await api.request('GET', '/sessions/s/events/e99')).toMatchObject({
    status: 404,
    json: { code: 'EVENT_NOT_FOUND' },
  })
})

test('what may be absent is looked for without an error; what is there is given as ever', async () => {
  const api = await apiWithLog(1)
  const found = async (path: string) => {
    const { status, json } = await api.request('GET', path)
    return status === 200 ? json : `${status} ${json.code} ${json.details.field ?? ''}`.trim()
  }
  expect(await found('/sessions/none?absent=null')).toEqual({ session: null })
  expect(await found('/sessions/none?absent=error')).toBe('404 SESSION_NOT_FOUND')
  expect(await found('/sessions/s?absent=null')).toEqual(await found('/sessions/s'))
  expect(await found('/sessions/s/events/e9?absent=null')).toEqual({ event: null })
  expect(await found('/sessions/s/events/e9?absent=error')).toBe('404 EVENT_NOT_FOUND')
  expect(await found('/sessions/s/events/e1?absent=null')).toEqual(
    await found('/sessions/s/events/e1'),
  )
  // The session was not what may be absent.
  expect(await found('/sessions/none/events/e1?absent=null')).toBe('404 SESSION_NOT_FOUND')
  for (const path of ['/sessions/s', '/sessions/s/events/e1']) {
    expect(await found(`${path}?absent=`)).toBe('400 INVALID_ARGUMENT absent')
    expect(await found(`${path}?absent=yes`)).toBe('400 INVALID_ARGUMENT absent')
    expect(await found(`${path}?absent=null&absent=null`)).toBe('400 INVALID_ARGUMENT absent')
    expect(await found(`${path}?present=null`)).toBe('400 INVALID_ARGUMENT present')
  }
})

test('a commit archives, and the view, its boundary and all boundaries can be read', async () => {
  const api = await apiWithLog(6)
  const commit = {
    operationId: 'compaction-1',
    expectedBoundary: null,
    events: [{ ...userMessage('what was said', 'sum'), synthetic: true }],
    boundary: { summaries: ['sum'], kept: [[5, 6]], through: 6, rewound: [] },
  }
  const committed = await api.request('POST', '/sessions/s/commits', { body: commit })
  const boundary = {
    id: 'compaction-1',
    position: 7,
    summaries: [7],
    kept: [[5, 6]],
    rewound: [],
    appended: 1,
    createdAt: '2026-03-02T08:00:00.000Z',
  }
  expect(committed).toMatchObject({ status: 201, json: { session: { boundary, version: 7 } } })
  const view = await api.request('GET', '/sessions/s/view')
  expect(idsOf(view.json.events)).toEqual(['sum', 'e5', 'e6'])
  expect(view.json.session.boundary).toEqual(boundary)
  expect((await api.request('GET', '/sessions/s/view?lastN=1')).json.events).toHaveLength(1)
  const log = await api.request('GET', '/sessions/s/events')
  expect(pluck(log.json.events, 'archived')).toEqual([true, true, true, true, false, false, false])
  expect((await api.request('GET', '/sessions/s/boundaries')).json).toEqual({
    boundaries: [boundary],
  })
  expect((await api.request('GET', '/sessions/s/boundaries?beforeSeq=7')).json.boundaries).toEqual(
    [],
  )

  const repeated = await api.request('POST', '/sessions/s/commits', { body: commit })
  expect(repeated.json).toEqual(committed.json)
  expect(
    await api.request('POST', '/sessions/s/commits', {
      body: { ...commit, operationId: 'compaction-2' },
    }),
  ).toMatchObject({ status: 409, json: { code: 'BOUNDARY_CONFLICT' } })
  expect(
    await api.request('POST', '/sessions/s/commits', {
      body: { boundary: { summaries: ['nobody'], kept: [], through: 7, rewound: [] } },
    }),
  ).toMatchObject({ status: 404, json: { code: 'EVENT_NOT_FOUND' } })
})

test('a boundary without a name gets one from Idempotency-Key, and ranges in any order are put right', async () => {
  const api = await apiWithLog(6)
  const body = {
    boundary: {
      summaries: [],
      kept: [
        [5, 6],
        [5, 5],
        [9, 3],
        [1, 1],
      ],
      through: 6,
      rewound: [[4, 99]],
    },
  }
  const headers = { 'idempotency-key': 'clear' }
  const first = await api.request('POST', '/sessions/s/commits', { body, headers })
  expect(first.json.session.boundary).toMatchObject({
    id: 'clear',
    kept: [[1, 1]],
    rewound: [[4, 6]],
  })
  const again = await api.request('POST', '/sessions/s/commits', { body, headers })
  expect(again.json).toEqual(first.json)
})

test('an erased event keeps its place without content', async () => {
  const api = await apiWithLog(3)
  expect((await api.request('DELETE', '/sessions/s/events/e2')).json).toEqual({ erased: true })
  const { json } = await api.request('GET', '/sessions/s/events')
  expect(json.events[1]).toMatchObject({
    id: 'e2',
    seq: 2,
    message: { role: 'user', content: '' },
    metadata: { erased: true },
  })
  expect(await api.request('DELETE', '/sessions/s/events/none')).toMatchObject({
    status: 404,
    json: { code: 'EVENT_NOT_FOUND' },
  })
})

test('a large log comes as lines, one event each, with a last line that says so', async () => {
  const api = testApi()
  await api.request('PUT', '/sessions/s', { body: {} })
  const content = 'long '.repeat(100_000)
  for (let index = 0; index < 30; index++) {
    await api.request('POST', '/sessions/s/events', { body: userMessage(content, `e${index}`) })
  }
  const whole = await api.request('GET', '/sessions/s/events')
  expect(whole.json.events.length).toBeLessThan(30)
  expect(typeof whole.json.next).toBe('string')

  for (const [query, accept] of [
    ['?format=ndjson', '*/*'],
    ['', 'application/x-ndjson'],
    ['', 'application/jsonl, application/json;q=0.5'],
  ] as const) {
    const answer = await api.request('GET', `/sessions/s/events${query}`, { headers: { accept } })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.slice(0, -1).map(({ event }) => event.id)).toEqual(
      Array.from({ length: 30 }, (_, index) => `e${index}`),
    )
    expect(lines.at(-1)).toEqual({ end: { events: 30, lastSeq: 30 } })
  }
  const json = await api.request('GET', '/sessions/s/events?format=json&lastN=1', {
    headers: { accept: 'application/x-ndjson' },
  })
  expect(json.json.events).toHaveLength(1)
})

test('what does not fit into one answer goes on by its cursor, in a query or a body', async () => {
  const api = testApi()
  await api.request('PUT', '/sessions/s', { body: {} })
  for (let index = 0; index < 12; index++) {
    await api.request('POST', '/sessions/s/events', {
      body: userMessage('x'.repeat(1_000_000), `e${index}`),
    })
  }
  for (const method of ['GET', 'POST']) {
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const answer: Answer =
        method === 'GET'
          ? await api.request(
              'GET',
              `/sessions/s/events?keyword=x${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
            )
          : await api.request('POST', '/sessions/s/query', {
              body: { filter: { keyword: 'x' }, ...(cursor === null ? {} : { cursor }) },
            })
      expect(answer.status).toBe(200)
      expect(answer.text.length).toBeLessThan(8 << 20)
      ids.push(...idsOf(answer.json.events))
      cursor = answer.json.next
    } while (cursor !== null)
    expect(ids).toEqual(Array.from({ length: 12 }, (_, index) => `e${index}`))
  }
})

test('cursors of somebody’s own making are refused or read within the log', async () => {
  const api = await apiWithLog(5)
  const read = (cursor: unknown) =>
    api.request('POST', '/sessions/s/query', {
      body: { cursor: typeof cursor === 'string' ? cursor : JSON.stringify(cursor) },
    })
  const good = { boundary: null, remaining: [[2, 3]], skip: 0, take: null }
  expect(idsOf((await read(good)).json.events)).toEqual(['e2', 'e3'])
  const far = { ...good, remaining: [[4, Number.MAX_SAFE_INTEGER]] }
  expect(idsOf((await read(far)).json.events)).toEqual(['e4', 'e5'])
  for (const bad of [
    'nonsense',
    '[]',
    'null',
    {
      ...good,
      remaining: [
        [1, 5],
        [1, 5],
      ],
    },
    { ...good, remaining: [[1]] },
    { ...good, skip: -1 },
    { ...good, take: 0.5 },
    { ...good, more: 1 },
    { ...good, boundary: {} },
  ]) {
    expect(await read(bad), JSON.stringify(bad)).toMatchObject({
      status: 400,
      json: {
        code: 'INVALID_ARGUMENT',
        detail: expect.stringMatching(/cursor|remaining|skip|take|more|boundary/),
      },
    })
  }
})

test('damaged events are named beside the rest', async () => {
  const { createInMemoryDatabase, createInMemoryRepository } = await import('turnlog/in-memory')
  const { createSessionService } = await import('turnlog/store')
  const database = createInMemoryDatabase()
  const repository = createInMemoryRepository(database)
  const api = testApi({
    sessions: (_, defaultUserId) =>
      createSessionService(repository, { defaultUserId, onDamage: () => undefined }),
  })
  await api.request('PUT', '/sessions/s', { body: {} })
  await api.request('POST', '/sessions/s/events', {
    body: { events: [userMessage('a', 'e1'), userMessage('b', 'e2'), userMessage('c', 'e3')] },
  })
  const events = database.sessions.get('s')?.events ?? []
  const event = events[1]
  if (event !== undefined) events[1] = { ...event, body: '{"message":' }
  const { json } = await api.request('GET', '/sessions/s/events')
  expect(idsOf(json.events)).toEqual(['e1', 'e3'])
  expect(json.damage).toEqual([{ seq: 2, reason: expect.any(String) }])
  const lines = await api.request('GET', '/sessions/s/events?format=ndjson')
  expect(lines.text).toContain('{"damage":{"seq":2,')
  expect(lines.text).toContain('{"end":{"events":2,"lastSeq":3}}')
  const found = await api.request('GET', '/sessions/s/events/e2')
  expect(found.json.event).toMatchObject({ id: 'e2', seq: 2, role: 'user', message: null })
  const repeated = await api.request('POST', '/sessions/s/events', { body: userMessage('b', 'e2') })
  expect(repeated).toMatchObject({ status: 201, json: { events: [{ seq: 2, message: null }] } })
  const recalled = await api.request('GET', '/recall?limit=10')
  expect(recalled.json.damage).toEqual([{ sessionId: 's', seq: 2, reason: expect.any(String) }])
  expect((await api.request('DELETE', '/sessions/s/events/e2')).status).toBe(200)
  expect((await api.request('GET', '/sessions/s/events')).json.damage).toEqual([])
})

test('an exported session comes back under another id, boundaries included', async () => {
  const api = await apiWithLog(4)
  await api.request('POST', '/sessions/s/commits', {
    body: {
      operationId: 'op',
      events: [{ ...userMessage('sum', 'sum'), synthetic: true }],
      boundary: { summaries: ['sum'], kept: [[4, 4]], through: 4, rewound: [] },
    },
  })
  const exported = await api.request('GET', '/sessions/s/export')
  expect(exported.headers.get('content-type')).toBe('application/x-ndjson')
  expect(exported.text.trimEnd().split('\n')).toHaveLength(1 + 5 + 1 + 1)
  const headers = { 'content-type': 'application/x-ndjson' }
  const imported = await api.request('POST', '/import?sessionId=copy', {
    body: exported.text,
    headers,
  })
  expect(imported).toMatchObject({ status: 201, json: { session: { id: 'copy', eventCount: 5 } } })
  expect((await api.request('GET', '/sessions/copy/view')).json.events).toEqual(
    (await api.request('GET', '/sessions/s/view')).json.events,
  )
  const again = await api.request('POST', '/import?sessionId=copy', {
    body: exported.text,
    headers,
  })
  expect(again.json).toEqual(imported.json)
  // The file names its user; whose it becomes is the one who brings it.
  const other = await api.request('POST', '/import', { body: exported.text, headers, user: 'bo' })
  expect(other.json.session).toMatchObject({ id: 's', userId: 'bo' })
  const broken = exported.text.split('\n').slice(0, 3).join('\n')
  expect(await api.request('POST', '/import?sessionId=x', { body: broken, headers })).toMatchObject(
    {
      status: 400,
      json: { code: 'INVALID_IMPORT' },
    },
  )
  expect((await api.request('GET', '/sessions/x')).status).toBe(404)
  await api.request('PUT', '/sessions/taken', { body: {} })
  await api.request('POST', '/sessions/taken/events', { body: userMessage('mine') })
  expect(
    await api.request('POST', '/import?sessionId=taken', { body: exported.text, headers }),
  ).toMatchObject({ status: 409, json: { code: 'SESSION_EXISTS' } })
})

test('expired sessions are unknown, and removed on request', async () => {
  let time = now
  const api = testApi({ now: () => time })
  await api.request('PUT', '/sessions/short', { body: { timeToLive: 1000 } })
  await api.request('PUT', '/sessions/long', { body: { timeToLive: 5000 } })
  time += 1000
  expect((await api.request('GET', '/sessions/short')).status).toBe(404)
  expect((await api.request('DELETE', '/expired-sessions')).json).toEqual({ deletedSessions: 1 })
  expect((await api.request('DELETE', '/expired-sessions')).json).toEqual({ deletedSessions: 0 })
  expect((await api.request('DELETE', `/expired-sessions?before=${now + 5000}`)).json).toEqual({
    deletedSessions: 1,
  })
})

test('a user learns who they are, and takes everything along when they go', async () => {
  const api = await apiWithLog(2)
  await api.request('PUT', '/sessions/t', { body: {} })
  expect((await api.request('GET', '/user')).json).toEqual({ userId: 'ana' })
  expect((await api.request('DELETE', '/user?userId=ana')).json).toEqual({ deletedSessions: 2 })
  expect((await api.request('DELETE', '/user')).json).toEqual({ deletedSessions: 0 })
  expect((await api.request('GET', '/sessions')).json.sessions).toEqual([])
})

test('recall searches all sessions, by time', async () => {
  const api = await apiWithLog(3)
  await api.request('PUT', '/sessions/t', { body: {} })
  await api.request('POST', '/sessions/t/events', {
    body: { ...userMessage('text of another', 'o'), timestamp: now + 1 },
  })
  const found = await api.request('GET', '/recall?keyword=text&limit=3')
  expect(pluck(found.json.events, 'sessionId')).toEqual(['s', 's', 't'])
  expect(idsOf(found.json.events)).toEqual(['e1', 'e2', 'o'])
  expect(found.json.complete).toBe(true)
  const rest = await api.request('POST', '/recall', {
    body: { filter: { keyword: 'text' }, offset: 3 },
  })
  expect(idsOf(rest.json.events)).toEqual(['e3'])
  for (const query of ['lastN=3', 'page=0&pageSize=2', 'limit=0', 'offset=-1']) {
    expect(await api.request('GET', `/recall?${query}`)).toMatchObject({ status: 400 })
  }
})

test('the tools run for agents elsewhere; across sessions only where that is switched on', async () => {
  const api = await apiWithLog(3)
  const names = async (tested: typeof api) =>
    pluck((await tested.request('GET', '/tools')).json.tools, 'name')
  expect(await names(api)).toEqual(['conversation_search'])
  const search = (body: object, query = '') =>
    api.request('POST', `/sessions/s/tools/conversation_search${query}`, { body })
  expect(JSON.parse((await search({ innerThought: '', query: 'text 2' })).json.result)).toEqual([
    { timestamp: '2026-03-02T08:00:00.001Z', type: 'user', text: 'text 2' },
  ])
  expect((await search({ innerThought: '', query: 'absent' })).json.result).toBe(
    'No results found.',
  )
  expect((await search({ innerThought: '', query: ' ' })).json.result).toMatch(/^Error: query/)
  await api.request('POST', '/sessions/s/events', {
    body: { ...userMessage('secret', 'x'), branch: 'a' },
  })
  expect((await search({ query: 'secret' }, '?branch=b')).json.result).toBe('No results found.')
  expect((await search({ query: 'secret' }, '?branch=a')).json.result).toContain('secret')
  expect(
    await api.request('POST', '/sessions/none/tools/conversation_search', { body: { query: 'a' } }),
  ).toMatchObject({ status: 404, json: { code: 'SESSION_NOT_FOUND' } })
  const args = { innerThought: '', query: 'text, secret', userId: 'bo' }
  expect(await api.request('POST', '/tools/cross_session_search', { body: args })).toMatchObject({
    status: 404,
    json: { code: 'NOT_FOUND' },
  })

  const open = testApi({ crossSessionSearch: true })
  expect(await names(open)).toEqual(['conversation_search', 'cross_session_search'])
  await open.request('PUT', '/sessions/s', { body: {} })
  await open.request('POST', '/sessions/s/events', { body: userMessage('a text') })
  const found = await open.request('POST', '/tools/cross_session_search', { body: args })
  expect(JSON.parse(found.json.result)).toMatchObject([{ sessionId: 's', text: 'a text' }])
})

test('HEAD answers as GET without a body', async () => {
  const api = await apiWithLog(1)
  const head = await api.request('HEAD', '/sessions/s')
  expect([head.status, head.text]).toEqual([200, ''])
  expect((await api.request('HEAD', '/sessions/none')).status).toBe(404)
})

test('an app of one’s own mounts it below any path', async () => {
  const { Hono } = await import('hono')
  const { createSessionApi } = await import('turnlog/http')
  const { createInMemorySessionService } = await import('turnlog/in-memory')
  const services = new Map([['ana', createInMemorySessionService({ defaultUserId: 'ana' })]])
  const app = new Hono<{ Variables: { user: string } }>()
  app.use('*', async (context, next) => {
    context.set('user', 'ana')
    await next()
  })
  const api = createSessionApi({
    authenticate: (context) => context.get('user') as string,
    sessions: (_, userId) => services.get(userId) as never,
  })
  app.route('/tenants/:tenant/memory', api)
  const path = '/tenants/sessions/memory/sessions/a%2Fb'
  const created = await app.request(path, {
    method: 'PUT',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  expect(await created.json()).toMatchObject({ session: { id: 'a/b' } })
  expect((await app.request('/tenants/x/memory/nothing')).status).toBe(404)
  expect(await (await app.request('/tenants/x/memory/nothing')).json()).toMatchObject({
    code: 'NOT_FOUND',
  })
})
