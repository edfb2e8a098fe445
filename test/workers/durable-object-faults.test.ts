// What the Durable Object store does when something fails or is broken.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { type DamageReport, EventFilter, type SessionService } from 'turnlog'
import { type Commit, createSessionService, type SessionRepository } from 'turnlog/store'
import { createSqlRepository, durableObjectSessions } from 'turnlog/worker'
import { describe, expect, test } from 'vitest'
import { logSource } from '../../src/stores/durable-object/event-rows.ts'
import { migrate, migrations } from '../../src/stores/durable-object/schema.ts'
import { transact } from '../../src/stores/durable-object/sql-database.ts'
import { SqlSessions } from '../../src/stores/durable-object/sql-sessions.ts'
import { evict } from './evict.ts'
import { MeteredStorage } from './metered-storage.ts'

interface Inside {
  readonly storage: MeteredStorage
  readonly repository: SessionRepository
  readonly sessions: SessionService
  readonly damage: DamageReport[]
}

let objects = 0
const inObject = (run: (inside: Inside) => Promise<void>): Promise<void> =>
  runInDurableObject(env.SESSIONS.getByName(`faults-${objects++}`), async (_object, state) => {
    const storage = new MeteredStorage(state.storage)
    const repository = createSqlRepository(storage)
    const damage: DamageReport[] = []
    const sessions = createSessionService(repository, {
      defaultUserId: 'ana',
      onDamage: (report) => damage.push(report),
    })
    await run({ storage, repository, sessions, damage })
  })

const say = (id: string, content = id) => ({ id, message: { role: 'user', content } as const })

/** All rows of all tables, as text. */
function dump({ sql }: MeteredStorage): string {
  const tables = sql
    .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
    .toArray()
    .filter(({ name }) => !name.startsWith('_cf_'))
  return JSON.stringify(
    tables.map(({ name }) => [name, sql.exec(`SELECT * FROM "${name}"`).toArray()]),
  )
}

describe('a statement that fails', () => {
  test('undoes the whole commit, whichever statement of it', async () => {
    await inObject(async ({ storage, repository, sessions }) => {
      await sessions.create({ id: 's' })
      await sessions.appendEvents('s', [say('e1'), say('e2'), say('e3')])
      const summary = (id: string) => ({
        ...say(id),
        timestamp: 1,
        role: 'user' as const,
        branch: null,
        synthetic: true,
        body: JSON.stringify({ message: { role: 'user', content: 'x'.repeat(70_000) } }),
      })
      const commit: Commit = {
        now: Date.now(),
        operationId: 'compact',
        events: [summary('question'), summary('answer')],
        boundary: { summaries: ['question', 'answer'], kept: [[3, 3]], through: 3, rewound: [] },
      }
      const before = dump(storage)
      let failing = 0
      let succeeded = false
      while (!succeeded) {
        failing++
        let statements = 0
        storage.beforeStatement = (statement) => {
          if (!/^\s*(INSERT|UPDATE|DELETE)/.test(statement)) return
          if (++statements === failing) throw new Error(`statement ${failing} failed`)
        }
        try {
          await repository.commit('s', commit)
          succeeded = true
        } catch (error) {
          expect(error).toMatchObject({
            code: 'STORAGE_FAILED',
            message: expect.stringContaining(`statement ${failing} failed`),
          })
          storage.beforeStatement = () => undefined
          expect(dump(storage), `after statement ${failing}`).toBe(before)
        }
      }
      // Two events with a part each, the boundary, the session: six statements, each failed once.
      expect(failing).toBe(7)
      expect((await sessions.getEvents('s', EventFilter.active())).map(({ id }) => id)).toEqual([
        'question',
        'answer',
        'e3',
      ])
    })
  })

  test('is a quota that is used up when SQLite says so, and later appends work', async () => {
    await inObject(async ({ storage, sessions }) => {
      await sessions.create({ id: 's' })
      storage.beforeStatement = (statement) => {
        if (statement.includes('INSERT')) throw new Error('database or disk is full: SQLITE_FULL')
      }
      await expect(sessions.appendEvent('s', say('e1'))).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
      })
      storage.beforeStatement = () => undefined
      expect(await sessions.getEvents('s')).toEqual([])
      expect((await sessions.appendEvent('s', say('e2'))).seq).toBe(1)
    })
  })

  test('a transaction with an asynchronous callback is refused, and what it wrote undone', async () => {
    await inObject(async ({ storage, sessions }) => {
      await sessions.create({ id: 's' })
      const before = dump(storage)
      const asynchronous = () =>
        transact(storage, async () => {
          storage.sql.exec('DELETE FROM turnlog_sessions')
        })
      expect(asynchronous).toThrow(/must be synchronous/)
      expect(dump(storage)).toBe(before)
    })
  })
})

describe('a record that is damaged', () => {
  const large = 'x'.repeat(4e6)

  test('a missing part of a large body: the rest is returned, and the damage reported', async () => {
    await inObject(async ({ storage, sessions, damage }) => {
      await sessions.create({ id: 's' })
      await sessions.appendEvents('s', [say('e1'), say('e2', large), say('e3')])
      storage.sql.exec('DELETE FROM turnlog_event_parts WHERE seq = 2 AND part = 1')
      const ids = async (filter?: EventFilter) =>
        (await sessions.getEvents('s', filter)).map(({ id }) => id)
      expect(await ids()).toEqual(['e1', 'e3'])
      expect(damage).toEqual([{ sessionId: 's', seq: 2, reason: 'a part of the body is missing' }])
      expect(await ids(EventFilter.lastN(2))).toEqual(['e3'])
      expect(await ids(EventFilter.keywordSearch('e'))).toEqual(['e1', 'e3'])
      expect((await sessions.appendEvent('s', say('e4'))).seq).toBe(4)
      await sessions.eraseEvent('s', 'e2')
      expect(await ids()).toEqual(['e1', 'e2', 'e3', 'e4'])
    })
  })

  test('a boundary: the one before it is in force, and the damage reported', async () => {
    await inObject(async ({ storage, repository, sessions, damage }) => {
      await sessions.create({ id: 's' })
      await sessions.appendEvents('s', [say('e1'), say('e2'), say('e3')])
      for (const kept of [2, 3]) {
        await repository.commit('s', {
          now: Date.now(),
          operationId: `keep-from-${kept}`,
          events: [],
          boundary: { summaries: [], kept: [[kept, 3]], through: 3, rewound: [] },
        })
      }
      const view = async () =>
        (await sessions.getEvents('s', EventFilter.active())).map(({ id }) => id)
      expect(await view()).toEqual(['e3'])
      storage.sql.exec(`UPDATE turnlog_boundaries SET body = '{' WHERE id = 'keep-from-3'`)
      expect(await view()).toEqual(['e2', 'e3'])
      expect(damage).toMatchObject([{ sessionId: 's', seq: 3 }])
      expect(damage[0]?.reason).toContain('keep-from-3')
      expect(
        (await repository.readBoundaries('s', { now: Date.now() })).map(({ id }) => id),
      ).toEqual(['keep-from-2'])
      // The next compaction goes on from there.
      const { session } = await repository.commit('s', {
        now: Date.now(),
        operationId: 'clear',
        expectedBoundary: 'keep-from-2',
        events: [],
        boundary: { summaries: [], kept: [], through: 3, rewound: [] },
      })
      expect(session.boundary?.id).toBe('clear')
      expect(await view()).toEqual([])
    })
  })
})

test('an iteration abandoned half-way holds up no compaction', async () => {
  await inObject(async ({ repository, sessions }) => {
    await sessions.create({ id: 's' })
    await sessions.appendEvents(
      's',
      Array.from({ length: 2000 }, (_, index) => say(`e${index + 1}`, 'x'.repeat(10_000))),
    )
    for await (const event of sessions.iterateEvents('s')) if (event.seq === 500) break
    const { session } = await repository.commit('s', {
      now: Date.now(),
      events: [],
      boundary: { summaries: [], kept: [[1990, 2000]], through: 2000, rewound: [] },
    })
    expect(session.boundary?.kept).toEqual([[1990, 2000]])
    expect(await sessions.getEvents('s')).toHaveLength(2000)
  })
})

test('a portion of large events ends before it fills the memory', async () => {
  await inObject(async ({ storage, repository, sessions }) => {
    await sessions.create({ id: 's' })
    for (let index = 1; index <= 6; index++) {
      await sessions.appendEvent('s', say(`e${index}`, 'x'.repeat(2e6)))
    }
    const session = await repository.findSession('s', { now: Date.now() })
    const source = logSource(storage, session?.number ?? 0)
    expect(await source.read([[1, 6]])).toHaveLength(3)
    expect(
      await source.read([
        [4, 4],
        [2, 3],
        [1, 1],
      ]),
    ).toMatchObject([{ seq: 4 }, { seq: 2 }, { seq: 3 }])
  })
})

test('a boundary larger than a row is kept in parts', async () => {
  await inObject(async ({ storage, repository, sessions }) => {
    await sessions.create({ id: 's' })
    // Every other event of a log of 400,000: its ranges are 2.8 MB as JSON. Only the session's row
    // says that the log is so long; the boundary needs no more.
    storage.sql.exec('UPDATE turnlog_sessions SET last_seq = 400000')
    const kept = Array.from(
      { length: 200_000 },
      (_, index) => [2 * index + 1, 2 * index + 1] as const,
    )
    for (const operationId of ['first', 'second']) {
      await repository.commit('s', {
        now: 1,
        operationId,
        events: [],
        boundary: { summaries: [], kept, through: 400_000, rewound: [] },
      })
    }
    const { length } = storage.sql.exec('SELECT 1 FROM turnlog_boundaries').toArray()
    expect(length).toBeGreaterThan(2)
    expect((await repository.findSession('s', { now: 1 }))?.boundary?.kept).toEqual(kept)
    // One answer holds only one of them.
    expect(new SqlSessions(storage).readBoundaries('s', { now: 1 })).toMatchObject({
      boundaries: [{ id: 'first' }],
      next: { version: 1 },
    })
    const boundaries = await repository.readBoundaries('s', { now: 1 })
    expect(boundaries.map(({ id }) => id)).toEqual(['first', 'second'])
    expect(boundaries[0]?.kept).toEqual(kept)

    storage.sql.exec(`DELETE FROM turnlog_boundaries WHERE part = 1 AND version = 2`)
    expect((await repository.findSession('s', { now: 1 }))?.boundary?.id).toBe('first')
  })
})

describe('the schema', () => {
  test('is migrated step by step, keeps its rows, and is left alone when it is up to date', async () => {
    await inObject(async ({ storage, sessions }) => {
      await sessions.create({ id: 's' })
      const before = dump(storage)
      const written = await storage.measure(async () => migrate(storage))
      expect(written.rowsWritten).toBe(0)
      expect(dump(storage)).toBe(before)

      migrate(storage, [...migrations, ['CREATE TABLE turnlog_extra (a TEXT) STRICT']])
      migrate(storage, [
        ...migrations,
        ['CREATE TABLE turnlog_extra (a TEXT) STRICT'],
        [`INSERT INTO turnlog_extra VALUES ('b')`],
      ])
      const [extra] = storage.sql.exec('SELECT a FROM turnlog_extra').toArray()
      expect(extra).toEqual({ a: 'b' })
      const [version] = storage.sql.exec('SELECT version FROM turnlog_schema').toArray()
      expect(version).toEqual({ version: migrations.length + 2 })
    })
  })

  test('a migration that fails changes nothing', async () => {
    await inObject(async ({ storage }) => {
      const before = dump(storage)
      const broken = [...migrations, ['CREATE TABLE turnlog_extra (a TEXT) STRICT', 'nonsense']]
      expect(() => migrate(storage, broken)).toThrow(/syntax error/)
      expect(dump(storage)).toBe(before)
    })
  })

  test('tables of a newer version are refused with a code, through a stub too', async () => {
    const stub = env.SESSIONS.get(env.SESSIONS.idFromName('user:from the future'))
    await runInDurableObject(stub, async (_object, state) => {
      const storage = new MeteredStorage(state.storage)
      storage.sql.exec('UPDATE turnlog_schema SET version = 1000')
      expect(() => createSqlRepository(storage)).toThrow(/schema version 1000/)
    })
    await evict(stub)
    // As data: thrown by the constructor, it would lose its code at older compatibility dates.
    expect(await stub.findSession('s', { now: 0 })).toMatchObject({
      ok: false,
      error: { code: 'STORAGE_OUTDATED' },
    })
    const sessions = durableObjectSessions(env.SESSIONS, 'from the future')
    await expect(sessions.findById('s')).rejects.toMatchObject({
      code: 'STORAGE_OUTDATED',
      details: { stored: 1000, supported: migrations.length },
    })
  })
})
