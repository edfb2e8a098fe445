// What others report of agent history in Durable Object SQLite, each with the right behaviour. The
// contract of a store holds many more; these are the ones that only this store could get wrong.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter, type MessageType, type SessionService } from 'turnlog'
import { durableObjectRepository, durableObjectSessions } from 'turnlog/worker'
import { expect, test } from 'vitest'

let users = 0
async function newSession(): Promise<{
  readonly sessions: SessionService
  readonly stub: DurableObjectStub
}> {
  const userId = `reports-${users++}`
  const sessions = durableObjectSessions(env.SESSIONS, userId)
  await sessions.create({ id: 's' })
  return { sessions, stub: env.SESSIONS.get(env.SESSIONS.idFromName(`user:${userId}`)) }
}

const say = (id: string, content = id) => ({ id, message: { role: 'user', content } as const })
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => say(`e${index + 1}`))
const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

test('booleans are booleans: bound as they are, false would be a text that is true', async () => {
  const { sessions, stub } = await newSession()
  await sessions.appendEvents('s', [
    say('archived'),
    { ...say('summary'), synthetic: true },
    { ...say('real'), synthetic: false },
  ])
  await durableObjectRepository(() => stub as never).commit('s', {
    now: Date.now(),
    events: [],
    boundary: { summaries: [], kept: [[2, 3]], through: 3, rewound: [] },
  })
  const flags = (await sessions.getEvents('s')).map(({ synthetic, archived, rewound }) => [
    synthetic,
    archived,
    rewound,
  ])
  expect(flags).toEqual([
    [false, true, false],
    [true, false, false],
    [false, false, false],
  ])
  const ids = async (filter: EventFilter) => idsOf(await sessions.getEvents('s', filter))
  expect(await ids(EventFilter.active())).toEqual(['summary', 'real'])
  expect(await ids(EventFilter.realOnly())).toEqual(['archived', 'real'])
  await runInDurableObject(stub, (_object, { storage: { sql } }) => {
    const types = sql.exec('SELECT DISTINCT typeof(synthetic) AS type FROM turnlog_events')
    expect(types.toArray()).toEqual([{ type: 'integer' }])
    expect(() => sql.exec(`UPDATE turnlog_events SET synthetic = 'false'`)).toThrow(
      /cannot store TEXT/,
    )
  })
})

test('what looks like a number stays a string: bound as one, 5 would come back as 5.0', async () => {
  const { sessions } = await newSession()
  for (const id of ['5', '5.0', '05', '1e3', '0x10', ' 5', 'NaN', 'null', 'true']) {
    await sessions.create({ id, metadata: { id } })
    await sessions.appendEvent(id, { ...say(id), branch: id })
    const [event] = await sessions.getEvents(id)
    expect([event?.id, event?.branch, event?.sessionId]).toEqual([id, id, id])
    expect((await sessions.findById(id))?.metadata).toEqual({ id })
    expect((await sessions.appendEvent(id, say(id))).seq).toBe(1)
  }
  // A JavaScript caller's number is refused, not converted.
  await expect(sessions.findById(5 as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  const at = Date.UTC(2026, 2, 4, 5, 6, 7, 8)
  for (const [index, timestamp] of [at, new Date(at), '2026-03-04T06:06:07.008+01:00'].entries()) {
    const event = await sessions.appendEvent('s', { ...say(`t${index}`), timestamp })
    expect(Number(event.timestamp)).toBe(at)
  }
  const stored = await sessions.getEvents('s', { from: at, to: at })
  expect(idsOf(stored)).toEqual(['t0', 't1', 't2'])
  for (const lastN of [2.5, Number.NaN, 0, -1, '5']) {
    await expect(sessions.getEvents('s', { lastN: lastN as number })).rejects.toMatchObject({
      code: 'INVALID_FILTER',
    })
  }
})

test('a row stops at 2 MB, whatever it is made of and wherever it is cut', async () => {
  const { sessions, stub } = await newSession()
  const id = '中'.repeat(512)
  const before = JSON.stringify({ message: { role: 'user', content: '' } }).indexOf('""') + 1
  const contents = [
    'a'.repeat(3e6),
    '中'.repeat(1e6),
    // The edges of inline bodies and of parts, with characters of four bytes at every place on them.
    ...[64 << 10, 1536 << 10, 2 * (1536 << 10)].flatMap((edge) =>
      Array.from({ length: 14 }, (_, shift) => `${'a'.repeat(edge - before - shift)}🏷🏷🏷`),
    ),
    // The most that the row of an event holds inline, beside the longest id and branch.
    '中'.repeat(21_000),
  ]
  await sessions.create({ id })
  for (const [index, content] of contents.entries()) {
    await sessions.appendEvent(id, {
      ...say(`${index}${id}`.slice(0, 512), content),
      branch: '中'.repeat(4096),
    })
  }
  await sessions.appendEvent(id, {
    id: 'two parts',
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'x'.repeat(15e5) },
        { type: 'text', text: 'y'.repeat(15e5) },
      ],
    } as never,
  })
  const events = await sessions.getEvents(id)
  expect(events).toHaveLength(contents.length + 1)
  for (const [index, content] of contents.entries()) {
    expect(events[index]?.message.content === content, `content ${index}`).toBe(true)
  }
  const largest = await runInDurableObject(stub, (_object, { storage: { sql } }) => {
    const sizes = sql.exec<{ events: number; parts: number }>(
      `SELECT (SELECT max(octet_length(id) + octet_length(branch) + octet_length(body))
        FROM turnlog_events) AS events,
        (SELECT max(octet_length(body)) FROM turnlog_event_parts) AS parts`,
    )
    return sizes.one()
  })
  expect(largest.events).toBeLessThan(100_000)
  expect(largest.parts).toBeGreaterThan(1.5e6)
  expect(largest.parts).toBeLessThan(1.6e6)

  await expect(sessions.appendEvent(id, say('9 MB', 'a'.repeat(9e6)))).rejects.toMatchObject({
    code: 'EVENT_TOO_LARGE',
    details: { limit: 8 << 20 },
  })
  expect((await sessions.appendEvent(id, say('small'))).seq).toBe(contents.length + 2)
})

test('a statement takes 100 values; no list of ids, keywords or types meets that', async () => {
  const { sessions } = await newSession()
  for (const count of [101, 1000]) {
    expect(await sessions.appendEvents('s', numbered(count))).toHaveLength(count)
  }
  // A sync that repeats 500 ids in the middle of new ones.
  const mixed = Array.from({ length: 1000 }, (_, index) => say(`e${index + 501}`))
  const stored = await sessions.appendEvents('s', mixed)
  expect(stored.map(({ seq }) => seq)).toEqual(mixed.map((_, index) => index + 501))
  const keywords = Array.from({ length: 120 }, (_, index) => `e${index * 10}`)
  const messageTypes = Array.from({ length: 200 }, (): MessageType => 'user')
  const log = await sessions.getEvents('s')
  for (const options of [{ keywords }, { keywords, messageTypes }, { messageTypes }]) {
    const filter = EventFilter.of(options)
    expect(idsOf(await sessions.getEvents('s', filter))).toEqual(idsOf(filter.apply(log)))
  }
  // All or none: one bad event at the end of a long batch.
  const broken = [...Array.from({ length: 300 }, (_, index) => say(`n${index}`)), { id: 'bad' }]
  await expect(sessions.appendEvents('s', broken as never)).rejects.toMatchObject({
    code: 'INVALID_EVENT',
  })
  expect((await sessions.findById('s'))?.eventCount).toBe(1500)
})

test('patterns stop at 50 bytes; long keywords and branches are none', async () => {
  const { sessions } = await newSession()
  const words = [
    'a'.repeat(49),
    '中'.repeat(17),
    '🏷'.repeat(13),
    'x'.repeat(5000),
    '100%',
    'user_id',
  ]
  const branch = `root.${'b_%'.repeat(20)}`
  await sessions.appendEvents('s', [
    ...words.map((word, index) => say(`e${index}`, `before ${word} after`)),
    { ...say('on the branch'), branch },
    { ...say('beside it'), branch: branch.replaceAll('_', 'x') },
    say('100 percent'),
    say('userXid'),
  ])
  for (const [index, word] of words.entries()) {
    expect(idsOf(await sessions.getEvents('s', { keyword: word }))).toEqual([`e${index}`])
  }
  const visible = idsOf(await sessions.getEvents('s', { branch: `${branch}.x` }))
  expect(visible).toContain('on the branch')
  expect(visible).not.toContain('beside it')
})

test('a lone surrogate in a row that others wrote does not come out', async () => {
  const { sessions, stub } = await newSession()
  await sessions.appendEvents('s', numbered(2))
  await runInDurableObject(stub, (_object, { storage: { sql } }) => {
    sql.exec(
      `UPDATE turnlog_events SET body = ? WHERE seq = 1`,
      String.raw`{"message":{"role":"user","content":"cut \ud83c"},"metadata":{"note":"\udff7"}}`,
    )
  })
  const [event] = await sessions.getEvents('s')
  // Compared here: the test runner cannot report a lone surrogate.
  expect(event?.message.content === 'cut \uFFFD').toBe(true)
  expect(event?.metadata['note'] === '\uFFFD').toBe(true)
  expect(idsOf(await sessions.getEvents('s', { keyword: 'CUT' }))).toEqual(['e1'])
})

test('all pages together are the log, each event once; past the end there is nothing', async () => {
  const { sessions } = await newSession()
  await sessions.appendEvents('s', numbered(60))
  for (const filter of [{}, { keyword: 'e' }, { excludeArchived: true }]) {
    const pages: string[] = []
    for (let page = 0; page < 3; page++) {
      pages.push(...idsOf(await sessions.getEvents('s', { ...filter, page, pageSize: 20 })))
    }
    expect(pages).toEqual(idsOf(numbered(60)))
    expect(await sessions.getEvents('s', { ...filter, page: 3, pageSize: 20 })).toEqual([])
  }
})

test('many at once: seq has no gaps, one creation wins, a deleted session is not made again', async () => {
  const { sessions } = await newSession()
  const appended = await Promise.all(numbered(50).map((event) => sessions.appendEvent('s', event)))
  expect(appended.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 50 }, (_, index) => index + 1),
  )
  const created = await Promise.allSettled([1, 2].map(() => sessions.create({ id: 'twice' })))
  expect(created.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const results = await Promise.allSettled([
    sessions.delete('s'),
    ...numbered(5).map((event) => sessions.appendEvent('s', event)),
  ])
  expect(results[0]).toEqual({ status: 'fulfilled', value: true })
  await expect(sessions.appendEvent('s', say('later'))).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  expect(await sessions.findById('s')).toBeNull()
})
