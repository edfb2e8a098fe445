// SessionService.compact: what each outcome means, and that nothing is lost in any of them.
import {
  type CompactionStrategy,
  type CompactOptions,
  recursiveSummarization,
  type SessionService,
  turnWindow,
} from 'turnlog'
import { createInMemoryDatabase, createInMemoryRepository } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test, vi } from 'vitest'
import {
  deferred,
  idsOf,
  says,
  sessionOf,
  turns,
  viewOf,
  viewTexts,
} from '../../support/conversation.ts'
import { withoutPlace } from '../../support/log-invariants.ts'

const always = () => true
const keepLastTurn = turnWindow({ maxTurns: 1 })
const summarise = (summarize: Parameters<typeof recursiveSummarization>[0]['summarize']) =>
  recursiveSummarization({ maxEventsToKeep: 2, overlapSize: 0, summarize })

/** Two services, as in two tabs, on one store. */
async function twoServices() {
  const database = createInMemoryDatabase()
  const open = () =>
    createSessionService(createInMemoryRepository(database), { defaultUserId: 'ana' })
  const [first, second] = [open(), open()]
  await first.create({ id: 's' })
  await first.appendEvents('s', turns(4))
  return { first, second }
}

describe('the outcome', () => {
  test('compacted: what left the view, what is left, and their numbers', async () => {
    const service = await sessionOf(turns(3))
    const before = await service.getEvents('s')
    const version = await service.getEventVersion('s')
    const result = await service.compact('s', { trigger: always, strategy: keepLastTurn })
    expect(result).toMatchObject({ status: 'compacted', eventsRemoved: 4 })
    expect(idsOf(result.archivedEvents)).toEqual(['u1', 'a1', 'u2', 'a2'])
    expect(result.archivedEvents.every((event) => event.archived)).toBe(true)
    expect(idsOf(result.compactedEvents)).toEqual(['u3', 'a3'])
    expect(result.tokensEstimatedSaved).toBeGreaterThan(0)
    expect(result).not.toHaveProperty('error')
    expect(await viewOf(service)).toEqual(['u3', 'a3'])
    expect((await service.getEvents('s')).map(withoutPlace)).toEqual(before.map(withoutPlace))
    expect(await service.getEventVersion('s')).toBe(version + 1)
  })

  test('not-triggered: the strategy is not even asked', async () => {
    const service = await sessionOf(turns(3))
    const strategy = vi.fn(keepLastTurn)
    const result = await service.compact('s', { trigger: async () => false, strategy })
    expect(result.status).toBe('not-triggered')
    expect(idsOf(result.compactedEvents)).toEqual(idsOf(await service.getEvents('s')))
    expect(strategy).not.toHaveBeenCalled()
  })

  test('nothing-to-archive: everything fits, and a summary of it is not stored', async () => {
    const service = await sessionOf(turns(3))
    const strategies: readonly CompactionStrategy[] = [
      turnWindow({ maxTurns: 3 }),
      () => null,
      (view) => ({ summaries: [], keep: idsOf(view) }),
      (view) => ({ summaries: [{ message: says('user', 'all') }], keep: idsOf(view) }),
    ]
    for (const strategy of strategies) {
      const result = await service.compact('s', { trigger: always, strategy })
      expect(result).toMatchObject({ status: 'nothing-to-archive', eventsRemoved: 0 })
    }
    expect((await service.findById('s'))?.eventCount).toBe(6)
    expect(await service.getEventVersion('s')).toBe(6)
  })

  test('when only the newest turn is left, compacting again does nothing', async () => {
    const service = await sessionOf(turns(3))
    const options = { trigger: always, strategy: keepLastTurn }
    expect((await service.compact('s', options)).status).toBe('compacted')
    expect((await service.compact('s', options)).status).toBe('nothing-to-archive')
    await service.clearView('s')
    expect((await service.compact('s', options)).status).toBe('nothing-to-archive')
  })

  test.each<[string, CompactOptions]>([
    [
      'a trigger that throws',
      {
        trigger: () => {
          throw new Error('no')
        },
        strategy: keepLastTurn,
      },
    ],
    [
      'a trigger that rejects',
      {
        trigger: async () => {
          throw new Error('no')
        },
        strategy: keepLastTurn,
      },
    ],
    [
      'a strategy that throws',
      {
        trigger: always,
        strategy: () => {
          throw new Error('no')
        },
      },
    ],
    [
      'an estimate that throws',
      {
        trigger: always,
        strategy: keepLastTurn,
        estimateTokens: () => {
          throw new Error('no')
        },
      },
    ],
  ])('failed: %s', async (_, options) => {
    const service = await sessionOf(turns(3))
    const result = await service.compact('s', options)
    expect(result).toMatchObject({ status: 'failed', eventsRemoved: 0, error: { message: 'no' } })
    expect(idsOf(result.compactedEvents)).toEqual(await viewOf(service))
    expect(await service.getEventVersion('s')).toBe(6)
  })

  test.each<[string, unknown, string]>([
    ['no keep', { summaries: [] }, 'keep'],
    ['a single id as keep', { summaries: [], keep: 'u3' }, 'keep'],
    ['a keep that is no list', { summaries: [], keep: 5 }, 'keep'],
    ['a text', 'everything', 'keep'],
    ['summaries that are no list', { summaries: 5, keep: [] }, ''],
    ['a summary without a message', { summaries: [{}], keep: [] }, 'summaries[0]'],
    ['an empty summary', { summaries: [{ message: says('user', ' \n') }], keep: [] }, 'empty'],
    ['null as a summary', { summaries: [null], keep: [] }, 'summaries[0]'],
    [
      'a summary that calls a tool',
      {
        summaries: [
          {
            message: {
              role: 'assistant',
              content: [
                { type: 'text', text: 'so far' },
                { type: 'tool-call', toolCallId: 'A', toolName: 't', input: {} },
              ],
            },
          },
        ],
        keep: [],
      },
      'tools',
    ],
    [
      'a summary that cannot be stored',
      { summaries: [{ message: says('user', 'x'), metadata: { f: () => 1 } }], keep: [] },
      'metadata.f',
    ],
  ])('failed: a strategy that answers with %s', async (_, answer, mention) => {
    const service = await sessionOf(turns(3))
    const result = await service.compact('s', { trigger: always, strategy: () => answer as never })
    expect(result.status).toBe('failed')
    expect(String(result.error)).toContain(mention)
    expect((await service.findById('s'))?.eventCount).toBe(6)
    expect(await viewOf(service)).toHaveLength(6)
  })

  test('ids that nobody knows, repeated ids and any iterable are taken as they are meant', async () => {
    const service = await sessionOf(turns(3))
    const strategy: CompactionStrategy = () => ({
      summaries: [{ message: says('assistant', 'so far'), timestamp: 5 }],
      keep: new Set(['nobody', 'a3', 'u2', 'a2', 'u2']).values(),
    })
    const { status, compactedEvents } = await service.compact('s', { trigger: always, strategy })
    expect(status).toBe('compacted')
    expect(idsOf(compactedEvents).slice(1)).toEqual(['u2', 'a2', 'u3', 'a3'])
    expect(compactedEvents[0]).toMatchObject({
      synthetic: true,
      metadata: { synthetic: true },
      timestamp: new Date(5),
      message: { content: 'so far' },
    })
  })

  test('a strategy that wrecks its view changes only its copy', async () => {
    const service = await sessionOf(turns(3))
    const strategy: CompactionStrategy = (view) => {
      ;(view as unknown[]).splice(0, 4)
      return { summaries: [], keep: ['u2', 'a2'] }
    }
    const trigger = (view: readonly unknown[]) => {
      ;(view as unknown[]).length = 0
      return true
    }
    const { compactedEvents } = await service.compact('s', { trigger, strategy })
    expect(idsOf(compactedEvents)).toEqual(['u2', 'a2', 'u3', 'a3'])
  })

  test('what is no function is refused, and an unknown session', async () => {
    const service = await sessionOf(turns(3))
    for (const options of [null, undefined, {}, { trigger: always }, { trigger: 1, strategy: 1 }]) {
      await expect(service.compact('s', options as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
    }
    await expect(
      service.compact('nobody', { trigger: always, strategy: keepLastTurn }),
    ).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  test('a session whose events are all on branches has no turn, and is left alone', async () => {
    const service = await sessionOf(turns(20).map((event) => ({ ...event, branch: 'root.a' })))
    await service.appendMessage('s', says('user', 'x'), { id: 'b', branch: 'root.b' })
    const result = await service.compact('s', { trigger: always, strategy: keepLastTurn })
    expect(result.status).toBe('nothing-to-archive')
    const drop: CompactionStrategy = () => ({ summaries: [], keep: [] })
    const forced = await service.compact('s', { trigger: always, strategy: drop })
    expect(forced.status).toBe('nothing-to-archive')
    expect(await viewOf(service)).toHaveLength(41)
  })
})

describe('while events arrive', () => {
  const arrive = async (service: SessionService, count = 20) => {
    for (let number = 1; number <= count; number++) {
      await service.appendMessage('s', says('user', `meanwhile ${number}`), { id: `m${number}` })
    }
  }
  const arrived = Array.from({ length: 20 }, (_, index) => `m${index + 1}`)

  test('a slow summary covers what it saw; the twenty stay in the view', async () => {
    const service = await sessionOf(turns(4))
    let prompt = ''
    const result = service.compact('s', {
      trigger: always,
      strategy: summarise(async (request) => {
        prompt = request.prompt
        await new Promise((resolve) => setTimeout(resolve, 200))
        return 'they talked'
      }),
    })
    await arrive(service)
    const { status, compactedEvents } = await result
    expect(status).toBe('compacted')
    expect(prompt).not.toContain('meanwhile')
    expect(idsOf(compactedEvents).slice(2)).toEqual(['u4', 'a4', ...arrived])
    expect(await viewTexts(service)).toEqual([
      expect.any(String),
      'they talked',
      'question 4',
      'answer 4',
      ...arrived.map((id) => `meanwhile ${id.slice(1)}`),
    ])
    expect((await service.findById('s'))?.eventCount).toBe(30)
  })

  test.each<[string, (signal: AbortSignal) => Promise<string | undefined>]>([
    [
      'throws',
      async () => {
        throw new Error('offline')
      },
    ],
    ['gives nothing', async () => undefined],
    ['gives blanks', async () => ' \n\t'],
  ])('a summariser that %s after them archives nothing', async (_, answer) => {
    const service = await sessionOf(turns(4))
    const onFailure = vi.fn()
    const waits = deferred<void>()
    const strategy = recursiveSummarization({
      maxEventsToKeep: 2,
      overlapSize: 0,
      onFailure,
      summarize: async (__, { signal }) => {
        await waits.promise
        return answer(signal)
      },
    })
    const result = service.compact('s', { trigger: always, strategy })
    await arrive(service)
    waits.resolve()
    expect(await result).toMatchObject({ status: 'failed', eventsRemoved: 0 })
    expect(onFailure).toHaveBeenCalledTimes(1)
    expect(await viewOf(service)).toEqual([
      ...idsOf((await service.getEvents('s')).slice(0, 8)),
      ...arrived,
    ])

    // The next one is as if nothing had been.
    const next = await service.compact('s', { trigger: always, strategy: summarise(() => 'fine') })
    expect(next.status).toBe('compacted')
  })

  test('a summariser that never settles ends with the signal, heeded or not', async () => {
    const service = await sessionOf(turns(4))
    const controller = new AbortController()
    const onFailure = vi.fn()
    const started = deferred<AbortSignal>()
    const result = service.compact('s', {
      trigger: always,
      signal: controller.signal,
      strategy: recursiveSummarization({
        maxEventsToKeep: 2,
        onFailure,
        overlapSize: 0,
        summarize: (__, { signal }) => {
          started.resolve(signal)
          return new Promise<string>(() => undefined)
        },
      }),
    })
    expect(await started.promise).toBe(controller.signal)
    await arrive(service)
    const reason = new Error('the tab is closing')
    controller.abort(reason)
    expect(await result).toMatchObject({ status: 'failed', error: reason })
    expect(onFailure).toHaveBeenCalledWith(reason)
    expect(await viewOf(service)).toHaveLength(28)
    const next = await service.compact('s', { trigger: always, strategy: keepLastTurn })
    expect(next.status).toBe('compacted')
  })

  test('an abort ends the waiting for the id of a summary as well', async () => {
    const started = deferred<void>()
    const { repository } = await sessionOf(turns(4))
    const service = createSessionService(repository, {
      generateId: () => {
        started.resolve()
        return deferred<string>().promise
      },
    })
    const controller = new AbortController()
    const { signal } = controller
    const result = service.compact('s', { trigger: always, strategy: summarise(() => 'S'), signal })
    await started.promise
    controller.abort(new Error('enough'))
    expect(await result).toMatchObject({ status: 'failed', error: new Error('enough') })
  })

  test('a summary that comes after the abort is thrown away', async () => {
    const service = await sessionOf(turns(4))
    const controller = new AbortController()
    const summary = deferred<string>()
    const started = deferred<void>()
    const result = service.compact('s', {
      trigger: always,
      signal: controller.signal,
      strategy: summarise(() => {
        started.resolve()
        return summary.promise
      }),
    })
    await started.promise
    controller.abort()
    expect((await result).status).toBe('failed')
    summary.resolve('too late')
    await Promise.resolve()
    expect((await service.findById('s'))?.eventCount).toBe(8)
    const aborted = { trigger: always, strategy: keepLastTurn, signal: AbortSignal.abort() }
    expect((await service.compact('s', aborted)).status).toBe('failed')
  })

  test('a trigger and an estimate that never settle end with the signal as well', async () => {
    const service = await sessionOf(turns(4))
    const never = () => new Promise<never>(() => undefined)
    for (const options of [
      { trigger: never, strategy: keepLastTurn },
      { trigger: always, strategy: keepLastTurn, estimateTokens: never },
    ]) {
      const controller = new AbortController()
      const result = service.compact('s', { ...options, signal: controller.signal })
      setTimeout(() => controller.abort(), 5)
      expect((await result).status).toBe('failed')
    }
  })

  test('an append that fails its expected version because of a compaction says so', async () => {
    const service = await sessionOf(turns(2))
    const expectedVersion = await service.getEventVersion('s')
    await service.compact('s', { trigger: always, strategy: keepLastTurn })
    const append = service.appendEvents('s', turns(1, 9), { expectedVersion })
    await expect(append).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
  })
})

describe('two at once', () => {
  test('of one service, one runs and both get its result', async () => {
    const service = await sessionOf(turns(4))
    const summarize = vi.fn(async () => 'they talked')
    const options = { trigger: always, strategy: summarise(summarize) }
    const [first, second] = await Promise.all([
      service.compact('s', options),
      service.compact('s', options),
    ])
    expect(second).toBe(first)
    expect(summarize).toHaveBeenCalledTimes(1)
    expect((await service.compact('s', options)).status).toBe('nothing-to-archive')
  })

  test('whoever joins may leave by a signal, without ending the other', async () => {
    const service = await sessionOf(turns(4))
    const summary = deferred<string>()
    const options = { trigger: always, strategy: summarise(() => summary.promise) }
    const first = service.compact('s', options)
    const controller = new AbortController()
    const second = service.compact('s', { ...options, signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await second).toMatchObject({ status: 'failed', error: { message: 'enough' } })
    expect((await second).compactedEvents).toHaveLength(8)
    summary.resolve('they talked')
    expect((await first).status).toBe('compacted')
  })

  test('sessions do not wait for one another', async () => {
    const service = await sessionOf(turns(4))
    await service.create({ id: 'other' })
    await service.appendEvents('other', turns(4))
    const summary = deferred<string>()
    const slow = service.compact('s', {
      trigger: always,
      strategy: summarise(() => summary.promise),
    })
    const quick = await service.compact('other', { trigger: always, strategy: keepLastTurn })
    expect(quick.status).toBe('compacted')
    summary.resolve('they talked')
    expect((await slow).status).toBe('compacted')
  })

  test('of two services, the second to commit loses, and one summary is in the view', async () => {
    const { first, second } = await twoServices()
    const slow = deferred<string>()
    const loser = first.compact('s', { trigger: always, strategy: summarise(() => slow.promise) })
    const winner = await second.compact('s', {
      trigger: always,
      strategy: summarise(() => 'quick'),
    })
    slow.resolve('slow')
    expect(winner.status).toBe('compacted')
    expect(await loser).toMatchObject({ status: 'conflict', eventsRemoved: 0, archivedEvents: [] })
    expect((await loser).compactedEvents).toEqual(winner.compactedEvents)
    const view = await viewTexts(first)
    expect(view).toEqual([expect.any(String), 'quick', 'question 4', 'answer 4'])
    expect(await second.getEvents('s')).toHaveLength(10)
  })

  test('a rewind or a cleared view in between is a conflict as well', async () => {
    for (const edit of [
      (service: SessionService) => service.rewind('s', { before: 'u4' }),
      (service: SessionService) => service.clearView('s'),
    ]) {
      const { first, second } = await twoServices()
      const summary = deferred<string>()
      const result = first.compact('s', {
        trigger: always,
        strategy: summarise(() => summary.promise),
      })
      await edit(second)
      const edited = await viewOf(second)
      summary.resolve('stale')
      expect((await result).status).toBe('conflict')
      expect(await viewOf(first)).toEqual(edited)
    }
  })

  test('a session that was deleted meanwhile stays deleted', async () => {
    const { first, second } = await twoServices()
    const summary = deferred<string>()
    const started = deferred<void>()
    const strategy = summarise(() => {
      started.resolve()
      return summary.promise
    })
    const result = first.compact('s', { trigger: always, strategy })
    await started.promise
    await second.delete('s')
    summary.resolve('of what is gone')
    await expect(result).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await first.findById('s')).toBeNull()
  })

  test('the summary of a deleted session does not get into a new one of the same id', async () => {
    const { first, second } = await twoServices()
    const summary = deferred<string>()
    const started = deferred<void>()
    const strategy = summarise(() => {
      started.resolve()
      return summary.promise
    })
    const result = first.compact('s', { trigger: always, strategy })
    await started.promise
    await second.delete('s')
    await second.create({ id: 's' })
    await second.appendEvents('s', turns(4))
    summary.resolve('of what is gone')
    await expect(result).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await viewOf(first)).toHaveLength(8)
    expect((await first.findById('s'))?.eventCount).toBe(8)
  })

  test('a store that fails is no failed compaction: the error is thrown', async () => {
    const repository = createInMemoryRepository()
    const service = createSessionService(
      {
        ...repository,
        commit: (id, commit) =>
          commit.boundary === undefined
            ? repository.commit(id, commit)
            : Promise.reject(new Error('the disk is gone')),
      },
      { defaultUserId: 'ana' },
    )
    await service.create({ id: 's' })
    await service.appendEvents('s', turns(3))
    const result = service.compact('s', { trigger: always, strategy: keepLastTurn })
    await expect(result).rejects.toThrow('the disk is gone')
  })

  test('an error of the summariser is its own, even when it is one of turnlog', async () => {
    const service = await sessionOf(turns(3))
    const strategy = summarise(async () => {
      await service.getEvents('no such session')
      return 'never'
    })
    const result = await service.compact('s', { trigger: always, strategy })
    expect(result).toMatchObject({ status: 'failed', error: { code: 'SESSION_NOT_FOUND' } })
  })
})
