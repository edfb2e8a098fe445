// The query of a read: every field with one, two, no, empty and repeated values gives the right events,
// or a 400 that names the parameter.
import fc from 'fast-check'
import { EventFilter, type EventFilterOptions, type SessionEvent } from 'turnlog'
import { beforeAll, expect, test } from 'vitest'
import { type TestApi, testApi } from '../../support/session-api.ts'

const start = Date.parse('2026-03-02T08:00:00Z')
const roles = ['user', 'assistant', 'system', 'tool'] as const

let api: TestApi
let log: readonly SessionEvent[]
beforeAll(async () => {
  api = testApi()
  const service = api.serviceOf('ana')
  await service.create({ id: 's' })
  await service.appendEvents(
    's',
    Array.from({ length: 24 }, (_, index) => ({
      id: `e${index + 1}`,
      message: { role: roles[index % 4] ?? 'user', content: `word ${index + 1}, a+b & c=d` },
      timestamp: start + index * 60_000,
      branch: [null, 'a', 'a.b', ''][index % 4] ?? null,
      synthetic: index % 5 === 4,
    })),
  )
  await service.rewind('s', { after: 'e20' })
  log = await service.getEvents('s')
})

async function read(query: string) {
  const { status, json } = await api.request('GET', `/sessions/s/events${query}`)
  return { status, ids: json.events?.map((event: { id: string }) => event.id), problem: json }
}

const expected = (options: EventFilterOptions) => {
  const filter = EventFilter.of(options)
  const list = filter.excludeArchived
    ? log.filter(({ archived, rewound }) => !archived && !rewound)
    : log
  return filter.apply(list).map(({ id }) => id)
}

const good: readonly (readonly [query: string, same: EventFilterOptions])[] = [
  ['', {}],
  ['?', {}],
  ['?&&', {}],
  ['?messageTypes=user', { messageTypes: ['user'] }],
  ['?messageTypes=user&messageTypes=tool', { messageTypes: ['user', 'tool'] }],
  ['?messageTypes=user,tool', { messageTypes: ['user', 'tool'] }],
  ['?messageTypes=user,%20tool&messageTypes=system', { messageTypes: ['user', 'tool', 'system'] }],
  ['?messageTypes=', {}],
  ['?messageTypes', {}],
  ['?messageTypes=,', {}],
  [
    `?${Array.from({ length: 200 }, () => 'messageTypes=user').join('&')}`,
    { messageTypes: ['user'] },
  ],
  ['?keywords=word%201', { keywords: ['word 1'] }],
  ['?keywords=2&keywords=3', { keywords: ['2', '3'] }],
  ['?keywords=2&keywords=1&matchMode=all', { keywords: ['2', '1'], matchMode: 'all' }],
  ['?keywords=1,%20a', { keywords: ['1, a'] }],
  ['?keywords=', {}],
  ['?keywords=&keywords=+', {}],
  ['?keywords=&keywords=7', { keywords: ['7'] }],
  ['?keyword=WORD', { keyword: 'word' }],
  ['?keyword=word+1', { keyword: 'word 1' }],
  ['?keyword=a%2Bb%20%26%20c%3Dd', { keyword: 'a+b & c=d' }],
  ['?keyword=c=d', { keyword: 'c=d' }],
  ['?keyword=', {}],
  ['?keyword=%20', {}],
  ['?keyword=%25', { keyword: '%' }],
  ['?excludeSynthetic=true', { excludeSynthetic: true }],
  ['?excludeSynthetic=1', { excludeSynthetic: true }],
  ['?excludeSynthetic=false', {}],
  ['?excludeSynthetic=0', {}],
  ['?excludeArchived=true', { excludeArchived: true }],
  ['?excludeArchived=0', {}],
  ['?excludeRewound=true', { excludeRewound: true }],
  ['?excludeRewound=false', {}],
  ['?lastN=3', { lastN: 3 }],
  ['?lastN=003', { lastN: 3 }],
  ['?pageSize=5', { pageSize: 5 }],
  ['?page=1&pageSize=5', { page: 1, pageSize: 5 }],
  ['?page=99&pageSize=5', { page: 99, pageSize: 5 }],
  ['?branch=a.b', { branch: 'a.b' }],
  ['?branch=', { branch: '' }],
  ['?branch=a%2Eb', { branch: 'a.b' }],
  ['?from=2026-03-02T08:05:00Z', { from: start + 300_000 }],
  ['?from=2026-03-02T10:05:00%2B02:00', { from: start + 300_000 }],
  ['?from=2026-03-02T10:05:00+02:00', { from: start + 300_000 }],
  ['?from=2026-03-02T03:05:00-05:00', { from: start + 300_000 }],
  ['?from=2026-03-02t08:05:00.000z', { from: start + 300_000 }],
  [`?from=${start + 300_000}`, { from: start + 300_000 }],
  ['?from=0', { from: 0 }],
  ['?from=-1', { from: -1 }],
  ['?from=+010000-01-01T00:00:00Z', { from: '+010000-01-01T00:00:00Z' }],
  ['?to=%2B010000-01-01T00:00:00%2B01:00', { to: '+010000-01-01T00:00:00+01:00' }],
  ['?to=2026-03-02T08:05:00Z', { to: start + 300_000 }],
  [
    '?from=2026-03-02T08:05:00Z&to=2026-03-02T08:05:00Z',
    { from: start + 300_000, to: start + 300_000 },
  ],
  ['?from=2026-03-02T08:06:00Z&to=2026-03-02T08:05:00Z', { from: 2, to: 1 }],
  [
    '?messageTypes=user&keyword=word&excludeRewound=1&lastN=2&branch=a&from=0',
    {
      messageTypes: ['user'],
      keyword: 'word',
      excludeRewound: true,
      lastN: 2,
      branch: 'a',
      from: 0,
    },
  ],
]
test.each(good)('%s', async (query, same) => {
  const { status, ids } = await read(query)
  expect(status).toBe(200)
  expect(ids).toEqual(expected(same))
})

const scalars = [
  'from',
  'to',
  'excludeSynthetic',
  'excludeArchived',
  'excludeRewound',
  'lastN',
  'keyword',
  'matchMode',
  'page',
  'pageSize',
  'branch',
  'after',
  'cursor',
  'format',
]
const bad: readonly (readonly [query: string, named: string])[] = [
  ...scalars.map((name) => [`?${name}=1&${name}=1`, name] as const),
  ...['from', 'to', 'lastN', 'page', 'pageSize', 'after', 'cursor', 'format', 'matchMode'].flatMap(
    (name) => [[`?${name}=`, name] as const, [`?${name}`, name] as const],
  ),
  ...['excludeSynthetic', 'excludeArchived', 'excludeRewound'].flatMap((name) =>
    ['', 'yes', 'TRUE', 'null', '2', 'false,true'].map(
      (value) => [`?${name}=${value}`, name] as const,
    ),
  ),
  ...['lastN', 'pageSize'].flatMap((name) =>
    ['0', '-1', '2.5', '1e3', '+5', '%205', 'NaN', 'five', '99999999999999999999', '5;', '0x5'].map(
      (value) => [`?${name}=${value}`, name] as const,
    ),
  ),
  ['?page=-1&pageSize=5', 'page'],
  ['?page=0', 'page'],
  ['?lastN=5&pageSize=5', 'lastN'],
  ['?messageTypes=USER', 'messageTypes'],
  ['?messageTypes=user,robot', 'messageTypes'],
  ['?messageTypes[]=user', 'messageTypes[]'],
  ['?matchMode=none&keywords=a', 'matchMode'],
  ['?from=2026-03-02', 'from'],
  ['?from=2026-03-02T08:00:00', 'from'],
  ['?from=2026-03-02T08:00Z', 'from'],
  ['?from=2026-02-30T08:00:00Z', 'from'],
  ['?from=yesterday', 'from'],
  ['?from=99999999999999999', 'from'],
  ['?to=8640000000000001', 'to'],
  ['?to=2026-03-02T08:00:00%2002:00%20', 'to'],
  ['?after=-1', 'after'],
  ['?after=1.5', 'after'],
  ['?format=xml', 'format'],
  ['?cursor=nonsense', 'cursor'],
  ['?keyword=%ff', 'keyword'],
  ['?keyword=%', 'keyword'],
  ['?keyword=%E4%BD', 'keyword'],
  ['?%ff=1', 'query'],
  ['?exludeSynthetic=true', 'exludeSynthetic'],
  ['?userId=bo', 'userId'],
  ['?sessionId=x', 'sessionId'],
  ['?__proto__=1', '__proto__'],
  ['?constructor=1', 'constructor'],
  ['?=1', ''],
]
test.each(bad)('%s is refused', async (query, named) => {
  const { status, problem } = await read(query)
  expect(status).toBe(400)
  expect(problem.code).toMatch(/^INVALID_(FILTER|ARGUMENT)$/)
  expect(problem.details.field.startsWith(named)).toBe(true)
  expect(problem.detail).toContain(named)
})

test('any filter reads the same in a query, in a body and in place', async () => {
  const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
  const filters = fc.record({
    from: optional(fc.integer({ min: start - 60_000, max: start + 24 * 60_000 })),
    to: optional(
      fc.date({ noInvalidDate: true, min: new Date(start), max: new Date(start + 1e7) }),
    ),
    messageTypes: optional(fc.array(fc.constantFrom(...roles))),
    excludeSynthetic: optional(fc.boolean()),
    excludeArchived: optional(fc.boolean()),
    excludeRewound: optional(fc.boolean()),
    keyword: optional(fc.oneof(fc.string(), fc.constantFrom('word', 'A+B', '1', '&', ', '))),
    keywords: optional(
      fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('2', 'D'))),
    ),
    matchMode: optional(fc.constantFrom('any' as const, 'all' as const)),
    branch: optional(fc.constantFrom('a', 'a.b', 'a.b.c', '', 'ä %')),
    pageSize: optional(fc.integer({ min: 1, max: 30 })),
  })
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries(filter)) {
        if (value === undefined) continue
        const values = Array.isArray(value) ? value : [value]
        for (const item of values) {
          query.append(
            name,
            item instanceof Date ? item.toISOString() : String(item).toWellFormed(),
          )
        }
      }
      const wanted = expected(filter)
      const { status, ids } = await read(`?${query}`)
      expect({ status, ids }).toEqual({ status: 200, ids: wanted })
      const posted = await api.request('POST', '/sessions/s/query', { body: { filter } })
      expect(posted.json.events.map((event: { id: string }) => event.id)).toEqual(wanted)
    }),
    { numRuns: 150 },
  )
})

test('bodies refuse filters that are none, by field', async () => {
  for (const [filter, field] of [
    [{ lastN: 0 }, 'lastN'],
    [{ lastN: '5' }, 'lastN'],
    [{ lastN: 1e300 }, 'lastN'],
    [{ page: 1 }, 'page'],
    [{ lastN: 1, pageSize: 1 }, 'lastN'],
    [{ messageTypes: 'user' }, 'messageTypes'],
    [{ messageTypes: ['robot'] }, 'messageTypes'],
    [{ keywords: [5] }, 'keywords'],
    [{ keyword: {} }, 'keyword'],
    [{ matchMode: 'none', keywords: ['a'] }, 'matchMode'],
    [{ excludeArchived: 'false' }, 'excludeArchived'],
    [{ from: '2026-03-02' }, 'from'],
    [{ from: {} }, 'from'],
    [{ branch: 5 }, 'branch'],
    [{ since: 5 }, 'since'],
    [[], 'filter'],
    ['user', 'filter'],
    [null, 'filter'],
  ] as const) {
    expect(
      await api.request('POST', '/sessions/s/query', { body: { filter } }),
      JSON.stringify(filter),
    ).toMatchObject({
      status: 400,
      json: { code: 'INVALID_FILTER', detail: expect.stringContaining(field) },
    })
  }
})

test('the other routes name their parameters too', async () => {
  for (const [method, path, field] of [
    ['GET', '/sessions?limit=0', 'limit'],
    ['GET', '/sessions?limit=1001', 'limit'],
    ['GET', '/sessions?limit=ten', 'limit'],
    ['GET', '/sessions?limit=1&limit=2', 'limit'],
    ['GET', '/sessions?order=newest', 'order'],
    ['GET', '/sessions?order=', 'order'],
    ['GET', '/sessions?cursor=here', 'cursor'],
    ['GET', '/sessions?after=1', 'after'],
    ['DELETE', '/expired-sessions?before=2026-01-01', 'before'],
    ['DELETE', '/expired-sessions?before=', 'before'],
    ['GET', '/sessions/s/boundaries?beforeSeq=x', 'beforeSeq'],
    ['GET', '/sessions/s/boundaries?beforeSeq=-1', 'beforeSeq'],
    ['GET', '/sessions/s/changes?after=-1', 'after'],
    ['GET', '/sessions/s/changes?events=perhaps', 'events'],
    ['GET', '/recall?offset=-1', 'offset'],
    ['GET', '/recall?limit=0', 'limit'],
    ['GET', '/recall?lastN=1', 'lastN'],
    ['GET', '/sessions/%ff', 'sessionId'],
    ['GET', '/sessions/%', 'sessionId'],
    ['GET', '/sessions/%20', 'sessionId'],
    ['GET', `/sessions/${'x'.repeat(513)}`, 'sessionId'],
    ['GET', '/sessions/s/events/%C3', 'eventId'],
    ['DELETE', '/sessions/s/events/%20', 'eventId'],
  ] as const) {
    const { status, json } = await api.request(method, path)
    expect({ path, status, field: json.details.field }).toEqual({ path, status: 400, field })
    expect(json.detail).toContain(field)
  }
})
