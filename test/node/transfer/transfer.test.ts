// Export and import: lossless, idempotent, and nothing at all of a file with a fault.
import fc from 'fast-check'
import { isSessionError } from 'turnlog'
import {
  createInMemoryDatabase,
  createInMemoryRepository,
  createInMemorySessionService,
} from 'turnlog/in-memory'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import { describe, expect, test } from 'vitest'
import { says, sessionOf, turns, viewOf } from '../../support/conversation.ts'
import { createEventfulSession, exportText, snapshotOf } from '../../support/eventful-session.ts'
import { patient, runs } from '../../support/random-conversation.ts'
import { checkTransfer } from '../../support/transfer-check.ts'

const newService = () => createInMemorySessionService({ defaultUserId: 'ana' })

async function eventfulText(): Promise<string> {
  const service = newService()
  await createEventfulSession(service)
  return exportText(service)
}

/** What an import that must fail says; fails itself when anything was stored. */
async function failedImport(
  text: string,
): Promise<{ readonly code: string; readonly line: number }> {
  const database = createInMemoryDatabase()
  const service = createSessionService(createInMemoryRepository(database), { defaultUserId: 'ana' })
  try {
    await service.importSession(text)
  } catch (error) {
    if (!isSessionError(error)) throw error
    expect(database.sessions.size).toBe(0)
    return { code: error.code, line: Number(error.details['line']) }
  }
  throw new Error('it was imported')
}

describe('a whole file', () => {
  test('from one store into another and back', async () => {
    await checkTransfer(newService(), newService())
  })

  test('under another id and for another user', async () => {
    const source = newService()
    await createEventfulSession(source)
    const text = await exportText(source)
    const target = createInMemorySessionService()
    await target.importSession(text)
    expect(await target.findById('s')).toMatchObject({ userId: 'ana' })
    await target.importSession(text, { sessionId: 'copy', userId: 'bob' })
    expect(await target.findById('copy')).toMatchObject({
      userId: 'bob',
      eventCount: expect.any(Number),
    })
    expect(await viewOf(target, 'copy')).toEqual(await viewOf(source))
    // A service's own user goes before the user in the file.
    const own = createInMemorySessionService({ defaultUserId: 'carla' })
    expect(await own.importSession(text)).toMatchObject({ userId: 'carla' })
    await expect(target.importSession(text, { sessionId: ' ' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  test('an empty session, and one without end', async () => {
    const source = newService()
    await source.create({ id: 'empty', timeToLive: null, metadata: { a: [] } })
    const target = newService()
    await target.importSession(await exportText(source, 'empty'))
    expect(await target.findById('empty')).toEqual(await source.findById('empty'))
  })

  test('a sliding lifetime goes on sliding', async () => {
    const clock = { now: 1000 }
    const open = () => createInMemorySessionService({ defaultUserId: 'ana', now: () => clock.now })
    const source = open()
    await source.create({ id: 's', timeToLive: { sliding: 100 } })
    await source.appendEvents('s', turns(1))
    const text = await exportText(source)
    clock.now = 1050
    const target = open()
    expect(await target.importSession(text)).toMatchObject({ expiresAt: new Date(1150) })
    await target.appendEvents('s', turns(1, 2))
    expect(await target.findById('s')).toMatchObject({ expiresAt: new Date(1150) })
    clock.now = 1100
    await expect(open().importSession(text)).rejects.toMatchObject({
      code: 'INVALID_IMPORT',
      message: expect.stringContaining('expired'),
    })
  })

  test('messages nested as deep as a store takes them', async () => {
    let deep: unknown = 'core'
    for (let level = 0; level < 250; level++) deep = [deep]
    const source = newService()
    await source.create({ id: 's' })
    await source.appendEvent('s', {
      message: { role: 'user', content: [{ type: 'data', deep } as never] },
      metadata: { ['__proto__']: 1, ['constructor']: 2, '1': 'one', check: 'x"}' },
    })
    const target = newService()
    await target.importSession(await exportText(source))
    expect(await snapshotOf(target)).toEqual(await snapshotOf(source))
  })

  test('a log that could not be read to its last event keeps its order', async () => {
    const database = createInMemoryDatabase()
    const service = createSessionService(createInMemoryRepository(database), {
      defaultUserId: 'ana',
      onDamage: () => undefined,
    })
    await service.create({ id: 's' })
    await service.appendEvents('s', turns(2))
    await service.clearView('s')
    await service.appendEvents('s', turns(2, 3))
    const events = database.sessions.get('s')?.events ?? []
    for (const index of [1, 3, 7])
      events[index] = { ...(events[index] as (typeof events)[0]), body: '{' }
    const target = newService()
    await target.importSession(await exportText(service))
    const log = await target.getEvents('s')
    expect(log.map(({ id, archived }) => `${id} ${archived}`)).toEqual([
      'u1 true',
      'damaged-2 true',
      'u2 true',
      'damaged-4 true',
      'u3 false',
      'a3 false',
      'u4 false',
      'damaged-8 false',
    ])
    expect(log[1]).toMatchObject({ message: { content: '' }, metadata: { damaged: true } })
  })

  test('written by hand, without checks, with CRLF and blank lines', async () => {
    const lines = (await eventfulText()).trimEnd().split('\n')
    const bare = lines.map((line) => line.replace(/,"check":"[0-9a-f]{8}"\}$/, '}'))
    const target = newService()
    await target.importSession(`${bare.join('\r\n\r\n')}\r\n`)
    await target.importSession(lines.join('\r\n'))
    expect((await target.findById('s'))?.eventCount).toBeGreaterThan(20)
  })

  test('is read at one moment: what happens during the export is not in it', async () => {
    const service = await sessionOf(
      Array.from({ length: 300 }, (_, index) => ({
        id: `e${index}`,
        message: says('user', 'x'.repeat(60_000)),
      })),
    )
    const before = await exportText(service)
    let during = ''
    for await (const line of service.exportSession('s')) {
      if (during === '') {
        await service.clearView('s')
        await service.appendEvents('s', turns(2))
        await service.compact('s', {
          trigger: () => true,
          strategy: () => ({ summaries: [{ message: says('user', 'x') }], keep: [] }),
        })
      }
      during += line
    }
    expect(during).toBe(before)
  })

  test('nor is an edit that comes right after the first look', async () => {
    const service = await sessionOf(turns(2))
    await service.rewind('s', { before: 'a2' })
    const before = await exportText(service)
    const { repository } = service
    const slow = createSessionService({
      ...repository,
      async readBoundaries(id, options) {
        await service.clearView('s')
        return repository.readBoundaries(id, options)
      },
    })
    expect(await exportText(slow)).toBe(before)
  })

  test('an unknown session is refused', async () => {
    await expect(exportText(newService(), 'nobody')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
  })
})

describe('a session that is there already', () => {
  test('an older file changes nothing; a newer one brings it up to date', async () => {
    const source = await sessionOf(turns(2))
    const old = await exportText(source)
    await source.clearView('s')
    await source.appendEvents('s', turns(1, 3))
    const recent = await exportText(source)
    const target = newService()
    await target.importSession(recent)
    await target.importSession(old)
    expect(await snapshotOf(target)).toEqual(await snapshotOf(source))
    const late = newService()
    await late.importSession(old)
    await late.importSession(recent)
    expect(await snapshotOf(late)).toEqual(await snapshotOf(source))
  })

  test('what was erased there does not come back', async () => {
    const source = await sessionOf(turns(2))
    const text = await exportText(source)
    const target = newService()
    await target.importSession(text)
    await target.eraseEvent('s', 'u1')
    await target.importSession(text)
    expect(await target.findEvent('s', 'u1')).toMatchObject({ metadata: { erased: true } })
  })

  test.each<[string, (target: Awaited<ReturnType<typeof sessionOf>>) => Promise<unknown>]>([
    ['other events', (target) => target.appendEvents('s', turns(1, 5))],
    ['the same events in another order', (target) => target.appendEvents('s', turns(2).reverse())],
    [
      'the same events and another edit',
      async (target) => {
        await target.appendEvents('s', turns(1))
        await target.clearView('s')
      },
    ],
    [
      'the same events without the edit between them',
      (target) => target.appendEvents('s', turns(2)),
    ],
  ])('that holds %s is another one', async (_, fill) => {
    const source = await sessionOf(turns(1))
    await source.rewind('s', { before: 'a1' })
    await source.appendEvents('s', [...turns(1), ...turns(1, 2)])
    const text = await exportText(source)
    const target = await sessionOf()
    await fill(target)
    const before = await snapshotOf(target)
    await expect(target.importSession(text)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    expect(await snapshotOf(target)).toEqual(before)
  })

  test('that was edited in the middle of what the file holds is another one', async () => {
    const text = await exportText(await sessionOf(turns(2)))
    const target = await sessionOf(turns(1))
    await target.clearView('s')
    await target.appendEvents('s', turns(1, 2))
    await expect(target.importSession(text)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    // One that was edited after all of it is the same, and further on.
    const further = await sessionOf(turns(2))
    await further.clearView('s')
    expect(await further.importSession(text)).toMatchObject({ eventCount: 4 })
    expect(await viewOf(further)).toEqual([])
  })

  test('of another user is refused', async () => {
    const source = await sessionOf(turns(1))
    const text = await exportText(source)
    const target = createInMemorySessionService()
    await target.create({ id: 's', userId: 'bob' })
    await expect(target.importSession(text)).rejects.toMatchObject({ code: 'NOT_OWNER' })
    await expect(target.importSession(text, { userId: 'carla' })).rejects.toMatchObject({
      code: 'NOT_OWNER',
    })
    expect(await target.getEvents('s')).toEqual([])
    expect(await target.importSession(text, { userId: 'bob' })).toMatchObject({ eventCount: 2 })
  })
})

describe('a file with a fault changes nothing and names the line', () => {
  test('any character changed, left out or put in', patient, async () => {
    const text = await eventfulText()
    const lineAt = (index: number) => text.slice(0, index).split('\n').length
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: text.length - 2 }),
        fc.constantFrom('change', 'cut', 'insert', 'break'),
        fc.nat({ max: 0xffff }),
        async (index, kind, unit) => {
          const character = kind === 'break' ? '\n' : String.fromCharCode(unit)
          fc.pre((text[index] !== character && character.trim() !== '') || kind === 'cut')
          fc.pre(text.slice(index, index + 1) !== '\n' || kind !== 'insert')
          const rest = text.slice(kind === 'insert' || kind === 'break' ? index : index + 1)
          const broken = text.slice(0, index) + (kind === 'cut' ? '' : character) + rest
          // A blank at the end of a line is none of its content.
          fc.pre(
            broken
              .split('\n')
              .map((line) => line.trim())
              .join('\n') !== text.trimEnd(),
          )
          const { code, line } = await failedImport(broken)
          expect(code).toBe('INVALID_IMPORT')
          expect(Math.abs(line - lineAt(index))).toBeLessThanOrEqual(1)
        },
      ),
      { numRuns: runs(1500) },
    )
  })

  test('any line left out, doubled or in another place', async () => {
    const lines = (await eventfulText()).trimEnd().split('\n')
    for (let index = 0; index < lines.length; index++) {
      const line = lines[index] as string
      const without = lines.toSpliced(index, 1)
      const isLast = index === lines.length - 1
      expect(await failedImport(without.join('\n'))).toEqual({
        code: 'INVALID_IMPORT',
        line: index + 1,
      })
      const doubled = lines.toSpliced(index, 0, line)
      expect(await failedImport(doubled.join('\n'))).toEqual({
        code: 'INVALID_IMPORT',
        line: index + 2,
      })
      if (isLast) continue
      const swapped = lines.with(index, lines[index + 1] as string).with(index + 1, line)
      expect(await failedImport(swapped.join('\n'))).toEqual({
        code: 'INVALID_IMPORT',
        line: index + 1,
      })
    }
  })

  test('a line that is cut off is called unreadable, not one without a check', async () => {
    const text = await eventfulText()
    const lines = text.trimEnd().split('\n').length
    await expect(newService().importSession(text.slice(0, -15))).rejects.toThrow(
      `line ${lines} is not readable`,
    )
  })

  test('broken off anywhere', patient, async () => {
    const text = await eventfulText()
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: text.length - 2 }), async (length) => {
        const cut = text.slice(0, length)
        const { code, line } = await failedImport(cut)
        expect(code).toBe('INVALID_IMPORT')
        const whole = cut.split('\n').length
        expect([whole, whole + 1]).toContain(line)
      }),
      { numRuns: runs(500) },
    )
  })

  /** The exported file without checks, with one line changed. */
  const changed = async (
    isIt: (line: Record<string, unknown>) => boolean,
    change: (line: Record<string, unknown>) => unknown,
  ) => {
    const lines = (await eventfulText())
      .trimEnd()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line.replace(/,"check":"[0-9a-f]{8}"\}$/, '}')) as Record<string, unknown>,
      )
    const index = lines.findIndex(isIt)
    const text = lines
      .map((line, at) => JSON.stringify(at === index ? change(line) : line))
      .join('\n')
    return { text, line: index + 1 }
  }
  const isType = (type: string) => (line: Record<string, unknown>) => line['type'] === type

  test.each<[string, string, (line: Record<string, unknown>) => unknown]>([
    ['a session of a later format', 'session', (line) => ({ ...line, turnlog: 2 })],
    ['a session without a user', 'session', (line) => ({ ...line, userId: undefined })],
    [
      'a session with a time of the wrong kind',
      'session',
      (line) => ({ ...line, createdAt: '2026' }),
    ],
    ['a session that lives for a text', 'session', (line) => ({ ...line, slidingTimeToLive: 'x' })],
    ['a session that lives for no time', 'session', (line) => ({ ...line, slidingTimeToLive: 0 })],
    ['a session that is over', 'session', (line) => ({ ...line, slidingTimeToLive: -60_000 })],
    [
      'a session with metadata of the wrong kind',
      'session',
      (line) => ({ ...line, metadata: [1] }),
    ],
    [
      'a session with too much metadata',
      'session',
      (line) => ({ ...line, metadata: { a: 'x'.repeat(300_000) } }),
    ],
    ['a session with a field that nobody knows', 'session', (line) => ({ ...line, other: 1 })],
    ['an event without an id', 'event', (line) => ({ ...line, id: undefined })],
    ['an event without a time', 'event', (line) => ({ ...line, timestamp: null })],
    ['an event without a message', 'event', (line) => ({ ...line, message: null })],
    [
      'an event with a message of nobody',
      'event',
      (line) => ({ ...line, message: { role: 'robot', content: '' } }),
    ],
    ['an event with a branch of the wrong kind', 'event', (line) => ({ ...line, branch: 5 })],
    ['an event at another place', 'event', (line) => ({ ...line, seq: 2 })],
    ['a boundary at another place', 'boundary', (line) => ({ ...line, position: 1 })],
    ['a boundary without an id', 'boundary', (line) => ({ ...line, id: ' ' })],
    ['a boundary of more events than there are', 'boundary', (line) => ({ ...line, appended: 99 })],
    [
      'a boundary that keeps what comes later',
      'boundary',
      (line) => ({ ...line, kept: [[1, 99]] }),
    ],
    [
      'a boundary with ranges in disorder',
      'boundary',
      (line) => ({
        ...line,
        kept: [
          [4, 5],
          [1, 2],
        ],
      }),
    ],
    [
      'a boundary with a range from end to start',
      'boundary',
      (line) => ({ ...line, rewound: [[5, 4]] }),
    ],
    ['a boundary with a summary twice', 'boundary', (line) => ({ ...line, summaries: [7, 7] })],
    ['an event with an unknown field', 'event', (line) => ({ ...line, mood: 'good' })],
    ['a boundary with an unknown field', 'boundary', (line) => ({ ...line, reason: 'full' })],
    ['a session with a blank id', 'session', (line) => ({ ...line, id: ' ' })],
    ['a session of nobody', 'session', (line) => ({ ...line, userId: '' })],
    ['a boundary without a time', 'boundary', (line) => ({ ...line, createdAt: -1e99 })],
    ['an end that counts otherwise', 'end', (line) => ({ ...line, boundaries: 0 })],
    ['a line of another kind', 'event', (line) => ({ ...line, type: 'thought' })],
    ['a line that is a list', 'event', () => [1]],
    ['a line that is nothing', 'event', () => null],
  ])('%s', async (_, type, change) => {
    const { text, line } = await changed(isType(type), change)
    expect(await failedImport(text)).toEqual({ code: 'INVALID_IMPORT', line })
  })

  test('what is no session at all', async () => {
    for (const text of [
      '',
      '\n\n',
      '{}',
      'hello',
      '{"type":"end","events":0,"boundaries":0}',
      '[]',
    ]) {
      expect((await failedImport(text)).code).toBe('INVALID_IMPORT')
    }
    const service = newService()
    for (const input of [5, null, {}]) {
      await expect(service.importSession(input as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { field: 'input' },
      })
    }
    const cutOff = {
      *[Symbol.iterator]() {
        yield '\n'
        throw new Error('the connection broke')
      },
    }
    for (const [input, line] of [
      [[new Uint8Array([1])], 1],
      [['\n', new Uint8Array([1])], 2],
      [cutOff, 2],
    ]) {
      await expect(service.importSession(input as never)).rejects.toMatchObject({
        code: 'INVALID_IMPORT',
        details: { line },
      })
    }
  })
})

describe('an import that is interrupted', () => {
  /** A store that fails at its nth write, as often as it is told to. */
  const failingAt = (repository: SessionRepository, nth: number, cleanup: boolean) => {
    let writes = 0
    return createSessionService(
      {
        ...repository,
        commit: (id, commit) =>
          ++writes === nth
            ? Promise.reject(new Error('the disk is full'))
            : repository.commit(id, commit),
        deleteSession: (id) =>
          cleanup ? repository.deleteSession(id) : Promise.reject(new Error('the disk is gone')),
      },
      { defaultUserId: 'ana' },
    )
  }

  test('leaves nothing when it can still clean up, and tells the first failure', async () => {
    const text = await eventfulText()
    for (let nth = 1; nth <= 12; nth++) {
      for (const cleanup of [true, false]) {
        const repository = createInMemoryRepository()
        const service = failingAt(repository, nth, cleanup)
        await expect(service.importSession(text)).rejects.toThrow('the disk is full')
        const left = await createSessionService(repository).findById('s')
        expect(left === null).toBe(cleanup)
      }
    }
  })

  test('is completed by doing it again', async () => {
    const text = await eventfulText()
    const whole = newService()
    await whole.importSession(text)
    const expected = await snapshotOf(whole)
    for (let nth = 1; nth <= 12; nth++) {
      const repository = createInMemoryRepository()
      await expect(failingAt(repository, nth, false).importSession(text)).rejects.toThrow()
      const service = createSessionService(repository, { defaultUserId: 'ana' })
      await service.importSession(text)
      expect(await snapshotOf(service)).toEqual(expected)
    }
  })

  test('two imports at once are one', async () => {
    const text = await eventfulText()
    const whole = newService()
    await whole.importSession(text)
    const repository = createInMemoryRepository()
    const services = [1, 2, 3].map(() => createSessionService(repository, { defaultUserId: 'ana' }))
    await Promise.all(services.map((service) => service.importSession(text)))
    expect(await snapshotOf(services[0] as (typeof services)[0])).toEqual(await snapshotOf(whole))
  })
})
