// subscribe: every change once and in order, however bad the hints of the store are.
import fc from 'fast-check'
import { type SessionChange, type SessionService, type SubscribeOptions, turnWindow } from 'turnlog'
import { createInMemoryDatabase, createInMemoryRepository } from 'turnlog/in-memory'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { deferred, says, turns } from '../../support/conversation.ts'
import { patient, runs } from '../../support/random-conversation.ts'

type Hints = (deliver: (sessionId: string) => void) => (sessionId: string) => void

/** Two services on one store; the second hears of changes only as `hints` let it. */
async function twoTabs(hints: Hints = (deliver) => deliver) {
  const database = createInMemoryDatabase()
  const mine = createInMemoryRepository(database)
  const theirs = createInMemoryRepository(database)
  const repository: SessionRepository = {
    ...theirs,
    watch: (listener, ...rest) => theirs.watch(hints(listener), ...rest),
  }
  const clock = { now: 1_700_000_000_000 }
  const options = { defaultUserId: 'ana', now: () => clock.now }
  const writer = createSessionService(mine, options)
  const reader = createSessionService(repository, options)
  await writer.create({ id: 's' })
  /** Over the reader's repository with other methods in place of some. */
  const open = (changed: Partial<SessionRepository>) =>
    createSessionService({ ...repository, ...changed }, options)
  return { writer, reader, clock, repository, open }
}

/** Everything that a subscription delivers, as short texts. */
async function follow(service: SessionService, options: SubscribeOptions = {}) {
  const heard: string[] = []
  const note = (change: SessionChange) => {
    if (change.type !== 'appended') heard.push(change.type)
    else
      heard.push(...change.events.map((event) => (event.synthetic ? `(${event.seq})` : event.id)))
  }
  const stop = await service.subscribe('s', note, { pollInterval: 50, ...options })
  return { heard, stop }
}

/** Lets everything that is due happen, polls included. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(200)
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const always = () => true

test('appends, compactions, rewinds and the deletion, each once, with what they came between', async () => {
  const { writer, reader } = await twoTabs()
  await writer.appendEvents('s', turns(1))
  const { heard } = await follow(reader)
  await writer.appendEvents('s', turns(2, 2))
  await settle()
  expect(heard).toEqual(['u2', 'a2', 'u3', 'a3'])
  await writer.compact('s', { trigger: always, strategy: turnWindow({ maxTurns: 1 }) })
  await settle()
  await writer.rewind('s', { before: 'a3' })
  await settle()
  await writer.clearView('s')
  await settle()
  await writer.delete('s')
  await settle()
  expect(heard.slice(4)).toEqual(['compacted', 'rewound', 'compacted', 'deleted'])
})

describe('hints that are dropped, doubled, late or in disorder', () => {
  const hintKinds: Readonly<Record<string, Hints>> = {
    dropped: () => () => undefined,
    doubled: (deliver) => (id) => {
      deliver(id)
      deliver(id)
    },
    late: (deliver) => (id) => void setTimeout(deliver, 120, id),
    'of other sessions': (deliver) => () => deliver('other'),
    'in disorder': (deliver) => {
      let held: string | undefined
      return (id) => {
        if (held !== undefined) {
          deliver(id)
          deliver(held)
          held = undefined
        } else held = id
      }
    },
  }

  const operation = fc.constantFrom(
    'append',
    'append many',
    'compact',
    'summarise',
    'rewind',
    'clear',
    'wait',
  )

  test.each(Object.entries(hintKinds))('%s', patient, async (_, hints) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
        const { writer, reader } = await twoTabs(hints)
        const { heard, stop } = await follow(reader)
        const expected: string[] = []
        let number = 0
        for (const name of operations) {
          if (name === 'append' || name === 'append many') {
            const events = turns(name === 'append' ? 1 : 3, number + 1)
            number += events.length / 2
            await writer.appendEvents('s', events)
            expected.push(...events.map(({ id }) => id ?? ''))
          } else if (name === 'compact' || name === 'summarise') {
            const { status, compactedEvents } = await writer.compact('s', {
              trigger: always,
              strategy: (view) => ({
                summaries: name === 'compact' ? [] : [{ message: says('user', 'so far') }],
                keep: view.slice(-2).map(({ id }) => id),
              }),
            })
            if (status !== 'compacted') continue
            if (name === 'summarise')
              expected.push(`(${compactedEvents.find((event) => event.synthetic)?.seq})`)
            expected.push('compacted')
          } else if (name === 'rewind') {
            const view = await writer.getEvents('s', {
              excludeArchived: true,
              excludeSynthetic: true,
            })
            const target = view.at(-1)
            if (target === undefined) continue
            await writer.rewind('s', { before: target.id })
            expected.push('rewound')
          } else if (name === 'clear') {
            if ((await writer.clearView('s')) > 0) expected.push('compacted')
          } else await vi.advanceTimersByTimeAsync(60)
        }
        await settle()
        stop()
        expect(heard).toEqual(expected)
      }),
      { numRuns: runs(150) },
    )
  })

  test('many changes between two looks keep their order', async () => {
    const { writer, reader } = await twoTabs(() => () => undefined)
    const { heard } = await follow(reader)
    await writer.appendEvents('s', turns(2))
    await writer.compact('s', { trigger: always, strategy: turnWindow({ maxTurns: 1 }) })
    await writer.appendEvents('s', turns(1, 3))
    await writer.rewind('s', { before: 'a3' })
    await writer.rewind('s', { before: 'u3' })
    await writer.appendEvents('s', turns(1, 4))
    await writer.clearView('s')
    await settle()
    expect(heard).toEqual([
      ...['u1', 'a1', 'u2', 'a2', 'compacted'],
      ...['u3', 'a3', 'rewound', 'rewound', 'u4', 'a4', 'compacted'],
    ])
  })

  test('an edit that comes while a look reads has its place between the events', async () => {
    const { writer, repository, open } = await twoTabs()
    let reads = 0
    const slow = open({
      async readEvents(id, request) {
        if (reads++ === 0) {
          await writer.rewind('s', { before: 'a1' })
          await writer.appendEvents('s', turns(1, 2))
        }
        return repository.readEvents(id, request)
      },
    })
    const { heard } = await follow(slow)
    await writer.appendEvents('s', turns(1))
    await settle()
    expect(heard).toEqual(['u1', 'a1', 'rewound', 'u2', 'a2'])
  })

  test('a thousand events at once, of many megabytes, come in portions and in order', async () => {
    const { writer, reader } = await twoTabs(() => () => undefined)
    const { heard } = await follow(reader)
    for (let batch = 0; batch < 10; batch++) {
      await writer.appendEvents(
        's',
        Array.from({ length: 100 }, (_, index) => ({
          id: `e${batch * 100 + index}`,
          message: says('user', 'x'.repeat(20_000)),
        })),
      )
    }
    await settle()
    expect(heard).toEqual(Array.from({ length: 1000 }, (_, index) => `e${index}`))
  })
})

describe('where it begins', () => {
  test('after the subscription, or after a seq', async () => {
    const { writer, reader } = await twoTabs()
    await writer.appendEvents('s', turns(3))
    await writer.compact('s', { trigger: always, strategy: turnWindow({ maxTurns: 1 }) })
    const now = await follow(reader)
    const later = await follow(reader, { afterSeq: 4 })
    const all = await follow(reader, { afterSeq: 0 })
    await settle()
    expect(now.heard).toEqual([])
    expect(later.heard).toEqual(['u3', 'a3'])
    expect(all.heard).toHaveLength(6)
  })

  test('a hint that comes before the first look delivers nothing old', async () => {
    const { writer, reader, repository, open } = await twoTabs()
    await writer.appendEvents('s', turns(2))
    const gate = deferred<void>()
    let looks = 0
    const slow = open({
      async findSession(id, options) {
        const session = await repository.findSession(id, options)
        if (looks++ === 0) await gate.promise
        return session
      },
    })
    const subscribed = follow(slow)
    await vi.advanceTimersByTimeAsync(1)
    await writer.appendEvents('s', turns(1, 3)) // its hint comes while the first look waits
    await vi.advanceTimersByTimeAsync(1)
    gate.resolve()
    const { heard } = await subscribed
    await settle()
    expect(heard).toEqual(['u3', 'a3'])
    expect(await reader.getEvents('s')).toHaveLength(6)
  })

  test('an unknown session, and what makes no sense, is refused', async () => {
    const { reader } = await twoTabs()
    const listener = () => undefined
    await expect(reader.subscribe('nobody', listener)).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    for (const [given, options] of [
      [null, {}],
      ['listen', {}],
      [listener, { afterSeq: -1 }],
      [listener, { pollInterval: 0 }],
      [listener, 5],
    ]) {
      await expect(reader.subscribe('s', given as never, options as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
    }
  })
})

describe('the end', () => {
  test('a deleted session, and one created anew under its id', async () => {
    for (const hints of [undefined, () => () => undefined] as const) {
      const { writer, reader } = await twoTabs(hints)
      await writer.appendEvents('s', turns(1))
      const { heard } = await follow(reader)
      await writer.delete('s')
      await writer.create({ id: 's' })
      await writer.appendEvents('s', turns(3))
      await settle()
      await writer.appendEvents('s', turns(1, 4))
      await settle()
      expect(heard).toEqual(['deleted'])
    }
  })

  test('created anew while a look reads: nothing of the new one is delivered', async () => {
    const { writer, repository, open } = await twoTabs()
    let reads = 0
    const slow = open({
      async readEvents(id, request) {
        if (reads++ === 0) {
          await writer.delete('s')
          await writer.create({ id: 's' })
          await writer.appendEvents('s', turns(3, 7))
        }
        return repository.readEvents(id, request)
      },
    })
    const { heard } = await follow(slow)
    await writer.appendEvents('s', turns(1))
    await settle()
    expect(heard).toEqual(['deleted'])
  })

  test('an expired session', async () => {
    const { writer, reader, clock } = await twoTabs()
    await writer.update('s', { expiresAt: clock.now + 1000 })
    const { heard } = await follow(reader)
    await settle()
    expect(heard).toEqual([])
    clock.now += 1000
    await settle()
    expect(heard).toEqual(['deleted'])
  })

  test('stop, also inside of a listener and in the middle of what is due', async () => {
    const { writer, reader } = await twoTabs()
    const { heard, stop } = await follow(reader)
    await writer.appendEvents('s', turns(1))
    await settle()
    stop()
    stop()
    await writer.appendEvents('s', turns(1, 2))
    await settle()
    expect(heard).toEqual(['u1', 'a1'])

    const changes: string[] = []
    const stopInside = await reader.subscribe('s', ({ type }) => {
      changes.push(type)
      stopInside()
    })
    await writer.appendEvents('s', turns(1, 3))
    await writer.clearView('s')
    await writer.appendEvents('s', turns(1, 4))
    await settle()
    expect(changes).toEqual(['appended'])
  })

  test('close ends every subscription, and later ones are refused', async () => {
    const { writer, reader } = await twoTabs()
    const { heard } = await follow(reader)
    await reader.close()
    await writer.appendEvents('s', turns(1))
    await settle()
    expect(heard).toEqual([])
    await expect(follow(reader)).rejects.toMatchObject({ code: 'CLOSED' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('nothing is left running after a deletion', async () => {
    const { writer, reader } = await twoTabs()
    await follow(reader)
    await writer.delete('s')
    await settle()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('failures', () => {
  test('a listener that throws, or rejects, loses nothing and hurts nobody', async () => {
    const { writer, reader } = await twoTabs()
    const errors: unknown[] = []
    const onError = (error: unknown) => void errors.push(error)
    const seen: number[] = []
    await reader.subscribe(
      's',
      (change) => {
        if (change.type === 'appended') seen.push(...change.events.map(({ seq }) => seq))
        throw new Error('mine')
      },
      { onError },
    )
    await reader.subscribe(
      's',
      (async () => {
        throw new Error('later')
      }) as () => void,
      { onError },
    )
    const { heard } = await follow(reader)
    await writer.appendEvents('s', turns(1))
    await settle()
    await writer.appendEvents('s', turns(1, 2))
    await settle()
    expect(seen).toEqual([1, 2, 3, 4])
    expect(heard).toEqual(['u1', 'a1', 'u2', 'a2'])
    const messages = errors.map((error) => (error as Error).message).sort()
    expect(messages).toEqual(['later', 'later', 'mine', 'mine'])
  })

  test('a store that fails now and then: told, tried again, nothing lost or doubled', async () => {
    const { writer, repository, open } = await twoTabs()
    const failing = new Set<string>()
    const maybe =
      <A extends readonly unknown[], R>(name: string, run: (...args: A) => Promise<R>) =>
      async (...args: A) => {
        if (failing.has(name)) throw new Error(`${name} failed`)
        return run(...args)
      }
    const service = open({
      findSession: maybe('findSession', repository.findSession),
      readEvents: maybe('readEvents', repository.readEvents),
      readBoundaries: maybe('readBoundaries', repository.readBoundaries),
    })
    const errors: unknown[] = []
    const { heard } = await follow(service, { onError: (error) => errors.push(error) })
    for (const name of ['findSession', 'readEvents', 'readBoundaries']) {
      failing.add(name)
      await writer.appendEvents('s', turns(1, errors.length + 1))
      await writer.clearView('s')
      await settle()
      expect(String(errors.at(-1))).toContain(name)
      failing.clear()
      await settle()
    }
    const events = heard.filter((text) => text !== 'compacted')
    expect(new Set(events).size).toBe(events.length)
    expect(heard.filter((text) => text === 'compacted')).toHaveLength(3)
    expect(events).toHaveLength((await writer.findById('s'))?.eventCount ?? -1)
  })

  test('an onError that throws goes to the console', async () => {
    const { writer, reader } = await twoTabs()
    const shown = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    try {
      await reader.subscribe(
        's',
        () => {
          throw new Error('mine')
        },
        {
          onError: () => {
            throw new Error('even worse')
          },
        },
      )
      await writer.appendEvents('s', turns(1))
      await settle()
      expect(shown).toHaveBeenCalledWith(
        expect.any(String),
        expect.objectContaining({ message: 'even worse' }),
      )
    } finally {
      shown.mockRestore()
    }
  })
})
