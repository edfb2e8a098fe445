// Session memory around a model call: what is stored when, and what the model sees.
import {
  allMessages,
  byMessageType,
  containsText,
  createSessionMemory,
  EventFilter,
  type MemoryRun,
  type Message,
  messageFilter,
  recursiveSummarization,
  type SessionService,
  skipEmptyMessages,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { createInMemoryRepository, createInMemorySessionService } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test, vi } from 'vitest'
import {
  callsTools,
  deferred,
  says,
  sessionOf,
  toolAnswers,
  turns,
} from '../../support/conversation.ts'

const user = (content: string) => says('user', content)
const assistant = (content: string) => says('assistant', content)

const newService = () => createInMemorySessionService({ defaultUserId: 'ana' })

/** What the log holds, as role and text. */
async function logOf(service: SessionService, sessionId = 's'): Promise<unknown[]> {
  const messages = await service.getMessages(sessionId)
  return messages.map(({ role, content }) =>
    typeof content === 'string'
      ? `${role}: ${content}`
      : `${role}: ${content.map(({ type }) => type).join('+')}`,
  )
}

/** One question and its answer. */
async function exchange(service: SessionService, question: string, answer: string) {
  const memory = createSessionMemory(service)
  const run = await memory.begin({ sessionId: 's', messages: [user(question)] })
  await run.end([assistant(answer)])
}

describe('one exchange', () => {
  test('the question is stored before the model is asked, the answer after', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const run = await memory.begin({ sessionId: 's', messages: [user('Hello')] })
    expect(await logOf(service)).toEqual(['user: Hello'])
    expect(run.system).toEqual([])
    expect(run.messages).toEqual([user('Hello')])
    const { events, compaction } = await run.end([assistant('Hi!')])
    expect(events.map(({ message }) => message)).toEqual([assistant('Hi!')])
    expect(compaction).toBeNull()
    expect(await logOf(service)).toEqual(['user: Hello', 'assistant: Hi!'])
    expect((await service.findById('s'))?.userId).toBe('ana')
  })

  test('the history comes before the new messages, system messages stand apart and first', async () => {
    const service = await sessionOf([
      { message: says('system', 'old rule') },
      { message: user('one') },
      { message: assistant('1') },
    ])
    const memory = createSessionMemory(service)
    const run = await memory.begin({
      sessionId: 's',
      messages: [says('system', 'new rule'), user('two')],
    })
    expect(run.system).toEqual([says('system', 'old rule'), says('system', 'new rule')])
    expect(run.messages).toEqual([user('one'), assistant('1'), user('two')])
    // System messages of the call are the application's, and not stored.
    expect(await logOf(service)).toHaveLength(4)
  })

  test('only the last user or tool message of a new run is stored', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const run = await memory.begin({
      sessionId: 's',
      messages: [user('context'), user('question'), assistant('Sure:')],
    })
    expect(await logOf(service)).toEqual(['user: question'])
    expect(run.messages).toEqual([user('context'), user('question'), assistant('Sure:')])
    const nothing = await memory.begin({ sessionId: 's', messages: [says('system', 'x')] })
    expect(nothing.messages).toEqual([user('question')])
    expect(await logOf(service)).toEqual(['user: question'])
    await memory.begin({ sessionId: 's', messages: [] })
    expect(await logOf(service)).toEqual(['user: question'])
  })

  test('two honest identical questions are both stored', async () => {
    const service = newService()
    await exchange(service, 'ok', 'fine')
    await exchange(service, 'ok', 'fine')
    expect(await logOf(service)).toEqual([
      'user: ok',
      'assistant: fine',
      'user: ok',
      'assistant: fine',
    ])
    const memory = createSessionMemory(service)
    await memory.begin({ sessionId: 's', messages: [user('ok'), user('ok')], runId: 'r' })
    await memory.begin({
      sessionId: 's',
      messages: [user('ok'), user('ok'), user('ok')],
      runId: 'r',
    })
    expect(await logOf(service)).toHaveLength(6)
  })

  test('the tools are bound to the session', async () => {
    const service = await sessionOf(turns(3))
    await service.create({ id: 'other' })
    await service.appendMessage('other', user('question 9'))
    const memory = createSessionMemory(service, { crossSessionSearch: true, pageSize: 2 })
    const run = await memory.begin({ sessionId: 's', messages: [user('now')] })
    expect(run.tools.map(({ name }) => name)).toEqual([
      'conversation_search',
      'cross_session_search',
    ])
    const [own, all] = run.tools
    const found = JSON.parse((await own?.execute({ innerThought: '', query: 'question' })) ?? '')
    expect(found).toHaveLength(2)
    const everywhere = await all?.execute({ innerThought: '', query: 'question 9' })
    expect(everywhere).toContain('"other"')
    expect(await own?.execute({ innerThought: '', query: 'question 9' })).toBe('No results found.')
  })
})

describe('a tool loop', () => {
  const question = user('Where are A and B?')
  const calls = callsTools('A', 'B')
  const answers = toolAnswers('A', 'B')
  const stored = [
    'user: Where are A and B?',
    'assistant: tool-call+tool-call',
    'tool: tool-result+tool-result',
    'assistant: Here.',
  ]

  test('called with growing lists, each message is stored once', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const first = await memory.begin({ sessionId: 's', messages: [question] })
    const { runId } = first
    const second = await memory.begin({
      sessionId: 's',
      runId,
      messages: [question, calls, answers],
    })
    expect(second.runId).toBe(runId)
    expect(second.messages).toEqual([question, calls, answers])
    expect(await logOf(service)).toEqual(stored.slice(0, 3))
    await second.end([assistant('Here.')])
    expect(await logOf(service)).toEqual(stored)
  })

  test('or all at once, when the framework runs the loop', async () => {
    const service = newService()
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [question] })
    await run.end([calls, answers, assistant('Here.')])
    expect(await logOf(service)).toEqual(stored)
  })

  test('retried in the middle with its run id, also after a reload', async () => {
    for (const isReloaded of [false, true]) {
      const service = newService()
      let memory = createSessionMemory(service)
      const reload = () => {
        if (isReloaded) memory = createSessionMemory(service)
      }
      const runId = 'run-1'
      const step = (messages: readonly Message[]) =>
        memory.begin({ sessionId: 's', messages, runId })

      await step([question])
      reload()
      await step([question]) // the first model call failed
      await step([question, calls, answers])
      reload()
      const retried = await step([question, calls, answers]) // so did the second
      expect(retried.messages).toEqual([question, calls, answers])
      await retried.end([assistant('Here.')])
      await retried.end([assistant('Here.')]) // the answer of end() was lost
      expect(await logOf(service)).toEqual(stored)

      // What follows sees each once, in order.
      reload()
      const next = await memory.begin({ sessionId: 's', messages: [user('Thanks')] })
      expect(next.messages).toEqual([question, calls, answers, assistant('Here.'), user('Thanks')])
    }
  })

  test('begun twice at the same moment, each message is stored once', async () => {
    const service = newService()
    const memories = [createSessionMemory(service), createSessionMemory(service)]
    const runs = await Promise.all(
      memories.map((memory) => memory.begin({ sessionId: 's', messages: [question], runId: 'r' })),
    )
    expect(runs.map(({ messages }) => messages)).toEqual([[question], [question]])
    await Promise.all(runs.map((run) => run.end([assistant('Here.')])))
    expect(await logOf(service)).toEqual([stored[0], stored[3]])
  })

  test('one run id may begin another', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const begin = (runId: string, text: string) =>
      memory.begin({ sessionId: 's', messages: [user(text)], runId })
    await (await begin('chat', 'one')).end([assistant('1')])
    await (await begin('chat:2', 'two')).end([assistant('2')])
    await (await begin('chat:2:0', 'three')).end([assistant('3')])
    expect(await logOf(service)).toHaveLength(6)
    const run = await begin('chat', 'one')
    // Its own messages are given again; those of the others are history.
    expect(run.messages.map(({ content }) => content)).toEqual(['two', '2', 'three', '3', 'one'])
  })
})

describe('aborted', () => {
  const aborted = async (service: SessionService, runId: string, part: string) => {
    const run = await createSessionMemory(service).begin({
      sessionId: 's',
      messages: [user('Tell me')],
      runId,
    })
    await run.abort([assistant(part)])
    return run
  }
  const promptOf = async (service: SessionService, text = 'next') => {
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user(text)] })
    return run.messages.map(({ content }) => content)
  }

  test('what came is kept, and the next question is accepted', async () => {
    const service = newService()
    await aborted(service, 'r', 'Once upon')
    const [, part] = await service.getEvents('s')
    expect(part).toMatchObject({ message: assistant('Once upon'), metadata: { aborted: true } })
    expect(await promptOf(service)).toEqual(['Tell me', 'Once upon', 'next'])
  })

  test('with nothing, the question stands alone', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const run = await memory.begin({ sessionId: 's', messages: [user('Tell me')] })
    expect(await run.abort()).toEqual([])
    expect(await run.abort(null)).toEqual([])
    expect(await run.abort([assistant('  ')])).toEqual([])
    expect(await promptOf(service)).toEqual(['Tell me', 'next'])
  })

  test('a retry does not see its own part, stores its answer besides, and supersedes the part', async () => {
    const service = newService()
    await aborted(service, 'r', 'Once upon')
    const retry = await createSessionMemory(service).begin({
      sessionId: 's',
      messages: [user('Tell me')],
      runId: 'r',
    })
    expect(retry.messages).toEqual([user('Tell me')])
    await retry.end([assistant('Once upon a time.')])
    expect(await logOf(service)).toEqual([
      'user: Tell me',
      'assistant: Once upon',
      'assistant: Once upon a time.',
    ])
    expect(await promptOf(service)).toEqual(['Tell me', 'Once upon a time.', 'next'])
  })

  test('of two aborted attempts both are kept, and the later one is in the prompt', async () => {
    const service = newService()
    await aborted(service, 'r', 'Once upon')
    await aborted(service, 'r', 'Once upon a ti')
    expect(await logOf(service)).toHaveLength(3)
    expect(await promptOf(service)).toEqual(['Tell me', 'Once upon a ti', 'next'])
  })

  test('telling it twice stores it once, and after the end nothing', async () => {
    const service = newService()
    const run = await aborted(service, 'r', 'Once upon')
    await run.abort([assistant('Once upon')])
    expect(await logOf(service)).toHaveLength(2)
    await run.end([assistant('Once upon a time.')])
    expect(await run.abort([assistant('Once')])).toEqual([])
    expect(await logOf(service)).toHaveLength(3)
  })

  test('in the middle of a tool call, half of it is in no prompt', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const run = await memory.begin({ sessionId: 's', messages: [user('Look')] })
    const text = { type: 'text', text: 'Let me' }
    const [call] = callsTools('A').content
    await run.abort([{ role: 'assistant', content: [text, call as { type: string }] }])
    const next = await memory.begin({ sessionId: 's', messages: [user('next')] })
    expect(next.messages).toEqual([
      user('Look'),
      { role: 'assistant', content: [text] },
      user('next'),
    ])
  })

  test('a compaction takes an unanswered turn as a whole one', async () => {
    const service = newService()
    await aborted(service, 'r1', 'Once')
    await createSessionMemory(service).begin({ sessionId: 's', messages: [user('unanswered')] })
    const memory = createSessionMemory(service, {
      trigger: turnCountTrigger(1),
      strategy: turnWindow({ maxTurns: 1 }),
    })
    const run = await memory.begin({ sessionId: 's', messages: [user('last')] })
    const { compaction } = await run.end([assistant('done')])
    expect(compaction).toMatchObject({ status: 'compacted', eventsRemoved: 3 })
  })
})

describe('who and where', () => {
  test('a user who does not own the session is refused, and nothing is stored', async () => {
    const service = await sessionOf(turns(1))
    const memory = createSessionMemory(service)
    const begin = (userId: unknown) =>
      memory.begin({ sessionId: 's', userId: userId as string, messages: [user('mine?')] })
    await expect(begin('bob')).rejects.toMatchObject({ code: 'NOT_OWNER' })
    for (const userId of [' ', '', 5]) {
      await expect(begin(userId)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    expect(await service.getEvents('s')).toHaveLength(2)
    await begin('ana')
    expect(await service.getEvents('s')).toHaveLength(3)
  })

  test('a session that another user creates at the same moment is refused', async () => {
    const repository = createInMemoryRepository()
    const service = createSessionService(repository)
    const late = createSessionService({
      ...repository,
      async findSession(id, options) {
        const found = await repository.findSession(id, options)
        if (found === null) await service.create({ id, userId: 'bob' })
        return found
      },
    })
    const memory = createSessionMemory(late)
    await expect(
      memory.begin({ sessionId: 's', userId: 'ana', messages: [user('mine?')] }),
    ).rejects.toMatchObject({ code: 'NOT_OWNER' })
    expect(await service.getEvents('s')).toEqual([])
  })

  test('what is wrong with a call leaves no session behind', async () => {
    const service = newService()
    const memory = createSessionMemory(service)
    const wrong: readonly unknown[] = [
      { messages: 'hello' },
      { messages: [null] },
      { messages: ['hello'] },
      { messages: [{ role: 'user' }] },
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      { messages: [user('x')], filter: { lastN: 0 } },
      { messages: [user('x')], filter: { lastN: 1, pageSize: 1 } },
      { messages: [user('x')], filter: { branch: 'b'.repeat(5000) } },
      { messages: [user('x')], runId: ' ' },
      { messages: [user('x')], runId: 'r'.repeat(401) },
      { messages: [user('x')], userId: '' },
      { messages: [{ role: 'user', content: 'x', more: () => 1 }] },
    ]
    for (const options of wrong) {
      await expect(
        memory.begin({ sessionId: 's', ...(options as object) } as never),
      ).rejects.toMatchObject({
        code: expect.stringMatching(/^INVALID_(ARGUMENT|FILTER|EVENT)$/),
      })
    }
    await expect(memory.begin({ sessionId: '', messages: [] })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    expect(await service.findById('s')).toBeNull()
    const run = await memory.begin({
      sessionId: 's',
      messages: [user('x')],
      runId: 'r'.repeat(400),
    })
    await run.abort([assistant('y')])
    await expect(run.end('text' as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(run.abort([5] as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await service.getEvents('s')).toHaveLength(2)
  })

  test('a memory with its lifetime, and with the owner it is given', async () => {
    const service = createInMemorySessionService({ now: () => 1000 })
    const memory = createSessionMemory(service, { timeToLive: 500 })
    await expect(memory.begin({ sessionId: 's', messages: [user('x')] })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('userId'),
    })
    await memory.begin({ sessionId: 's', userId: 'bob', messages: [user('x')] })
    expect(await service.findById('s')).toMatchObject({ userId: 'bob', expiresAt: new Date(1500) })
  })

  test('options that do not fit together are refused', () => {
    const service = newService()
    const make = (options: unknown) => () => createSessionMemory(service, options as never)
    for (const options of [
      { trigger: () => true },
      { strategy: () => null },
      { trigger: 'always', strategy: () => null },
      { trigger: () => true, strategy: {} },
      { messageFilter: null },
      { messageFilter: 'all' },
      { filter: null },
      { filter: { lastN: 0 } },
      { pageSize: 0 },
    ]) {
      expect(make(options)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^INVALID_/) }),
      )
    }
    expect(make(null)).not.toThrow()
    expect(make({ trigger: null, strategy: undefined })).not.toThrow()
  })
})

describe('filters', () => {
  test('the filter of the call is merged over that of the memory, the active view on top', async () => {
    const service = await sessionOf(turns(4))
    await service.compact('s', { trigger: () => true, strategy: turnWindow({ maxTurns: 3 }) })
    const memory = createSessionMemory(service, { filter: { lastN: 4 } })
    const ask = async (filter?: Parameters<typeof memory.begin>[0]['filter']) => {
      const { messages } = await memory.begin({ sessionId: 's', messages: [], filter })
      return messages.map(({ content }) => content)
    }
    expect(await ask()).toEqual(['question 3', 'answer 3', 'question 4', 'answer 4'])
    expect(await ask(null)).toHaveLength(4)
    expect(await ask({ lastN: 1 })).toEqual(['answer 4'])
    expect(await ask(EventFilter.lastN(100))).toHaveLength(6)
    expect(await ask({ messageTypes: ['user'] })).toEqual([
      'question 2',
      'question 3',
      'question 4',
    ])
    expect(await ask({ excludeArchived: false, lastN: 100 })).toHaveLength(6)
  })

  test('messages carry the branch of the filter and the tools see no more than it', async () => {
    const service = await sessionOf([
      { message: user('root word') },
      { message: user('other word'), branch: 'root.b' },
    ])
    const memory = createSessionMemory(service, { filter: { branch: 'root.a' } })
    const run = await memory.begin({ sessionId: 's', messages: [user('own word')] })
    expect(run.messages.map(({ content }) => content)).toEqual(['root word', 'own word'])
    await run.end([assistant('own answer')])
    const branches = (await service.getEvents('s')).map(({ branch }) => branch)
    expect(branches).toEqual([null, 'root.b', 'root.a', 'root.a'])
    const found = await run.tools[0]?.execute({ innerThought: '', query: 'word' })
    expect(JSON.parse(found ?? '')).toHaveLength(2)
    const blank = await memory.begin({
      sessionId: 's',
      messages: [user('x')],
      filter: { branch: '' },
    })
    expect(blank.messages.map(({ content }) => content)).toEqual(['root word', 'x'])
    expect((await service.getEvents('s')).at(-1)?.branch).toBe('')
  })

  test('what is erased or rewound is in no prompt', async () => {
    const service = await sessionOf([
      ...turns(2),
      { id: 'call', message: callsTools('A') },
      { id: 'result', message: toolAnswers('A') },
      ...turns(2, 3),
    ])
    await service.eraseEvent('s', 'u1')
    await service.eraseEvent('s', 'call')
    await service.rewind('s', { before: 'u4' })
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
    expect(run.messages.map(({ content }) => content)).toEqual([
      'answer 1',
      'question 2',
      'answer 2',
      'question 3',
      'answer 3',
      'x',
    ])
  })

  test('the default leaves out empty answers; filters combine', async () => {
    const media: Message = { role: 'assistant', content: [{ type: 'file' }] }
    const thought: Message = { role: 'assistant', content: [{ type: 'reasoning' }] }
    expect(
      [assistant(' '), assistant('x'), user(''), media, thought, callsTools('A')].map(
        skipEmptyMessages,
      ),
    ).toEqual([false, true, true, true, false, true])
    const filter = byMessageType('user', 'tool')
      .and(containsText('STRASSE').negate())
      .or(allMessages.negate())
    expect([user('x'), user('Straße'), assistant('x'), toolAnswers('A')].map(filter)).toEqual([
      true,
      false,
      false,
      true,
    ])
    expect(() => byMessageType()).toThrow('types')
    expect(() => byMessageType('human' as never)).toThrow('types')
    expect(() => containsText(' ')).toThrow('keyword')
    expect(() => messageFilter(1 as never)).toThrow('messageFilter')
    expect(() => allMessages.and(null as never)).toThrow('other')

    const service = newService()
    const secret = containsText('secret').negate()
    const memory = createSessionMemory(service, { messageFilter: secret.and(skipEmptyMessages) })
    const run = await memory.begin({ sessionId: 's', messages: [user('a secret')] })
    expect(run.messages).toEqual([user('a secret')])
    await run.end([assistant(''), assistant('fine')])
    expect(await logOf(service)).toEqual(['assistant: fine'])
    // The run goes on after a message that is not stored.
    const loop = await memory.begin({ sessionId: 's', messages: [user('my secret')], runId: 'r' })
    const messages = [user('my secret'), callsTools('A'), toolAnswers('A')]
    await memory.begin({ sessionId: 's', messages, runId: loop.runId })
    expect(await logOf(service)).toEqual([
      'assistant: fine',
      'assistant: tool-call',
      'tool: tool-result',
    ])
  })
})

describe('compaction after an answer', () => {
  const options = { trigger: turnCountTrigger(2), strategy: turnWindow({ maxTurns: 1 }) }
  const end = async (run: MemoryRun) => (await run.end([assistant('done')])).compaction

  test('when the trigger fires', async () => {
    const service = newService()
    const memory = createSessionMemory(service, options)
    const statuses: unknown[] = []
    for (const text of ['one', 'two', 'three', 'four']) {
      const run = await memory.begin({ sessionId: 's', messages: [user(text)] })
      statuses.push((await end(run))?.status)
    }
    expect(statuses).toEqual(['not-triggered', 'not-triggered', 'compacted', 'not-triggered'])
    const run = await memory.begin({ sessionId: 's', messages: [user('five')] })
    expect(run.messages.map(({ content }) => content)).toEqual([
      'three',
      'done',
      'four',
      'done',
      'five',
    ])
  })

  test.each<[string, Parameters<typeof createSessionMemory>[1]]>([
    [
      'the trigger throws',
      {
        ...options,
        trigger: () => {
          throw new Error('no')
        },
      },
    ],
    [
      'the strategy throws',
      {
        ...options,
        trigger: () => true,
        strategy: () => {
          throw new Error('no')
        },
      },
    ],
    [
      'the summary is blank',
      {
        trigger: () => true,
        strategy: recursiveSummarization({
          maxEventsToKeep: 1,
          overlapSize: 0,
          summarize: () => ' ',
        }),
      },
    ],
  ])('never fails the answer when %s', async (_, given) => {
    const service = await sessionOf(turns(3))
    const memory = createSessionMemory(service, given)
    const run = await memory.begin({ sessionId: 's', messages: [user('now')] })
    const { events, compaction } = await run.end([assistant('done')])
    expect(events).toHaveLength(1)
    expect(compaction).toMatchObject({ status: 'failed' })
    expect(await service.getEvents('s', EventFilter.active())).toHaveLength(8)
    const next = await memory.begin({ sessionId: 's', messages: [user('next')] })
    expect(next.messages).toHaveLength(9)
  })

  test('never fails the answer when the store fails at it, or the session is gone', async () => {
    const repository = createInMemoryRepository()
    const service = createSessionService(
      {
        ...repository,
        commit: (id, commit) =>
          commit.boundary === undefined
            ? repository.commit(id, commit)
            : Promise.reject(new Error('the disk is full')),
      },
      { defaultUserId: 'ana' },
    )
    await service.create({ id: 's' })
    await service.appendEvents('s', turns(3))
    const memory = createSessionMemory(service, options)
    const run = await memory.begin({ sessionId: 's', messages: [user('now')] })
    expect(await end(run)).toMatchObject({
      status: 'failed',
      error: { message: 'the disk is full' },
    })
  })

  test('a summariser that never settles ends with the signal', async () => {
    const service = await sessionOf(turns(3))
    const started = deferred<void>()
    const memory = createSessionMemory(service, {
      trigger: () => true,
      strategy: recursiveSummarization({
        maxEventsToKeep: 1,
        overlapSize: 0,
        summarize: () => {
          started.resolve()
          return new Promise<string>(() => undefined)
        },
      }),
    })
    const run = await memory.begin({ sessionId: 's', messages: [user('now')] })
    const controller = new AbortController()
    const ended = run.end([assistant('done')], { signal: controller.signal })
    await started.promise
    controller.abort(new Error('enough'))
    const { events, compaction } = await ended
    expect(events).toHaveLength(1)
    expect(compaction).toMatchObject({ status: 'failed', error: { message: 'enough' } })
  })

  test('a failing append is the answer’s failure, and can be told again', async () => {
    const repository = createInMemoryRepository()
    const commit = vi.fn(repository.commit)
    const service = createSessionService({ ...repository, commit }, { defaultUserId: 'ana' })
    const memory = createSessionMemory(service, options)
    const run = await memory.begin({ sessionId: 's', messages: [user('now')] })
    commit.mockRejectedValueOnce(new Error('offline'))
    await expect(end(run)).rejects.toThrow('offline')
    expect(await end(run)).toMatchObject({ status: 'not-triggered' })
    expect(await logOf(service)).toEqual(['user: now', 'assistant: done'])
  })
})
