// Editing and regenerating: rewind and clearView, before and after compactions, and against one another.
import {
  CONVERSATION_ID,
  type CompactionStrategy,
  createSessionEventTools,
  recursiveSummarization,
  type SessionService,
  turnWindow,
} from 'turnlog'
import { createInMemoryDatabase, createInMemoryRepository } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test } from 'vitest'
import {
  deferred,
  idsOf,
  says,
  sessionOf,
  turns,
  viewOf,
  viewTexts,
} from '../../support/conversation.ts'
import { LogWitness } from '../../support/log-invariants.ts'

const always = () => true
let summaries = 0
const summarise = recursiveSummarization({
  maxEventsToKeep: 2,
  overlapSize: 0,
  summarize: ({ prompt }) => `summary ${++summaries} of ${prompt.length} characters`,
})

async function compact(service: SessionService, strategy: CompactionStrategy = summarise) {
  const { status } = await service.compact('s', { trigger: always, strategy })
  expect(status).toBe('compacted')
}

/** The real events of the view, and the number of summaries before them. */
async function shape(service: SessionService): Promise<readonly [number, readonly string[]]> {
  const view = await service.getEvents('s', { excludeArchived: true })
  const real = view.filter((event) => !event.synthetic)
  return [view.length - real.length, idsOf(real)]
}

/** How often the model's tool finds a text. */
async function hits(service: SessionService, query: string): Promise<number> {
  const [tool] = createSessionEventTools(service)
  const text = await tool.execute({ innerThought: '', query }, { [CONVERSATION_ID]: 's' })
  return text === 'No results found.' ? 0 : (JSON.parse(text) as unknown[]).length
}

test('ask, answer, edit, answer, regenerate twice, compact, rewind to an archived event', async () => {
  const service = await sessionOf()
  const witness = new LogWitness(service, 's')
  const say = async (role: 'user' | 'assistant', content: string) => {
    const { id } = await service.appendMessage('s', says(role, content))
    await witness.check()
    return id
  }
  const rewind = async (target: { before: string } | { after: string }) => {
    const removed = await service.rewind('s', target)
    await witness.check()
    return removed
  }

  await say('user', 'I live in Lisbon')
  await say('assistant', 'Noted')
  const typo = await say('user', 'What is the wether?')
  await say('assistant', 'Rather wet')
  expect(await rewind({ before: typo })).toBe(2)
  expect(await viewTexts(service)).toEqual(['I live in Lisbon', 'Noted'])

  const question = await say('user', 'What is the weather?')
  await say('assistant', 'Foggy')
  expect(await rewind({ after: question })).toBe(1)
  await say('assistant', 'Stormy')
  expect(await rewind({ after: question })).toBe(1)
  await say('assistant', 'Sunny')
  expect(await viewTexts(service)).toEqual([
    'I live in Lisbon',
    'Noted',
    'What is the weather?',
    'Sunny',
  ])
  for (const gone of ['wether', 'Rather wet', 'Foggy', 'Stormy']) {
    expect([gone, await hits(service, gone)]).toEqual([gone, 0])
  }
  for (const there of ['Lisbon', 'What is the weather?', 'Sunny']) {
    expect([there, await hits(service, there)]).toEqual([there, 1])
  }

  await say('user', 'And tomorrow?')
  await say('assistant', 'Rain')
  await compact(service)
  await witness.check()
  expect((await viewTexts(service)).slice(2)).toEqual(['And tomorrow?', 'Rain'])
  expect(await hits(service, 'Sunny')).toBe(1)

  // The question is archived by now: the view is what it was when it was asked.
  expect(await rewind({ after: question })).toBe(4)
  expect(await viewTexts(service)).toEqual(['I live in Lisbon', 'Noted', 'What is the weather?'])
  for (const gone of ['Sunny', 'And tomorrow?', 'Rain', 'wether', 'Stormy']) {
    expect([gone, await hits(service, gone)]).toEqual([gone, 0])
  }
  await say('assistant', 'Hot')
  const log = await service.getEvents('s')
  expect(log.filter((event) => !event.synthetic).map(({ message }) => message.content)).toEqual([
    'I live in Lisbon',
    'Noted',
    'What is the wether?',
    'Rather wet',
    'What is the weather?',
    'Foggy',
    'Stormy',
    'Sunny',
    'And tomorrow?',
    'Rain',
    'Hot',
  ])
  const forPeople = await service.getEvents('s', { excludeRewound: true, excludeSynthetic: true })
  expect(forPeople.map(({ message }) => message.content)).toEqual([
    'I live in Lisbon',
    'Noted',
    'What is the weather?',
    'Hot',
  ])
  await compact(service, turnWindow({ maxTurns: 1 }))
  await witness.check()
  expect(await viewTexts(service)).toEqual(['What is the weather?', 'Hot'])
})

describe('the target', () => {
  test('before and after, first and last', async () => {
    const service = await sessionOf(turns(3))
    expect(await service.rewind('s', { after: 'a3' })).toBe(0)
    expect(await service.getEventVersion('s')).toBe(6)
    expect(await service.rewind('s', { after: 'a2' })).toBe(2)
    expect(await service.rewind('s', { before: 'a2' })).toBe(1)
    expect(await viewOf(service)).toEqual(['u1', 'a1', 'u2'])
    expect(await service.getEventVersion('s')).toBe(8)
    expect(await service.rewind('s', { before: 'u1' })).toBe(3)
    expect(await viewOf(service)).toEqual([])
    expect((await service.getEvents('s')).every((event) => event.rewound)).toBe(true)
    await service.appendEvents('s', turns(1, 9))
    expect(await viewOf(service)).toEqual(['u9', 'a9'])
  })

  test('what was rewound cannot be a target, nor what is not there', async () => {
    const service = await sessionOf(turns(2))
    await service.rewind('s', { before: 'u2' })
    for (const target of [{ before: 'a2' }, { after: 'u2' }]) {
      await expect(service.rewind('s', target)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('earlier rewind'),
      })
    }
    await expect(service.rewind('s', { before: 'nobody' })).rejects.toMatchObject({
      code: 'EVENT_NOT_FOUND',
    })
    await expect(service.rewind('nobody', { before: 'u1' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    for (const target of [
      null,
      undefined,
      {},
      { before: 'u1', after: 'u1' },
      { before: ' ' },
      { after: 5 },
      'u1',
    ]) {
      await expect(service.rewind('s', target as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
    }
  })

  test('in the view of a compaction: the summary stays, later events go', async () => {
    const service = await sessionOf(turns(4))
    await compact(service)
    await service.appendEvents('s', turns(2, 5))
    expect(await service.rewind('s', { before: 'u5' })).toBe(4)
    expect(await shape(service)).toEqual([2, ['u4', 'a4']])
    // Also to an event that the compaction kept.
    expect(await service.rewind('s', { after: 'u4' })).toBe(1)
    expect(await shape(service)).toEqual([2, ['u4']])
    expect(await service.rewind('s', { before: 'u4' })).toBe(1)
    expect(await shape(service)).toEqual([2, []])
    expect(await hits(service, 'question 1')).toBe(1)
  })

  test('archived: the view of the moment, over several compactions', async () => {
    const service = await sessionOf(turns(3))
    const witness = new LogWitness(service, 's')
    await compact(service) // keeps turn 3
    const first = await viewTexts(service)
    await service.appendEvents('s', turns(2, 4))
    await compact(service) // keeps turn 5
    await service.appendEvents('s', turns(2, 6))
    await compact(service) // keeps turn 7
    await witness.check()

    // Turn 5 came when the first summary was in force.
    await service.rewind('s', { before: 'u5' })
    await witness.check()
    expect(await viewTexts(service)).toEqual([...first, 'question 4', 'answer 4'])
    // Turn 2 came before any compaction.
    await service.rewind('s', { after: 'u2' })
    await witness.check()
    expect(await viewOf(service)).toEqual(['u1', 'a1', 'u2'])
    const log = await service.getEvents('s')
    expect(log.filter((event) => !event.rewound).map(({ id }) => id)).toEqual(['u1', 'a1', 'u2'])
  })

  test('appended while a compaction ran: the view of then, and not of its end', async () => {
    const service = await sessionOf(turns(3))
    const summary = deferred<string>()
    const result = service.compact('s', {
      trigger: always,
      strategy: recursiveSummarization({
        maxEventsToKeep: 2,
        overlapSize: 0,
        summarize: () => summary.promise,
      }),
    })
    await service.appendEvents('s', turns(1, 4))
    summary.resolve('so far')
    await result
    expect(await shape(service)).toEqual([2, ['u3', 'a3', 'u4', 'a4']])
    await service.appendEvents('s', turns(1, 5))
    await compact(service)
    expect(await service.rewind('s', { before: 'a4' })).toBe(4)
    expect(await viewOf(service)).toEqual(['u1', 'a1', 'u2', 'a2', 'u3', 'a3', 'u4'])
  })

  test('a kept preamble: what came after it is undone, its summary included', async () => {
    const service = await sessionOf([
      { id: 'p', message: says('assistant', 'Hello!') },
      ...turns(3),
    ])
    const strategy: CompactionStrategy = (view) => ({
      summaries: [{ message: says('assistant', 'they spoke of secrets') }],
      keep: ['p', ...idsOf(view).slice(-2)],
    })
    await compact(service, strategy)
    expect(await shape(service)).toEqual([1, ['p', 'u3', 'a3']])
    await service.rewind('s', { after: 'p' })
    expect(await viewTexts(service)).toEqual(['Hello!'])
    expect(await hits(service, 'question')).toBe(0)
    const log = await service.getEvents('s')
    expect(log.filter((event) => !event.rewound).map(({ id }) => id)).toEqual(['p'])
  })

  test('a kept turn stays cut as it is when only summaries were superseded since', async () => {
    const service = await sessionOf(turns(3))
    const strategy: CompactionStrategy = (view) => ({
      summaries: [{ message: says('assistant', `summary at ${view.length}`) }],
      keep: idsOf(view).filter((id) => /^[ua][23]$/.test(id)),
    })
    await compact(service, strategy)
    await service.appendEvents('s', turns(1, 4))
    await compact(service, strategy)
    expect(await shape(service)).toEqual([1, ['u2', 'a2', 'u3', 'a3', 'u4', 'a4']])
    await service.rewind('s', { after: 'u3' })
    expect(await viewTexts(service)).toEqual([
      'summary at 7',
      'question 2',
      'answer 2',
      'question 3',
    ])
  })

  test.each(['after', 'before'] as const)('%s a summary of the view', async (part) => {
    const service = await sessionOf(turns(3))
    await compact(service)
    const [question, answer] = await service.getEvents('s', { excludeArchived: true })
    const target = { after: { after: question?.id ?? '' }, before: { before: answer?.id ?? '' } }
    expect(await service.rewind('s', target[part])).toBe(3)
    expect(await viewOf(service)).toEqual([question?.id])
    // What it stands for is older than it, and still archived.
    expect(await hits(service, 'question 1')).toBe(1)
    expect(await hits(service, 'question 3')).toBe(0)
  })

  test('a superseded summary: the view as its compaction left it', async () => {
    const service = await sessionOf(turns(3))
    await compact(service)
    const [question, answer] = await service.getEvents('s', { excludeArchived: true })
    await service.appendEvents('s', turns(2, 4))
    await compact(service)
    await service.rewind('s', { after: answer?.id ?? '' })
    expect(await viewOf(service)).toEqual([question?.id, answer?.id])
    expect(await hits(service, 'question 1')).toBe(1)
    for (const gone of ['question 3', 'question 4', 'question 5']) {
      expect([gone, await hits(service, gone)]).toEqual([gone, 0])
    }
  })

  test('an erased event, and an event of a branch', async () => {
    const service = await sessionOf([
      ...turns(1),
      { id: 'b', message: says('user', 'sub'), branch: 'root.a' },
      ...turns(1, 2),
    ])
    await service.eraseEvent('s', 'u2')
    expect(await service.rewind('s', { before: 'u2' })).toBe(2)
    expect(await service.rewind('s', { before: 'b' })).toBe(1)
    expect(await viewOf(service)).toEqual(['u1', 'a1'])
  })
})

describe('clearView', () => {
  test('archives everything, and the log goes on', async () => {
    const service = await sessionOf(turns(2))
    expect(await service.clearView('s')).toBe(4)
    expect(await viewOf(service)).toEqual([])
    expect(await service.clearView('s')).toBe(0)
    const version = await service.getEventVersion('s')
    expect(version).toBe(5)
    await service.appendEvents('s', turns(1, 3))
    expect(await viewOf(service)).toEqual(['u3', 'a3'])
    expect(await hits(service, 'question')).toBe(3)
    expect((await service.getEvents('s')).filter((event) => event.archived)).toHaveLength(4)
    await expect(service.clearView('nobody')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  test('can be taken back to any event, and takes summaries along', async () => {
    const service = await sessionOf(turns(4))
    await compact(service)
    expect(await service.clearView('s')).toBe(4)
    await service.rewind('s', { after: 'a2' })
    expect(await viewOf(service)).toEqual(['u1', 'a1', 'u2', 'a2'])
  })

  test('what was rewound stays so', async () => {
    const service = await sessionOf(turns(2))
    await service.rewind('s', { before: 'u2' })
    expect(await service.clearView('s')).toBe(2)
    const log = await service.getEvents('s')
    expect(log.map((event) => [event.archived, event.rewound])).toEqual([
      [true, false],
      [true, false],
      [false, true],
      [false, true],
    ])
  })
})

describe('at the same time', () => {
  const open = async (count: number) => {
    const database = createInMemoryDatabase()
    const services = Array.from({ length: count }, () =>
      createSessionService(createInMemoryRepository(database), { defaultUserId: 'ana' }),
    )
    const [first] = services
    if (first === undefined) throw new Error('there is no service')
    await first.create({ id: 's' })
    await first.appendEvents('s', turns(6))
    return { first, services }
  }

  test('an append that a rewind did not see stays in the view', async () => {
    const { first, services } = await open(1)
    const repository = first.repository
    const slow = createSessionService(
      {
        ...repository,
        async commit(id, commit) {
          if (commit.boundary !== undefined) await services[0]?.appendEvents('s', turns(1, 7))
          return repository.commit(id, commit)
        },
      },
      { defaultUserId: 'ana' },
    )
    expect(await slow.rewind('s', { before: 'u3' })).toBe(8)
    expect(await viewOf(first)).toEqual(['u1', 'a1', 'u2', 'a2', 'u7', 'a7'])
  })

  test('an event that came between two looks is found', async () => {
    const { first } = await open(1)
    const repository = first.repository
    let looks = 0
    const slow = createSessionService(
      {
        ...repository,
        async findSession(id, options) {
          const session = await repository.findSession(id, options)
          if (looks++ === 0) await first.appendEvents('s', turns(1, 7))
          return session
        },
      },
      { defaultUserId: 'ana' },
    )
    expect(await slow.rewind('s', { before: 'a7' })).toBe(1)
    expect((await viewOf(first)).at(-1)).toBe('u7')
  })

  test('a rewind tries again after a compaction came first', async () => {
    const { first } = await open(1)
    const repository = first.repository
    let commits = 0
    const slow = createSessionService(
      {
        ...repository,
        async commit(id, commit) {
          if (commits++ === 0) await compact(first)
          return repository.commit(id, commit)
        },
      },
      { defaultUserId: 'ana' },
    )
    await slow.rewind('s', { before: 'u5' })
    expect(commits).toBe(2)
    // The compaction archived it, so the view is the one of the moment.
    expect((await viewOf(first)).at(-1)).toBe('a4')
    expect(await hits(first, 'question 6')).toBe(0)
  })

  test('when others always come first, it gives up with the conflict', async () => {
    const { first } = await open(1)
    const repository = first.repository
    const slow = createSessionService(
      {
        ...repository,
        async commit(id, commit) {
          await first.appendMessage('s', says('user', 'again'))
          await first.clearView('s')
          return repository.commit(id, commit)
        },
      },
      { defaultUserId: 'ana' },
    )
    await expect(slow.rewind('s', { before: 'u5' })).rejects.toMatchObject({
      code: 'BOUNDARY_CONFLICT',
    })
  })

  test('a session created anew under the id is not rewound', async () => {
    const { first } = await open(1)
    const repository = first.repository
    const slow = createSessionService(
      {
        ...repository,
        async commit(id, commit) {
          await first.delete('s')
          await first.create({ id: 's' })
          await first.appendEvents('s', turns(6))
          return repository.commit(id, commit)
        },
      },
      { defaultUserId: 'ana' },
    )
    await expect(slow.rewind('s', { before: 'u5' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    expect(await viewOf(first)).toHaveLength(12)
  })

  test('rewinds, compactions, cleared views and appends from five sides at once', async () => {
    for (let round = 0; round < 20; round++) {
      const { first, services } = await open(5)
      const witness = new LogWitness(first, 's')
      await witness.check()
      const [one, two, three, four, five] = services as [
        SessionService,
        SessionService,
        SessionService,
        SessionService,
        SessionService,
      ]
      const appends = Array.from({ length: 10 }, (_, index) => index + 10)
      const outcomes = await Promise.allSettled([
        one.rewind('s', { before: 'u5' }),
        two.rewind('s', { after: 'u3' }),
        three.compact('s', { trigger: always, strategy: turnWindow({ maxTurns: 2 }) }),
        four.clearView('s'),
        ...appends.map((number) => five.appendEvents('s', turns(1, number))),
      ])
      for (const outcome of outcomes) {
        // u5 may have been taken out by the other rewind already.
        if (outcome.status === 'rejected') {
          expect(outcome.reason).toMatchObject({ code: 'INVALID_ARGUMENT' })
        }
      }
      const { log } = await witness.check()
      expect(log).toHaveLength(32)
      expect(log.find(({ id }) => id === 'a5')?.rewound).toBe(true)
    }
  })
})
