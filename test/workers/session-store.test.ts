// The Durable Object class: its alarm, what deletion leaves, and its calls over real stubs.
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { EventFilter, type SessionService } from 'turnlog'
import {
  createSqlRepository,
  durableObjectRepository,
  durableObjectSessions,
  SessionStore,
} from 'turnlog/worker'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { evict } from './evict.ts'

const HOUR = 3_600_000
/** A long time ago for the object, whose alarm goes by the real clock. */
const PAST = Date.UTC(2020, 0, 1)

class ExtendedStore extends SessionStore<Cloudflare.Env> {
  count(): number {
    return 1
  }
}

let users = 0
function newUser(): {
  readonly userId: string
  readonly stub: DurableObjectStub<SessionStore>
  readonly sessions: SessionService
  /** Sessions at a time of one's own. */
  at(now: number): SessionService
} {
  const userId = `user-${users++}`
  const stub = env.SESSIONS.get(env.SESSIONS.idFromName(`user:${userId}`))
  const at = (now: number) => durableObjectSessions(env.SESSIONS, userId, { now: () => now })
  return { userId, stub, sessions: durableObjectSessions(env.SESSIONS, userId), at }
}

const say = (id: string, content = id) => ({ id, message: { role: 'user', content } as const })

const alarmOf = (stub: DurableObjectStub<SessionStore>): Promise<number | null> =>
  runInDurableObject(stub, (_object, { storage }) => storage.getAlarm())

/** The rows of all tables that the object's data is in, by table. */
function rowsOf(stub: DurableObjectStub<SessionStore>): Promise<Record<string, string>> {
  return runInDurableObject(stub, (_object, { storage: { sql } }) => {
    const tables = sql
      .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .toArray()
      .filter(({ name }) => name !== 'turnlog_schema' && !name.startsWith('_cf_'))
    return Object.fromEntries(
      tables.map(({ name }) => [
        name,
        JSON.stringify(sql.exec(`SELECT * FROM "${name}"`).toArray()),
      ]),
    )
  })
}

/** That no table has a row, but for SQLite's own of which numbers were used: none is used again. */
async function expectNoRows(stub: DurableObjectStub<SessionStore>): Promise<void> {
  const tables = Object.entries(await rowsOf(stub))
  expect(tables.length).toBeGreaterThan(4)
  const filled = tables.filter(([name, rows]) => name !== 'sqlite_sequence' && rows !== '[]')
  expect(filled).toEqual([])
}

describe('the alarm', () => {
  test('is set a minute after the earliest expiry, and there is none without one', async () => {
    const { stub, sessions } = newUser()
    await sessions.create({ id: 'for ever', timeToLive: null })
    expect(await alarmOf(stub)).toBeNull()

    const later = await sessions.create({ id: 'later', timeToLive: 2 * HOUR })
    expect(await alarmOf(stub)).toBe(Number(later.expiresAt) + 60_000)
    const sooner = await sessions.create({ id: 'sooner', timeToLive: HOUR })
    expect(await alarmOf(stub)).toBe(Number(sooner.expiresAt) + 60_000)
    await sessions.update('later', { expiresAt: Date.now() + HOUR / 2 })
    const expiresAt = Number((await sessions.findById('later'))?.expiresAt)
    expect(await alarmOf(stub)).toBe(expiresAt + 60_000)

    await sessions.delete('later')
    await sessions.update('sooner', { expiresAt: null })
    expect(await alarmOf(stub)).toBeNull()
  })

  test('sweeps what has expired, plans the next sweep, and may ring twice', async () => {
    const { stub, sessions, at } = newUser()
    await at(PAST).create({ id: 'expired', timeToLive: HOUR })
    await at(PAST).appendEvent('expired', say('e1', 'a text that goes'))
    const alive = await sessions.create({ id: 'alive', timeToLive: HOUR })
    await sessions.appendEvent('alive', say('e1', 'a text that stays'))
    // Not at once: a sweep that is due comes a minute from now.
    expect(await alarmOf(stub)).toBeGreaterThan(Date.now() + 30_000)
    expect(await sessions.findById('expired')).toBeNull()
    expect(JSON.stringify(await rowsOf(stub))).toContain('a text that goes')

    for (let time = 1; time <= 2; time++) {
      expect(await runDurableObjectAlarm(stub)).toBe(true)
      const rows = JSON.stringify(await rowsOf(stub))
      expect(rows).not.toContain('a text that goes')
      expect(rows).toContain('a text that stays')
      expect(await alarmOf(stub)).toBe(Number(alive.expiresAt) + 60_000)
    }
    await sessions.delete('alive')
    expect(await alarmOf(stub)).toBeNull()
    await expectNoRows(stub)
  })

  test('sweeps in portions, and leaves no alarm when no session is left', async () => {
    const { stub, at } = newUser()
    for (let number = 0; number < 250; number++) {
      await at(PAST).create({ id: `s${number}`, timeToLive: HOUR })
    }
    const counts: number[] = []
    while (await runDurableObjectAlarm(stub)) {
      const { turnlog_sessions = '' } = await rowsOf(stub)
      counts.push((JSON.parse(turnlog_sessions) as unknown[]).length)
    }
    // An alarm that goes on at once may ring by itself before this test rings it.
    expect(counts.at(-1)).toBe(0)
    expect(await alarmOf(stub)).toBeNull()
    await expectNoRows(stub)
  })

  test('follows a sliding lifetime without being set by every append', async () => {
    const { stub, sessions, at } = newUser()
    const start = Date.now()
    await at(start).create({ id: 's', timeToLive: { sliding: HOUR } })
    const first = await alarmOf(stub)
    expect(first).toBe(start + HOUR + 60_000)
    await at(start + HOUR / 2).appendEvent('s', say('e1'))
    expect(await alarmOf(stub)).toBe(first)

    // It rings when the session would have expired; here, by hand, before.
    await runInDurableObject(stub, (_object, { storage: { sql } }) => {
      sql.exec('UPDATE turnlog_sessions SET sweep_at = ?', start - 1)
    })
    await runDurableObjectAlarm(stub)
    expect(await alarmOf(stub)).toBe(start + 1.5 * HOUR + 60_000)
    expect((await sessions.findById('s'))?.eventCount).toBe(1)

    // A clock that goes back brings the expiry forward.
    await at(start - HOUR / 2).appendEvent('s', say('e2'))
    expect(await alarmOf(stub)).toBe(start + HOUR / 2 + 60_000)
  })

  test('is set again when it was lost', async () => {
    const { stub, sessions } = newUser()
    const { expiresAt } = await sessions.create({ id: 's', timeToLive: HOUR })
    await runInDurableObject(stub, (_object, { storage }) => storage.deleteAlarm())
    await evict(stub)
    await sessions.appendEvent('s', say('e1'))
    expect(await alarmOf(stub)).toBe(Number(expiresAt) + 60_000)
  })
})

test('an alarm that is set already is left alone, by a new instance too', async () => {
  const { stub, sessions, at } = newUser()
  await at(PAST).create({ id: 'expired', timeToLive: HOUR })
  await sessions.create({ id: 's', timeToLive: null })
  const alarm = await alarmOf(stub)
  expect(alarm).not.toBeNull()
  // A sweep that is due moved a minute away with every change would never come.
  for (let index = 0; index < 3; index++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    await evict(stub)
    await sessions.appendEvent('s', say(`e${index}`))
    expect(await alarmOf(stub)).toBe(alarm)
  }
})

describe('deletion leaves no row', () => {
  const secret = 'a very secret text'
  async function fill(sessions: SessionService, id: string, timeToLive: number | null = null) {
    await sessions.create({ id, metadata: { note: secret }, timeToLive })
    await sessions.appendEvents(id, [
      say('e1', secret),
      say('e2', secret.repeat(200_000)),
      say('e3', 'and so on'),
    ])
    await sessions.clearView(id)
    await sessions.appendEvent(id, say('e4', secret))
  }

  test('of a session', async () => {
    const { stub, sessions } = newUser()
    await fill(sessions, 's')
    expect(JSON.stringify(await rowsOf(stub))).toContain(secret)
    expect(await sessions.delete('s')).toBe(true)
    await expectNoRows(stub)
    expect(await sessions.delete('s')).toBe(false)
  })

  test('of a user', async () => {
    const { userId, stub, sessions } = newUser()
    await fill(sessions, 'one')
    await fill(sessions, 'two', HOUR)
    expect(await sessions.deleteUser(userId)).toBe(2)
    await expectNoRows(stub)
    expect(await alarmOf(stub)).toBeNull()
  })

  test('of an expired session, by call or when its id is taken again', async () => {
    const { stub, sessions, at } = newUser()
    await fill(at(PAST), 'one', HOUR)
    await fill(at(PAST), 'two', HOUR)
    await sessions.create({ id: 'one', timeToLive: null })
    expect(await sessions.getEvents('one')).toEqual([])
    expect(await sessions.deleteExpiredSessions()).toBe(1)
    expect(JSON.stringify(await rowsOf(stub))).not.toContain(secret)
    expect(await alarmOf(stub)).toBeNull()
  })

  test('an erased event leaves its place only, whatever its size', async () => {
    const { stub, sessions } = newUser()
    await fill(sessions, 's')
    await sessions.update('s', { metadata: { note: null } })
    for (const id of ['e1', 'e2', 'e4']) await sessions.eraseEvent('s', id)
    const rows = await rowsOf(stub)
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(rows['turnlog_event_parts']).toBe('[]')
    expect((await sessions.getEvents('s')).map(({ id, seq }) => [id, seq])).toEqual([
      ['e1', 1],
      ['e2', 2],
      ['e3', 3],
      ['e4', 4],
    ])
  })
})

describe('calls over a stub', () => {
  test('a session of 40 MB is read whole, page by page', async () => {
    const { stub, sessions } = newUser()
    await sessions.create({ id: 's' })
    // Two bytes a character in RPC, which stops at 32 MiB; three in the database.
    const content = (index: number) => `${index} ${'中'.repeat(2_000_000)}`
    for (let index = 0; index < 11; index++) {
      await sessions.appendEvent('s', say(`e${index}`, content(index)))
    }
    const events = await sessions.getEvents('s')
    expect(events).toHaveLength(11)
    expect(events.every(({ message }, index) => message.content === content(index))).toBe(true)
    let count = 0
    for await (const event of sessions.iterateEvents('s', EventFilter.lastN(9))) {
      expect(event.id).toBe(`e${2 + count++}`)
    }
    expect(count).toBe(9)
    await evict(stub)
    expect((await sessions.getEvents('s', EventFilter.lastN(1)))[0]?.id).toBe('e10')
  })

  test('a batch of 24 MiB whose strings take two bytes a character goes through, and again', async () => {
    const { sessions } = newUser()
    await sessions.create({ id: 's' })
    // One character above U+00FF makes every character of a string take two bytes in RPC: 48 MiB.
    const text = (index: number) => `${index} 中 ${'a'.repeat((8 << 20) - 200)}`
    const batch = [0, 1, 2].map((index) => say(`e${index}`, text(index)))
    const stored = await sessions.appendEvents('s', batch)
    const repeated = await sessions.appendEvents('s', batch)
    expect(repeated.map(({ seq }) => seq)).toEqual([1, 2, 3])
    for (const events of [stored, repeated, await sessions.getEvents('s')]) {
      expect(
        events.map(({ message }) => message.content === text(Number(message.content[0]))),
      ).toEqual([true, true, true])
    }
  })

  test('a batch of 60,000 small events goes through in one call', async () => {
    const { sessions } = newUser()
    await sessions.create({ id: 's' })
    const batch = Array.from({ length: 60_000 }, (_, index) =>
      say(`event-${index}`, `text ${index}`),
    )
    const stored = await sessions.appendEvents('s', batch)
    expect(stored.map(({ seq }) => seq)).toEqual(batch.map((_, index) => index + 1))
    expect((await sessions.getEvents('s')).map(({ id }) => id)).toEqual(batch.map(({ id }) => id))
  })

  test('a repeated id gives what is stored, not what was sent', async () => {
    const { sessions } = newUser()
    await sessions.create({ id: 's' })
    const first = await sessions.appendEvent('s', {
      ...say('e1', 'the first text'),
      timestamp: PAST,
      branch: 'a.b',
    })
    const large = await sessions.appendEvent('s', say('large', 'x'.repeat(3e6)))
    expect(await sessions.appendEvent('s', say('e1', 'another text'))).toEqual(first)
    const [again, added, twice] = await sessions.appendEvents('s', [
      say('large', 'another'),
      say('e3', 'the third'),
      say('e3', 'not the third'),
    ])
    expect(again).toEqual(large)
    expect([added?.seq, twice?.seq]).toEqual([3, 3])
    expect(twice?.message.content).toBe('the third')
  })

  test('a repeated operation stores none of the events that come with it, and returns none', async () => {
    const { stub, sessions } = newUser()
    const repository = durableObjectRepository(() => stub)
    await sessions.create({ id: 's' })
    await sessions.appendEvent('s', say('e1'))
    const event = { id: 'new', timestamp: 1, role: 'user' as const, branch: null, synthetic: false }
    const commit = (...events: readonly string[]) =>
      repository.commit('s', {
        now: Date.now(),
        operationId: 'once',
        events: events.map((id) => ({ ...event, id, body: '{"message":{}}' })),
        boundary: { summaries: [], kept: [[1, 1]], through: 1, rewound: [] },
      })
    await commit()
    const repeated = await commit('new', 'e1', 'newer')
    expect(repeated.events.map(({ id, seq }) => [id, seq])).toEqual([['e1', 1]])
    expect(repeated.events[0]?.body).toContain('"content":"e1"')
    expect(repeated.session.lastSeq).toBe(1)
  })

  test('a text that begins with U+FEFF keeps it', async () => {
    const { sessions } = newUser()
    const id = '\uFEFFid'
    await sessions.create({ id })
    await sessions.appendEvent(id, { ...say(id, '\uFEFFtext'), branch: '\uFEFFbranch' })
    const [event] = await sessions.getEvents(id)
    expect([event?.id, event?.branch, event?.message.content]).toEqual([
      id,
      '\uFEFFbranch',
      '\uFEFFtext',
    ])
  })

  test('long lists of sessions with large metadata come in pages', async () => {
    const { sessions } = newUser()
    const note = '中'.repeat(80_000)
    // 40 MB in all: RPC stops at 32 MiB.
    for (let number = 0; number < 250; number++) {
      await sessions.create({ id: `s${number}`, metadata: { note, number } })
    }
    const { sessions: listed, cursor } = await sessions.listSessions({
      order: 'created',
      limit: 300,
    })
    expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, n) => `s${n}`))
    expect(listed.every(({ metadata }) => metadata['note'] === note)).toBe(true)
    expect(cursor).toBeNull()
  })

  test('errors are data, and a failing call harms no other', async () => {
    const { stub, sessions } = newUser()
    const answer = await stub.readEvents('nowhere', { now: 0, filter: EventFilter.all().toJSON() })
    expect(answer).toMatchObject({ ok: false, error: { code: 'SESSION_NOT_FOUND' } })
    await expect(sessions.getEvents('nowhere')).rejects.toMatchObject({
      name: 'SessionError',
      code: 'SESSION_NOT_FOUND',
      details: { sessionId: 'nowhere' },
    })
    await sessions.create({ id: 's' })
    await expect(sessions.create({ id: 's' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(
      sessions.appendEvents('s', [say('e1')], { expectedVersion: 7 }),
    ).rejects.toMatchObject({ code: 'VERSION_CONFLICT', details: { expected: 7, actual: 0 } })
    await expect(sessions.appendEvent('s', say('e1', 'x'.repeat(9e6)))).rejects.toMatchObject({
      code: 'EVENT_TOO_LARGE',
    })
    expect((await sessions.appendEvent('s', say('e2'))).seq).toBe(1)
  })

  test('the types of a stub are those of the calls, neither any nor never', async () => {
    const { stub } = newUser()
    const found = await stub.findSession('s', { now: 0 })
    expectTypeOf(found).not.toBeAny()
    expectTypeOf(found).not.toBeNever()
    if (found.ok) {
      expectTypeOf(found.value).not.toBeAny()
      expectTypeOf<NonNullable<typeof found.value>['userId']>().toEqualTypeOf<string>()
    } else {
      expectTypeOf(found.error.message).toEqualTypeOf<string>()
      expectTypeOf(found.error.code).toExtend<string>()
      expectTypeOf(found.error.code).not.toBeAny()
    }
    const read = await stub.readEvents('s', { now: 0, filter: EventFilter.all().toJSON() })
    if (read.ok) {
      expectTypeOf<(typeof read.value.events)[number]['body']>().toEqualTypeOf<string>()
      expectTypeOf<(typeof read.value.events)[number]['seq']>().toEqualTypeOf<number>()
    }
    type Calls = Omit<SessionStore, keyof DurableObject | 'env' | 'ctx'>
    expectTypeOf<
      { [K in keyof Calls]: ReturnType<DurableObjectStub<SessionStore>[K]> }[keyof Calls]
    >().not.toBeNever()
    expectTypeOf(durableObjectSessions(env.SESSIONS, 'u')).toEqualTypeOf<SessionService>()
    // A class of one's own over it, with further methods.
    type Namespace = Parameters<typeof durableObjectSessions>[0]
    expectTypeOf<DurableObjectNamespace<ExtendedStore>>().toExtend<Namespace>()
    expectTypeOf(durableObjectRepository)
      .parameter(0)
      .returns.extract<DurableObjectStub<SessionStore>>()
      .not.toBeNever()
  })
})

describe('bad arguments', () => {
  const bad = (value: unknown) => value as never
  const getStub = () => env.SESSIONS.getByName('never called')

  test.for<[field: string, call: () => unknown]>([
    // A binding under another name than the code's.
    ['namespace', () => durableObjectSessions(bad(undefined), 'ana')],
    ['namespace', () => durableObjectSessions(bad({}), 'ana')],
    ['userId', () => durableObjectSessions(env.SESSIONS, '  ')],
    ['userId', () => durableObjectSessions(env.SESSIONS, bad(undefined))],
    ['options', () => durableObjectSessions(env.SESSIONS, 'ana', bad('for ever'))],
    ['timeToLive', () => durableObjectSessions(env.SESSIONS, 'ana', { timeToLive: Number.NaN })],
    ['getStub', () => durableObjectRepository(bad(null))],
    ['options', () => durableObjectRepository(getStub, bad(5))],
    // With these there would be no end of tries.
    ['attempts', () => durableObjectRepository(getStub, { attempts: Number.NaN })],
    ['attempts', () => durableObjectRepository(getStub, { attempts: 0 })],
    ['delay', () => durableObjectRepository(getStub, { delay: -1 })],
    ['database', () => createSqlRepository(bad(undefined))],
    ['database', () => createSqlRepository(bad({ sql: {} }))],
  ])('%s', ([field, call]) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { field } }))
  })
})

describe('users', () => {
  test('each has an object of their own, whatever their ids look like', async () => {
    const ids = [
      '5',
      '5.0',
      ' 5',
      'user:5',
      'ä',
      'a\u0308',
      '中'.repeat(512),
      'a\0b',
      'a',
      '🏷',
      '\uFFFF',
    ]
    for (const id of ids) {
      await durableObjectSessions(env.SESSIONS, id).create({ id: 's', metadata: { id } })
    }
    for (const id of ids) {
      const session = await durableObjectSessions(env.SESSIONS, id).findById('s')
      expect(session).toMatchObject({ userId: id, metadata: { id } })
    }
  })
})
