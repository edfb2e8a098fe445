// The built-in triggers and strategies, through the service and by themselves.
import {
  anyOf,
  type CompactionStrategy,
  type EventInput,
  formatEvent,
  METADATA_COMPACTION_SOURCE,
  recursiveSummarization,
  type SessionEvent,
  type SummaryPrompt,
  slidingWindow,
  tokenCount,
  tokenCountTrigger,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { describe, expect, test, vi } from 'vitest'
import {
  callsTools,
  idsOf,
  says,
  sessionOf,
  toolAnswers,
  turns,
  viewOf,
  viewTexts,
} from '../../support/conversation.ts'

const always = () => true
const { signal } = new AbortController()
const length = (text: string) => text.length

async function eventsOf(events: readonly EventInput[]): Promise<readonly SessionEvent[]> {
  return (await sessionOf(events)).getEvents('s')
}

/** What is in the view after one compaction. */
async function compacted(
  events: readonly EventInput[],
  strategy: CompactionStrategy,
): Promise<string[]> {
  const service = await sessionOf(events)
  await service.compact('s', { trigger: always, strategy })
  const view = await service.getEvents('s', { excludeArchived: true })
  return view.map((event) => (event.synthetic ? `(${event.message.role})` : event.id))
}

describe('no cut leaves half of a tool exchange', () => {
  const log: readonly EventInput[] = [
    { id: 'e1', message: says('user', 'Which is nearer?') },
    { id: 'e2', message: callsTools('A', 'B') },
    { id: 'e3', message: toolAnswers('A') },
    { id: 'e4', message: toolAnswers('B') },
    { id: 'e5', message: says('assistant', 'Porto.') },
    { id: 'e6', message: says('user', 'Thanks!') },
    { id: 'e7', message: says('assistant', 'You are welcome.') },
  ]
  const strategies: Readonly<Record<string, (size: number) => CompactionStrategy>> = {
    slidingWindow: (maxEvents) => slidingWindow({ maxEvents }),
    turnWindow: (maxTurns) => turnWindow({ maxTurns }),
    tokenCount: (maxTokens) => tokenCount({ maxTokens, estimateTokens: () => 1 }),
    recursiveSummarization: (maxEventsToKeep) =>
      recursiveSummarization({ maxEventsToKeep, overlapSize: 0, summarize: () => 'summary' }),
    'keeps the newest ones': (size) => (view) => ({
      summaries: [],
      keep: idsOf(view).slice(-size),
    }),
  }
  const sizes = [1, 2, 3, 4, 5, 6, 7]
  const table = Object.keys(strategies).flatMap((name) =>
    sizes.map((size) => [name, size] as const),
  )

  test.each(table)('%s, keep size %i', async (name, size) => {
    const strategy = strategies[name]?.(size)
    if (strategy === undefined) throw new Error(`there is no strategy ${name}`)
    const view = (await compacted(log, strategy)).filter((id) => id.startsWith('e'))
    const all = idsOf(await eventsOf(log))
    const isAll = name === 'turnWindow' ? size >= 2 : size >= 7
    expect(view).toEqual(isAll ? all : ['e6', 'e7'])
  })

  test.each([...sizes, 8])('in the middle of the tool loop, keep size %i', async (size) => {
    const loop = [
      ...turns(2),
      ...log.slice(0, 3), // B has not answered yet
    ]
    for (const [name, strategyOf] of Object.entries(strategies)) {
      const view = (await compacted(loop, strategyOf(size))).filter((id) => !id.startsWith('('))
      expect([name, view.slice(-3)]).toEqual([name, ['e1', 'e2', 'e3']])
    }
  })
})

describe('windows', () => {
  test('slidingWindow counts root events; branches are free, system messages are not', async () => {
    const branch = 'root.a'
    const log: readonly EventInput[] = [
      { id: 's0', message: says('system', 'rule') },
      ...turns(1),
      { id: 'u2', message: says('user', 'delegate') },
      { id: 'b1', message: says('user', 'do it'), branch },
      { id: 'b2', message: says('assistant', 'done'), branch },
      { id: 'a2', message: says('assistant', 'done') },
    ]
    expect(await compacted(log, slidingWindow({ maxEvents: 5 }))).toHaveLength(7)
    expect(await compacted(log, slidingWindow({ maxEvents: 4 }))).toEqual([
      'u1',
      'a1',
      'u2',
      'b1',
      'b2',
      'a2',
    ])
    expect(await compacted(log, slidingWindow({ maxEvents: 3 }))).toEqual(['u2', 'b1', 'b2', 'a2'])
    expect(await compacted(log, slidingWindow({ maxEvents: 1 }))).toEqual(['u2', 'b1', 'b2', 'a2'])
  })

  test('turnWindow keeps a preamble, over several compactions', async () => {
    const service = await sessionOf([
      { id: 'p', message: says('assistant', 'Hello!') },
      ...turns(3),
    ])
    const options = { trigger: always, strategy: turnWindow({ maxTurns: 2 }) }
    await service.compact('s', options)
    expect(await viewOf(service)).toEqual(['p', 'u2', 'a2', 'u3', 'a3'])
    await service.appendEvents('s', turns(2, 4))
    await service.compact('s', options)
    expect(await viewOf(service)).toEqual(['p', 'u4', 'a4', 'u5', 'a5'])
  })

  test('tokenCount keeps what fits, charges summaries first and never cuts the newest turn', async () => {
    const cost = formatEvent((await eventsOf(turns(1)))[0] as SessionEvent).length
    const answer = formatEvent((await eventsOf(turns(1)))[1] as SessionEvent).length
    const estimate = { estimateTokens: length }
    const turn = cost + answer
    expect(await compacted(turns(4), tokenCount({ maxTokens: turn * 2, ...estimate }))).toEqual([
      'u3',
      'a3',
      'u4',
      'a4',
    ])
    expect(await compacted(turns(4), tokenCount({ maxTokens: turn * 2 - 1, ...estimate }))).toEqual(
      ['u4', 'a4'],
    )
    expect(await compacted(turns(4), tokenCount({ maxTokens: 1, ...estimate }))).toEqual([
      'u4',
      'a4',
    ])
    const summary = { id: 'sum', message: says('user', 'x'.repeat(turn)), synthetic: true }
    expect(
      await compacted([summary, ...turns(4)], tokenCount({ maxTokens: turn * 3, ...estimate })),
    ).toEqual(['(user)', 'u4', 'a4'])
  })

  test('the defaults: 20 events, 10 turns, 4,000 tokens, and null stands for them', async () => {
    expect(await compacted(turns(11), slidingWindow())).toHaveLength(20)
    expect(await compacted(turns(11), slidingWindow(null))).toHaveLength(20)
    expect(await compacted(turns(12), turnWindow({ maxTurns: null }))).toHaveLength(20)
    expect(await compacted(turns(12), turnWindow(null))).toHaveLength(20)
    const thousand = turns(6).map((event) => ({ ...event, message: says('user', 'x') }))
    const strategy = tokenCount({ estimateTokens: () => 1000 })
    expect(await compacted(thousand, strategy)).toHaveLength(4)
    expect(tokenCount(null)).toBeTypeOf('function')
  })
})

describe('recursiveSummarization', () => {
  const record = () => {
    const prompts: SummaryPrompt[] = []
    const summarize = (prompt: SummaryPrompt) => {
      prompts.push(prompt)
      return `summary ${prompts.length}`
    }
    return { prompts, summarize }
  }
  const places = (prompt: string, words: readonly string[]) =>
    words.map((word) => prompt.indexOf(word))

  test('the prompt: earlier summary, what is archived, what follows', async () => {
    const { prompts, summarize } = record()
    const service = await sessionOf(turns(4))
    const strategy = recursiveSummarization({ maxEventsToKeep: 4, overlapSize: 1, summarize })
    await service.compact('s', { trigger: always, strategy })
    await service.appendEvents('s', turns(2, 5))
    await service.compact('s', { trigger: always, strategy })
    const [first, second] = prompts.map(({ prompt }) => prompt)
    expect(first).not.toContain('Earlier summary')
    const order = ['question 1', 'answer 1', 'question 2', 'answer 2', 'question 3']
    const found = places(first ?? '', order)
    expect(found.every((place) => place >= 0)).toBe(true)
    expect(found).toEqual([...found].sort((a, b) => a - b))
    expect(first).not.toContain('answer 3')

    const again = places(second ?? '', ['summary 1', 'question 3', 'answer 4', 'question 5'])
    expect(again.every((place) => place >= 0)).toBe(true)
    expect(again).toEqual([...again].sort((a, b) => a - b))
    expect(second).not.toContain('question 1')
    expect(second).not.toContain('What have we talked about')
    expect(await viewTexts(service)).toEqual([
      'What have we talked about so far?',
      'summary 2',
      'question 5',
      'answer 5',
      'question 6',
      'answer 6',
    ])
  })

  test('the pair in the view is marked, and the superseded pair is archived', async () => {
    const { summarize } = record()
    const service = await sessionOf(turns(3))
    const strategy = recursiveSummarization({
      maxEventsToKeep: 2,
      overlapSize: 0,
      shadowPrompt: 'Well?',
      summarize,
    })
    await service.compact('s', { trigger: always, strategy })
    await service.appendEvents('s', turns(1, 4))
    const { archivedEvents } = await service.compact('s', { trigger: always, strategy })
    expect(archivedEvents.map(({ message }) => message.content)).toEqual([
      'Well?',
      'summary 1',
      'question 3',
      'answer 3',
    ])
    const summaries = (await service.getEvents('s')).filter((event) => event.synthetic)
    expect(
      summaries.map(({ message, archived, metadata }) => [message.content, archived, metadata]),
    ).toEqual(
      ['Well?', 'summary 1', 'Well?', 'summary 2'].map((text, index) => [
        text,
        index < 2,
        { [METADATA_COMPACTION_SOURCE]: 'recursive-summarization', synthetic: true },
      ]),
    )
  })

  test('a summary of another kind is not lost: without an answer after it, it is no placeholder', async () => {
    const { prompts, summarize } = record()
    const service = await sessionOf([
      { id: 'note', message: says('user', 'The user is vegetarian.'), synthetic: true },
      ...turns(3),
    ])
    const strategy = recursiveSummarization({ maxEventsToKeep: 2, overlapSize: 0, summarize })
    await service.compact('s', { trigger: always, strategy })
    expect(prompts[0]?.prompt).toContain('The user is vegetarian.')
  })

  test('what was erased does not get into a prompt', async () => {
    const { prompts, summarize } = record()
    const service = await sessionOf([
      { id: 'sum', message: says('assistant', 'an earlier secret'), synthetic: true },
      ...turns(3),
    ])
    await service.eraseEvent('s', 'sum')
    await service.eraseEvent('s', 'u1')
    const strategy = recursiveSummarization({ maxEventsToKeep: 2, overlapSize: 0, summarize })
    await service.compact('s', { trigger: always, strategy })
    expect(prompts[0]?.prompt).not.toMatch(/secret|question 1|Earlier summary|User: \n/)
    expect(prompts[0]?.prompt).toContain('answer 1')
  })

  test('the prompt is well-formed, whatever a formatter cuts', async () => {
    const { prompts, summarize } = record()
    const service = await sessionOf([
      { message: says('user', `${'x'.repeat(9)}🏷 label`) },
      ...turns(2),
    ])
    const strategy = recursiveSummarization({
      maxEventsToKeep: 2,
      overlapSize: 0,
      summarize,
      formatEvent: (event) => formatEvent(event).slice(0, 16),
    })
    await service.compact('s', { trigger: always, strategy })
    expect(prompts[0]?.prompt.isWellFormed()).toBe(true)
    expect(prompts[0]?.prompt).toContain('x\ufffd')
  })

  test('below the limit there is no model call', async () => {
    const { prompts, summarize } = record()
    const strategy = recursiveSummarization({ summarize })
    expect(await strategy(await eventsOf(turns(5)), { signal })).toBeNull()
    // One turn longer than the window: there is nothing that could be archived.
    const long = [
      says('user', 'go'),
      ...Array.from({ length: 20 }, () => says('assistant', 'step')),
    ]
    expect(
      await strategy(await eventsOf(long.map((message) => ({ message }))), { signal }),
    ).toBeNull()
    expect(prompts).toEqual([])
  })

  test('the text is stored as it came', async () => {
    const service = await sessionOf(turns(3))
    const strategy = recursiveSummarization({
      maxEventsToKeep: 2,
      overlapSize: 0,
      summarize: async () => ' as is \n',
    })
    await service.compact('s', { trigger: always, strategy })
    expect((await viewTexts(service))[1]).toBe(' as is \n')
  })
})

describe('triggers', () => {
  test('turnCountTrigger counts real questions of the root', async () => {
    const log = await eventsOf([
      { message: says('user', 'sum'), synthetic: true },
      ...turns(2),
      { message: says('user', 'sub'), branch: 'root.a' },
    ])
    expect(await turnCountTrigger(2)(log)).toBe(false)
    expect(await turnCountTrigger(1)(log)).toBe(true)
    expect(await turnCountTrigger(1)([])).toBe(false)
  })

  test('tokenCountTrigger fires at its threshold, with any estimate', async () => {
    const log = await eventsOf(turns(2))
    const estimateTokens = async () => 5
    expect(await tokenCountTrigger({ threshold: 20, estimateTokens })(log)).toBe(true)
    expect(await tokenCountTrigger({ threshold: 21, estimateTokens })(log)).toBe(false)
    expect(await tokenCountTrigger({ threshold: 1 })(log)).toBe(true)
    expect(await tokenCountTrigger({ threshold: 1 })([])).toBe(false)
  })

  test('an estimate that is no number decides nothing', async () => {
    const log = await eventsOf(turns(3))
    for (const estimateTokens of [
      () => Number.NaN,
      () => -1,
      () => undefined as unknown as number,
      () => 'many' as unknown as number,
    ]) {
      const refused = {
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/^estimateTokens/),
      }
      const trigger = tokenCountTrigger({ threshold: 1, estimateTokens })
      await expect(trigger(log)).rejects.toMatchObject(refused)
      const strategy = tokenCount({ maxTokens: 1, estimateTokens })
      await expect(strategy(log, { signal })).rejects.toMatchObject(refused)
      const service = await sessionOf(turns(3))
      const result = await service.compact('s', { trigger: always, strategy })
      expect(result).toMatchObject({ status: 'failed', error: refused })
    }
  })

  test('anyOf asks in order and stops at the first yes', async () => {
    const last = vi.fn(() => true)
    expect(
      await anyOf(
        async () => false,
        () => true,
        last,
      )([]),
    ).toBe(true)
    expect(last).not.toHaveBeenCalled()
    expect(await anyOf(() => false, last)([])).toBe(true)
    expect(await anyOf(() => false)([])).toBe(false)
  })

  test.each<[string, () => unknown, string]>([
    ['slidingWindow', () => slidingWindow({ maxEvents: 0 }), 'maxEvents'],
    ['slidingWindow of a fraction', () => slidingWindow({ maxEvents: 1.5 }), 'maxEvents'],
    ['turnWindow', () => turnWindow({ maxTurns: -1 }), 'maxTurns'],
    ['tokenCount', () => tokenCount({ maxTokens: Number.NaN }), 'maxTokens'],
    ['tokenCount', () => tokenCount({ estimateTokens: null as never }), 'estimateTokens'],
    ['turnCountTrigger', () => turnCountTrigger(undefined as never), 'maxTurns'],
    ['tokenCountTrigger', () => tokenCountTrigger(undefined as never), 'threshold'],
    ['tokenCountTrigger', () => tokenCountTrigger({ threshold: '9' as never }), 'threshold'],
    ['anyOf', () => anyOf(), 'triggers'],
    ['anyOf', () => anyOf(() => true, 1 as never), 'triggers[1]'],
    ['recursiveSummarization', () => recursiveSummarization(undefined as never), 'summarize'],
    [
      'recursiveSummarization',
      () => recursiveSummarization({ summarize: () => '', maxEventsToKeep: 2 }),
      'overlapSize',
    ],
    [
      'recursiveSummarization',
      () => recursiveSummarization({ summarize: () => '', shadowPrompt: ' ' }),
      'shadowPrompt',
    ],
  ])('%s refuses what makes no sense', (_, make, field) => {
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { field } }))
  })
})
