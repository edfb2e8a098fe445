// UIMessages in a log: every part and every tool state comes back as it was, the model is told what the
// AI SDK itself would tell it, and the AI SDK takes what comes back.
import {
  convertToModelMessages,
  jsonSchema,
  type ModelMessage,
  tool,
  type UIMessage,
  validateUIMessages,
} from 'ai'
import { createSessionMemory, type SessionService } from 'turnlog'
import { type ChatHistory, createChatHistory, METADATA_UI_MESSAGE } from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test } from 'vitest'
import {
  type AnyPart,
  answer,
  everyPart,
  question,
  said,
  toolStates,
} from '../../support/ui-messages.ts'

interface Chat {
  readonly service: SessionService<ModelMessage>
  readonly history: ChatHistory
}

function newChat(options?: Parameters<typeof createChatHistory>[1]): Chat {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  return { service, history: createChatHistory(service, options) }
}

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value))

/** As the AI SDK tells the model, in the form that is stored: addresses of files as text. */
async function toldByTheSdk(messages: readonly UIMessage[]): Promise<unknown> {
  const told = await convertToModelMessages([...messages])
  const withText = (part: unknown): unknown => {
    const { data } = part as { data?: { type?: string; url?: unknown } }
    return data?.type === 'url' ? { ...(part as object), data: data.url } : part
  }
  return plain(
    told.map((message) =>
      typeof message.content === 'string'
        ? message
        : { ...message, content: (message.content as unknown[]).map(withText) },
    ),
  )
}

const messagesOf = (service: SessionService<ModelMessage>) => service.getMessages('s')

describe.each(Object.entries(everyPart))('%s', (_, part) => {
  const conversation = [
    question('u1', 'Where is Porto?'),
    answer('a1', { type: 'step-start' }, part),
    question('u2', 'And Span?'),
    answer('a2', said('Before.'), part, said('After.')),
  ]

  test('comes back as it was, alone and among others', async () => {
    const { history } = newChat()
    await history.save('s', conversation)
    expect(await history.load('s')).toEqual(plain(conversation))
  })

  test('comes back as it was after it grew', async () => {
    const { history, service } = newChat()
    const early = answer('a1', { type: 'step-start' }, said('Bef'))
    const late = answer('a1', { type: 'step-start' }, said('Before.'), part, said('After.'))
    await history.save('s', [question('u1', 'Where?'), early])
    await history.save('s', [late])
    expect(await history.load('s')).toEqual(plain([question('u1', 'Where?'), late]))
    const count = (await service.getEvents('s')).length
    await history.save('s', [early])
    await history.save('s', [late])
    expect((await service.getEvents('s')).length).toBe(count)
    expect(await history.load('s')).toEqual(plain([question('u1', 'Where?'), late]))
  })

  test('is told to the model as the AI SDK does', async () => {
    const { history, service } = newChat()
    await history.save('s', conversation)
    const told = (await messagesOf(service)).filter(({ content }) => content.length > 0)
    // What a tool says on the way is not told: the model would hear of one call twice.
    const { preliminary, output, ...call } = part as Record<string, unknown>
    const final = preliminary === true ? { ...call, state: 'input-available' } : part
    const shown = conversation.map((message) => ({
      ...message,
      parts: message.parts.map((each) => (each === part ? final : each)) as AnyPart[],
    }))
    // One by one: the SDK drops approvals that a later question has overtaken; here, the prompt does.
    const perMessage = await Promise.all(shown.map((message) => toldByTheSdk([message])))
    expect(told).toEqual(perMessage.flat())
  })

  test('is taken by the AI SDK when it comes back', async () => {
    const { history } = newChat()
    await history.save('s', conversation)
    const loaded = await history.load('s')
    expect(await validateUIMessages({ messages: loaded })).toEqual(plain(conversation))
    expect(await convertToModelMessages(loaded)).toEqual(
      await convertToModelMessages(plain(conversation)),
    )
  })
})

describe('a tool part that goes on', () => {
  const [first, ...others] = [
    ['input-streaming', 'input-available', 'output-available, text'],
    ['input-available', 'approval-requested', 'approval-responded, refused', 'output-denied'],
    ['input-available', 'output-available, preliminary', 'output-available, data'],
    [
      'input-streaming',
      'approval-requested',
      'approval-responded, granted',
      'output-error, after approval',
    ],
    ['input-available', 'output-error'],
  ].map((states) => [states.join(' → '), states] as const)

  test.each(first === undefined ? [] : [first, ...others])('%s', async (_, states) => {
    const { history, service } = newChat()
    for (const state of states) {
      const message = answer('a1', said('I look.'), { type: 'tool-weather', ...toolStates[state] })
      await history.save('s', [message])
      await history.save('s', [message])
      expect(await history.load('s')).toEqual(plain([message]))
    }
    const parts = (await messagesOf(service)).flatMap(
      ({ content }) => content as { type: string }[],
    )
    const kinds = parts.map(({ type }) => type)
    for (const kind of ['tool-call', 'tool-result', 'tool-approval-request']) {
      expect(kinds.filter((each) => each === kind).length).toBeLessThanOrEqual(1)
    }
    // Somebody who saw less takes nothing away.
    const before = await history.load('s')
    for (const state of states.slice(0, -1)) {
      const isSilent = state.includes('preliminary')
      if (isSilent) continue
      await history.save('s', [
        answer('a1', said('I l'), { type: 'tool-weather', ...toolStates[state] }),
      ])
    }
    expect(await history.load('s')).toEqual(before)
  })

  test('two calls of one tool keep their own results, whichever comes first', async () => {
    const { history, service } = newChat()
    const call = (id: string, rest: object = { state: 'input-available' }) => ({
      type: 'tool-weather',
      toolCallId: id,
      input: { city: id },
      ...rest,
    })
    const done = (id: string) => call(id, { state: 'output-available', output: `Sunny in ${id}.` })
    const stages = [
      answer('a1', call('Porto'), call('Faro')),
      answer('a1', call('Porto'), done('Faro')),
      answer('a1', done('Porto'), done('Faro')),
    ]
    for (const stage of stages) await history.save('s', [stage])
    expect(await history.load('s')).toEqual(stages.slice(-1))
    const told = await messagesOf(service)
    expect(told.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool'])
    expect(JSON.stringify(told[1])).toContain('Sunny in Faro.')
    expect(JSON.stringify(told[2])).toContain('Sunny in Porto.')
  })

  test('a result that comes after the next question goes to its call in every prompt', async () => {
    const { history, service } = newChat()
    const waiting = answer('a1', {
      type: 'tool-ask',
      toolCallId: 'T',
      state: 'input-available',
      input: {},
    })
    const done = answer('a1', {
      type: 'tool-ask',
      toolCallId: 'T',
      state: 'output-available',
      input: {},
      output: 'Yes.',
    })
    await history.save('s', [question('u1', 'Ask me.'), waiting])
    await history.save('s', [question('u2', 'Hello?')])
    await history.save('s', [done])
    const conversation = [question('u1', 'Ask me.'), done, question('u2', 'Hello?')]
    expect(await history.load('s')).toEqual(conversation)
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
    expect(run.messages).toEqual(await toldByTheSdk(conversation))
  })
})

describe('what is stored', () => {
  test('holds nothing twice: text, inputs and outputs stand in the message alone', async () => {
    const { history, service } = newChat()
    const words = 'a rather long text '.repeat(50)
    await history.save('s', [
      question('u1', words),
      answer('a1', said(words), {
        type: 'tool-weather',
        toolCallId: 'T',
        state: 'output-available',
        input: { city: words },
        output: { forecast: words },
      }),
    ])
    const stored = JSON.stringify(await service.getEvents('s'))
    expect(stored.split(words).length - 1).toBe(4)
  })

  test('names its events after the message, and its message in the metadata', async () => {
    const { history, service } = newChat()
    const [weather] = [{ type: 'tool-weather', ...toolStates['output-available, text'] }]
    await history.save('s', [question('u1', 'Hi'), answer('a1', weather ?? {})])
    const events = await service.getEvents('s')
    expect(events.map(({ id }) => id)).toEqual(['u1', 'a1', 'a1:1'])
    expect(events.map(({ metadata }) => metadata[METADATA_UI_MESSAGE])).toMatchObject([
      { id: 'u1', role: 'user' },
      { id: 'a1', role: 'assistant' },
      { id: 'a1' },
    ])
  })

  test('metadata of the message and keys of its own, also when they change', async () => {
    const { history, service } = newChat()
    const message = { ...answer('a1', said('Hi.')), metadata: { model: 'm' }, createdAt: 'then' }
    await history.save('s', [message])
    expect(await history.load('s')).toEqual([message])
    const later = { ...message, metadata: { model: 'm', tokens: 12 } }
    await history.save('s', [later])
    expect(await history.load('s')).toEqual([later])
    // Nothing was said: no prompt and no turn comes of it.
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
    expect(run.messages).toEqual([{ role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] }])
  })

  test('a system message, and words that are data alone', async () => {
    const system: UIMessage = {
      id: 'x',
      role: 'system',
      parts: [
        { type: 'text', text: 'Be kind. ' },
        { type: 'text', text: 'Be brief.', providerMetadata: { provider: { cache: true } } },
      ],
    }
    const data: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'data-click', data: 1 }] }
    const { history, service } = newChat()
    await history.save('s', [system, data])
    expect(await history.load('s')).toEqual([system, data])
    expect(await messagesOf(service)).toEqual(await toldByTheSdk([system, data]))
  })

  test('what a tool tells the model, and what a data part means', async () => {
    const weather = tool({
      inputSchema: jsonSchema({ type: 'object' }),
      outputSchema: jsonSchema<{ degrees: number }>({ type: 'object' }),
      toModelOutput: ({ output }) => ({ type: 'text', value: `${output.degrees} degrees` }),
    })
    const convertDataPart = ({ type, data }: { type: string; data: unknown }) =>
      type === 'data-click' ? { type: 'text' as const, text: `[clicked ${data}]` } : undefined
    const { history, service } = newChat({ tools: { weather }, convertDataPart })
    const conversation = [
      { id: 'u', role: 'user', parts: [{ type: 'data-click', data: 1 }] } as UIMessage,
      answer('a', {
        type: 'tool-weather',
        toolCallId: 'T',
        state: 'output-available',
        input: {},
        output: { degrees: 21 },
      }),
    ]
    await history.save('s', conversation)
    expect(await history.load('s')).toEqual(conversation)
    const told = await convertToModelMessages(conversation, { tools: { weather }, convertDataPart })
    expect(await messagesOf(service)).toEqual(plain(told))
  })

  test('is found by search and left out of it when it is a summary', async () => {
    const { history, service } = newChat()
    await history.save('s', [question('u1', 'My cat is Mimi.'), answer('a1', said('Noted.'))])
    const found = await service.getEvents('s', { keyword: 'mimi' })
    expect(found.map(({ id }) => id)).toEqual(['u1'])
    await service.appendEvent('s', {
      message: { role: 'user', content: 'Ana has a cat.' },
      synthetic: true,
    })
    expect((await history.load('s')).map(({ id }) => id)).toEqual(['u1', 'a1'])
  })
})

describe('saving a list that grows', () => {
  test('stores each message once', async () => {
    const { history, service } = newChat()
    const messages: UIMessage[] = []
    for (let turn = 1; turn <= 12; turn++) {
      messages.push(
        question(`u${turn}`, `question ${turn}`),
        answer(`a${turn}`, said(`answer ${turn}`)),
      )
      await history.save('s', messages)
      await history.save('s', messages)
    }
    expect((await service.getEvents('s')).length).toBe(messages.length)
    expect(await history.load('s')).toEqual(messages)
  })

  test('puts what was added to an old message there', async () => {
    const { history, service } = newChat()
    const part = { type: 'tool-ask', toolCallId: 'T', input: {} }
    const waiting = answer('a1', { ...part, state: 'input-available' })
    const others = Array.from({ length: 6 }, (_, index) => [
      question(`u${index}`, 'And?'),
      answer(`b${index}`, said('So.')),
    ]).flat()
    await history.save('s', [waiting, ...others])
    const done = answer('a1', { ...part, state: 'output-available', output: 'Yes.' })
    await history.save('s', [done, ...others])
    expect(await history.load('s')).toEqual([done, ...others])
    expect((await service.getEvents('s')).length).toBe(14)
  })

  test('an answer after a new question is a message of its own', async () => {
    const { history } = newChat()
    const first = [question('u1', 'One?'), answer('a1', said('One.'))]
    await history.save('s', first)
    await history.save('s', [question('u2', 'Two?')])
    await history.save('s', [answer('a2', said('Two.'))])
    expect(await history.load('s')).toEqual([
      ...first,
      question('u2', 'Two?'),
      answer('a2', said('Two.')),
    ])
  })

  test('two writers at once lose nothing', async () => {
    const { history, service } = newChat()
    const other = createChatHistory(service)
    await history.save('s', [answer('a1', said('One'))])
    await Promise.all([
      history.save('s', [answer('a1', said('One and'))]),
      other.save('s', [answer('a1', said('One and two'))]),
      other.save('s', [answer('a1', said('One'), { type: 'step-start' }, said('Three.'))]),
    ])
    const [message] = await history.load('s')
    expect(message?.parts).toEqual([said('One and two'), { type: 'step-start' }, said('Three.')])
  })

  test('a newest message that is no longer what it was is replaced; an older one is refused', async () => {
    const { history, service } = newChat()
    await history.save('s', [question('u1', 'One?'), answer('a1', said('One.'))])
    await history.save('s', [answer('a1', said('Uno.'))])
    expect(await history.load('s')).toEqual([question('u1', 'One?'), answer('a1', said('Uno.'))])
    expect((await service.getEvents('s')).filter(({ rewound }) => rewound).length).toBe(1)
    await expect(history.save('s', [question('u1', 'Two?')])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { field: 'messages[0].parts[0]' },
    })
    expect(await history.load('s')).toEqual([question('u1', 'One?'), answer('a1', said('Uno.'))])
  })

  test('what was erased is not brought back by a copy', async () => {
    const { history, service } = newChat()
    const secret = question('u1', 'My secret.')
    const told = answer('a1', said('I know.'), { type: 'step-start' }, said('Your secret.'))
    await history.save('s', [secret, told])
    await service.eraseEvent('s', 'u1')
    await service.eraseEvent('s', 'a1:1')
    await history.save('s', [secret, told, question('u2', 'Forgotten?')])
    expect(JSON.stringify(await service.getEvents('s'))).not.toContain('secret.')
    const loaded = await history.load('s')
    expect(loaded).toEqual([
      answer('a1', said('I know.'), { type: 'step-start' }),
      question('u2', 'Forgotten?'),
    ])
    expect(await validateUIMessages({ messages: loaded })).toEqual(loaded)
  })

  test.each([
    [{ role: 'user', parts: [] }, 'messages[0].id'],
    [{ id: ' ', role: 'user', parts: [] }, 'messages[0].id'],
    [{ id: 'x', role: 'tool', parts: [] }, 'messages[0].role'],
    [{ id: 'x', role: 'user' }, 'messages[0].parts'],
    [{ id: 'x', role: 'user', parts: [{}] }, 'messages[0].parts[0]'],
  ])('refuses %j', async (message, field) => {
    const { history, service } = newChat()
    await expect(history.save('s', [message as UIMessage])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { field },
    })
    expect(await service.findById('s')).toBe(null)
  })

  test('a session of somebody else is refused', async () => {
    const { service } = newChat()
    await service.create({ id: 's', userId: 'bob' })
    const history = createChatHistory(service, { userId: 'ana' })
    await expect(history.save('s', [question('u1', 'Hi')])).rejects.toMatchObject({
      code: 'NOT_OWNER',
    })
  })
})
