// Random and mutated requests to the HTTP API, the same for the same seed: well-formed ones of every
// route, and what is left of them when methods, paths, queries, headers and bodies are tampered with.
import { encodeSegment } from '../../src/wire/ids.ts'

export interface FuzzRequest {
  readonly method: string
  /** With its query; always begins with a slash. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | null
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Sessions that exist now and then. */
export const sessionIds = [
  's',
  'chat 1',
  'a/b',
  '..',
  '~',
  'ü',
  '%2F',
  '__proto__',
  'x'.repeat(512),
]
const eventIds = ['e1', 'e2', 'e/3', '.', 'constructor', '\u{1f3f7}', 'sum']

export function fuzzRequests(random: () => number) {
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const chance = (share: number) => random() < share

  const texts = [
    '',
    ' ',
    'hello world',
    'NULL',
    "'; DROP TABLE turnlog_events; --",
    '%',
    '_',
    '\u0000',
    '\ud83d',
    'e\u0301',
    '\u202e\u{1f469}\u200d\u{1f467}',
    '<script>',
    '../../etc/passwd',
    '\r\nX-Injected: 1',
    'x'.repeat(5000),
    '中'.repeat(60),
  ]
  const numbers = [
    0,
    1,
    -1,
    2,
    3,
    1.5,
    1e21,
    -1e300,
    1e308,
    2 ** 53,
    -(2 ** 53),
    8.64e15,
    8.64e15 + 1,
    4294967296,
  ]
  const randomText = () =>
    chance(0.7)
      ? pick(texts)
      : String.fromCharCode(...Array.from({ length: below(12) }, () => below(0x10000)))
  const deep = (levels: number): string => {
    const [open, close] = pick([
      ['[', ']'],
      ['{"a":', '}'],
      ['{"__proto__":', '}'],
    ])
    return `${open.repeat(levels)}1${close.repeat(levels)}`
  }
  /** JSON text of anything. */
  const anyJson = (depth = 0): string => {
    switch (below(depth > 3 ? 7 : 10)) {
      case 0:
        return 'null'
      case 1:
        return pick(['true', 'false'])
      case 2:
        return JSON.stringify(pick(numbers))
      case 3:
        return pick(['1e999', '-0', '0.1e-400', '123456789012345678901234567890', '1E+2'])
      case 4:
        return pick(['"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\uFEFF"'])
      case 5:
      case 6:
        return JSON.stringify(randomText())
      case 7:
        return chance(0.1) ? deep(pick([10, 255, 256, 257, 1000])) : '{}'
      case 8:
        return `[${Array.from({ length: below(4) }, () => anyJson(depth + 1)).join(',')}]`
      default:
        return `{${Array.from({ length: below(4) }, () => `${JSON.stringify(pick(['__proto__', 'constructor', 'toJSON', 'id', 'role', '', 'a', '0']))}:${anyJson(depth + 1)}`).join(',')}}`
    }
  }
  const instant = () =>
    pick<unknown>([
      0,
      1_700_000_000_000,
      '2026-03-02T08:00:00Z',
      '2026-03-02T08:00:00+02:00',
      '+275760-09-13T00:00:00Z',
      '-271821-04-20T00:00:00Z',
      8.64e15,
      -8.64e15,
      '2026-03-02',
      Number.MAX_SAFE_INTEGER,
    ])

  const message = (): unknown =>
    pick<() => unknown>([
      () => ({ role: pick(['user', 'assistant', 'system']), content: randomText() }),
      () => ({ role: 'user', content: [{ type: 'text', text: randomText() }, { type: 'image' }] }),
      () => ({
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} }],
      }),
      () => ({
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: randomText() }],
      }),
      () => ({ role: 'user', content: 'hello', extra: JSON.parse(anyJson(2)) as unknown }),
    ])()
  const event = (): Record<string, unknown> => ({
    message: message(),
    ...(chance(0.7) ? { id: chance(0.5) ? pick(eventIds) : `e${below(500)}` } : {}),
    ...(chance(0.3) ? { timestamp: instant() } : {}),
    ...(chance(0.3) ? { metadata: { a: randomText(), b: pick(numbers) } } : {}),
    ...(chance(0.3) ? { branch: pick(['', 'a', 'a.b', null, randomText()]) } : {}),
    ...(chance(0.2) ? { synthetic: chance(0.5) } : {}),
  })
  const range = () =>
    pick([
      [1, 2],
      [1, 1],
      [2, 5],
      [3, 1],
      [0, 0],
      [-5, 9e15],
      [1, 1e6],
    ])
  const filter = (): Record<string, unknown> => {
    const fields: Record<string, unknown> = {
      from: instant(),
      to: instant(),
      messageTypes: pick([['user'], ['tool', 'system'], [], 'user', null]),
      excludeSynthetic: chance(0.5),
      excludeArchived: chance(0.5),
      excludeRewound: chance(0.5),
      lastN: pick([1, 5, ...numbers]),
      keyword: randomText(),
      keywords: [randomText(), 'hello'],
      matchMode: pick(['any', 'all', 'none']),
      page: pick([0, 1, ...numbers]),
      pageSize: pick([1, 10, ...numbers]),
      branch: pick(['', 'a', 'a.b.c', null]),
    }
    return Object.fromEntries(Object.entries(fields).filter(() => chance(0.2)))
  }
  const query = (fields: Readonly<Record<string, unknown>>) => {
    const parts = Object.entries(fields).flatMap(([name, value]) =>
      [value].flat().map((item) => `${name}=${encodeURIComponent(String(item).toWellFormed())}`),
    )
    return parts.length === 0 ? '' : `?${parts.join('&')}`
  }
  const cursor = () =>
    JSON.stringify({
      boundary: pick([
        null,
        {
          id: 'b',
          position: 5,
          summaries: [1],
          kept: [range()],
          rewound: [],
          appended: 0,
          createdAt: 0,
        },
      ]),
      remaining: pick([[[1, 3]], [range()], [range(), range()], []]),
      skip: pick([0, 1, 1e15]),
      take: pick([null, 0, 1, 1e15]),
    })

  /** A request as a client would make it. */
  const wellFormed = (): FuzzRequest => {
    const session = `/sessions/${encodeSegment(pick(sessionIds))}`
    const eventPath = `${session}/events/${encodeSegment(pick(eventIds))}`
    const json = (method: string, path: string, body: unknown): FuzzRequest => ({
      method,
      path,
      headers: {
        'content-type': 'application/json',
        ...(chance(0.3) ? { prefer: 'return=minimal' } : {}),
      },
      body: JSON.stringify(body),
    })
    const plain = (method: string, path: string): FuzzRequest => ({
      method,
      path,
      headers: {},
      body: null,
    })
    const life = () =>
      pick<unknown>([null, 1000, 1e12, { sliding: 5000 }, { sliding: 1e15 }, -1, 1e15])
    return pick<() => FuzzRequest>([
      () => json('PUT', session, { timeToLive: life(), metadata: { a: randomText() } }),
      () => json('PUT', session, {}),
      () =>
        json('POST', '/sessions', {
          id: pick(sessionIds),
          createdAt: instant(),
          expiresAt: instant(),
        }),
      () => plain('GET', session),
      () =>
        json('PATCH', session, {
          metadata: { a: null, b: randomText() },
          expiresAt: chance(0.8) ? null : instant(),
        }),
      () => plain('DELETE', chance(0.05) ? session : eventPath),
      () =>
        plain(
          'GET',
          `/sessions${query({ order: pick(['recent', 'created']), limit: pick([1, 5, 1000]) })}`,
        ),
      () => json('POST', `${session}/events`, event()),
      () => json('POST', `${session}/events`, { events: [event(), event(), event()] }),
      () => json('POST', `${session}/events`, { events: [event()], expectedVersion: below(5) }),
      () => plain('GET', `${session}/events${query(filter())}`),
      () => plain('GET', `${session}/events${query({ ...filter(), format: 'ndjson' })}`),
      () => plain('GET', `${session}/events${query({ cursor: cursor() })}`),
      () => plain('GET', `${session}/view${query(filter())}`),
      () => json('POST', `${session}/query`, { filter: filter() }),
      () => json('POST', `${session}/query`, { filter: filter(), cursor: cursor() }),
      () => plain('GET', eventPath),
      () =>
        json('POST', `${session}/commits`, {
          events: chance(0.5) ? [{ ...event(), id: 'sum', synthetic: true }] : [],
          boundary: {
            summaries: chance(0.5) ? ['sum'] : [],
            kept: [range(), range()],
            through: below(9),
            rewound: chance(0.3) ? [range()] : [],
          },
          operationId: `op-${below(50)}`,
          ...(chance(0.3) ? { expectedBoundary: pick([null, `op-${below(50)}`]) } : {}),
        }),
      () =>
        plain('GET', `${session}/boundaries${query(chance(0.5) ? { beforeSeq: below(9) } : {})}`),
      () => plain('GET', `${session}/changes${query({ after: below(9) })}`),
      () => plain('GET', `${session}/export`),
      () => ({
        method: 'POST',
        path: `/import${query({ sessionId: pick(sessionIds) })}`,
        headers: { 'content-type': 'application/x-ndjson' },
        body: [
          {
            type: 'session',
            turnlog: 1,
            id: 'i',
            userId: 'u',
            createdAt: 0,
            expiresAt: null,
            slidingTimeToLive: pick([null, 5000, 8.64e15]),
            metadata: {},
          },
          {
            type: 'event',
            seq: 1,
            id: 'e1',
            timestamp: 5,
            branch: null,
            synthetic: false,
            message: message(),
            metadata: {},
          },
          { type: 'end', events: 1, boundaries: 0 },
        ]
          .map((line) => JSON.stringify(line))
          .join('\n'),
      }),
      () =>
        plain(
          'GET',
          `/recall${query({ ...filter(), limit: pick([1, 10, 1e15]), offset: pick([0, 3, 1e15]) })}`,
        ),
      () => json('POST', '/recall', { filter: filter(), limit: 5 }),
      () => plain('GET', '/user'),
      () => plain('GET', '/tools'),
      () => plain('GET', '/openapi.json'),
      () =>
        plain(
          'DELETE',
          `/expired-sessions${query({ before: chance(0.2) ? instant() : below(2000) })}`,
        ),
      () =>
        json('POST', `${session}/tools/conversation_search`, {
          innerThought: '',
          query: randomText(),
          page: below(3),
        }),
      () =>
        json('POST', '/tools/cross_session_search', {
          innerThought: '',
          query: randomText(),
          since: instant(),
        }),
      () => plain('OPTIONS', session),
      () => plain('HEAD', `${session}/events`),
    ])()
  }

  const badPieces = [
    '%',
    '%ff',
    '%2e%2e',
    '..',
    '//',
    '%00',
    '?',
    '#',
    '%2F',
    '*',
    ':',
    '\\',
    '%C0%AF',
    '%ED%A0%80',
    '{sessionId}',
    'undefined',
  ]
  const tamperText = (text: string): string => {
    const place = below(text.length + 1)
    switch (below(5)) {
      case 0:
        return text.slice(0, place)
      case 1:
        return text.slice(0, place) + pick(badPieces) + text.slice(place)
      case 2:
        return text.slice(0, place) + text.slice(place + 1 + below(5))
      case 3:
        return text.slice(0, place) + text.slice(below(text.length + 1))
      default:
        return text + text.slice(place)
    }
  }
  const tamperBody = (body: FuzzRequest['body']): FuzzRequest['body'] => {
    const text = typeof body === 'string' ? body : '{}'
    switch (below(8)) {
      case 0:
        return new Uint8Array(Array.from({ length: below(200) }, () => below(256)))
      case 1:
        return anyJson()
      case 2:
        return deep(pick([257, 2000, 20_000]))
      case 3:
        return tamperText(text)
      case 4:
        // A value of another kind in a place that was right.
        return text.replace(/:("[^"]*"|\d+|null|true|false|\[\]|\{\})/, () => `:${anyJson()}`)
      case 5:
        return text.replace(
          '{',
          () =>
            `{${JSON.stringify(pick(['__proto__', 'id', 'userId', 'now', 'events', '']))}:${anyJson()},`,
        )
      case 6: {
        const bytes = new TextEncoder().encode(text)
        if (bytes.length > 0) bytes[below(bytes.length)] = below(256)
        return bytes
      }
      default:
        return null
    }
  }
  const tamperHeaders = (headers: FuzzRequest['headers']): FuzzRequest['headers'] => ({
    ...headers,
    ...pick<Record<string, string>>([
      {
        'content-type': pick([
          'text/plain',
          'application/json; charset=latin1',
          '',
          'a/b',
          'application/json, x',
        ]),
      },
      { 'content-encoding': pick(['gzip', 'br', 'identity', 'x']) },
      { 'content-length': pick(['0', '-1', 'abc', '99999999999', '5']) },
      { accept: pick(['*/*', 'text/html', 'application/x-ndjson', '', 'application/json;q=0']) },
      {
        authorization: pick([
          '',
          'Bearer',
          'Basic YTpi',
          'Bearer %ff',
          `Bearer ${'x'.repeat(3000)}`,
        ]),
      },
      { 'idempotency-key': pick(['', ' ', 'key', 'x'.repeat(600)]) },
      { 'last-event-id': pick(['0', '-1', 'abc', '99999999999999999999']) },
      { origin: pick(['null', 'https://evil.example', '']) },
      { 'x-request-id': pick(['a b', 'x'.repeat(100), 'ok']) },
      { prefer: pick(['return=minimal', 'return=minimal, wait=10', 'nonsense']) },
      { 'x-user-id': 'bo', 'x-forwarded-for': '127.0.0.1', host: 'localhost' },
    ]),
  })

  return (): FuzzRequest => {
    let request = wellFormed()
    // Most requests are tampered with in one or two ways; some arrive as they are, so that there is data.
    for (let count = pick([0, 0, 1, 1, 2]); count > 0; count--) {
      switch (below(6)) {
        case 0:
          request = {
            ...request,
            method: pick([
              'GET',
              'POST',
              'PUT',
              'PATCH',
              'DELETE',
              'HEAD',
              'OPTIONS',
              'PURGE',
              'get',
            ]),
          }
          break
        case 1:
          request = { ...request, path: `/${tamperText(request.path.slice(1))}` }
          break
        case 2: {
          const mark = request.path.includes('?') ? '&' : '?'
          const name = pick([
            'lastN',
            'page',
            'from',
            'keywords',
            'messageTypes',
            'cursor',
            'limit',
            'x',
            '__proto__',
            '',
            'after',
          ])
          request = {
            ...request,
            path: `${request.path}${mark}${name}${pick(['=', ''])}${pick(['', '1', '-1', '%ff', 'true', ...badPieces])}`,
          }
          break
        }
        case 3:
          request = { ...request, headers: tamperHeaders(request.headers) }
          break
        default:
          request = { ...request, body: tamperBody(request.body) }
      }
    }
    const bodiless = ['GET', 'HEAD', 'OPTIONS', 'get'].includes(request.method)
    return bodiless ? { ...request, body: null } : request
  }
}
