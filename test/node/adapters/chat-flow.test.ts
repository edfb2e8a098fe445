// A whole chat, as useChat drives it: the SDK's own Chat with a transport that runs the model and keeps the
// conversation in a session. Questions, tools, stopping, editing, regenerating, approvals, reloading.
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  type ChatTransport,
  isStepCount,
  jsonSchema,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type ModelMessage,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
  validateUIMessages,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createSessionMemory, messageText, turnCountTrigger, turnWindow } from 'turnlog'
import { aiMessages, aiTools, createChatHistory } from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'
import {
  type Answer,
  answering,
  call,
  hangingStream,
  partsOf,
  text,
} from '../../support/mock-ai-model.ts'

/** What React keeps for useChat. */
function memoryState(messages: UIMessage[]): ChatState<UIMessage> {
  return {
    status: 'ready' as ChatStatus,
    error: undefined,
    messages,
    pushMessage(message) {
      this.messages = [...this.messages, message]
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1)
    },
    replaceMessage(index, message) {
      this.messages = this.messages.map((each, at) => (at === index ? message : each))
    },
    snapshot: (value) => structuredClone(value),
  }
}

class Chat extends AbstractChat<UIMessage> {}

const inputSchema = jsonSchema<{ id: string }>({ type: 'object' })
const tools = {
  look: tool({ inputSchema, execute: async ({ id }) => ({ seen: id }) }),
  ask: tool({ inputSchema, outputSchema: jsonSchema<string>({ type: 'string' }) }),
  pay: tool({ inputSchema, needsApproval: true, execute: async ({ id }) => `paid ${id}` }),
}

function setUp() {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  const history = createChatHistory(service)
  const memory = createSessionMemory(service, {
    trigger: turnCountTrigger(3),
    strategy: turnWindow({ maxTurns: 1 }),
  })
  const pending: Promise<unknown>[] = []

  /** A page that is opened: the model answers what it is asked next. */
  const open = async (model: MockLanguageModelV4) => {
    const transport: ChatTransport<UIMessage> = {
      async sendMessages({ chatId, messages, trigger, messageId, abortSignal }) {
        await history.receive(chatId, { trigger, messageId, messages })
        const run = await memory.begin({ sessionId: chatId, messages: [] })
        const result = streamText({
          model,
          instructions: run.system,
          messages: aiMessages(run.messages),
          tools: { ...tools, ...aiTools(run.tools) },
          stopWhen: isStepCount(5),
          maxRetries: 0,
          ...(abortSignal === undefined ? {} : { abortSignal }),
          onError: () => undefined,
        })
        return toUIMessageStream({
          stream: result.stream,
          ...history.recordReply(chatId, {
            messages,
            run,
            waitUntil: (promise) => pending.push(promise),
          }),
        })
      },
      reconnectToStream: async () => null,
    }
    return new Chat({
      id: 's',
      transport,
      state: memoryState(await history.load('s')),
      sendAutomaticallyWhen: (options) =>
        lastAssistantMessageIsCompleteWithToolCalls(options) ||
        lastAssistantMessageIsCompleteWithApprovalResponses(options),
    })
  }

  /** What people and the model see of the conversation, once all is stored. */
  const look = async () => {
    await Promise.all(pending)
    const events = await service.getEvents('s')
    return {
      loaded: await history.load('s'),
      told: (await service.getMessages('s', { excludeArchived: true }))
        .filter(({ content }) => content.length > 0)
        .map((message) => `${message.role}: ${messageText(message) || kindsOf(message)}`),
      events,
    }
  }
  return { service, history, memory, open, look }
}

function kindsOf({ content }: ModelMessage): string {
  return typeof content === 'string' ? '' : content.map(({ type }) => type).join('+')
}

const idle = (chat: Chat) => expect.poll(() => chat.status).toBe('ready')

test('a question, a loop of tools, and a page that is loaded again', async () => {
  const { open, look } = setUp()
  const chat = await open(
    answering([text('I look.'), call('A', 'look', { id: 'A' })], [text('Seen.')], [text('Hi.')]),
  )
  await chat.sendMessage({ text: 'Look at A' })
  const { loaded, told, events } = await look()
  expect(loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
  expect(told).toEqual([
    'user: Look at A',
    'assistant: I look.',
    'tool: tool-result',
    'assistant: Seen.',
  ])
  expect(events.length).toBe(4)
  await validateUIMessages({ messages: loaded, tools })

  const reloaded = await open(answering([text('Hi.')]))
  expect(reloaded.messages).toEqual(loaded)
  await reloaded.sendMessage({ text: 'Hello' })
  const after = await look()
  expect(after.loaded).toEqual(JSON.parse(JSON.stringify(reloaded.messages)))
  expect(after.events.length).toBe(6)
})

test('a question is edited: the old one and what followed leave the view', async () => {
  const { open, look } = setUp()
  const chat = await open(answering([text('One.')], [text('Two.')], [text('Three.')]))
  await chat.sendMessage({ text: 'First' })
  await chat.sendMessage({ text: 'Secnd' })
  const edited = chat.messages[2]?.id
  await chat.sendMessage({ text: 'Second', messageId: edited ?? '' })
  const { loaded, told, events } = await look()
  expect(loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
  expect(told).toEqual(['user: First', 'assistant: One.', 'user: Second', 'assistant: Three.'])
  expect(
    events.filter(({ rewound }) => rewound).map(({ message }) => messageText(message)),
  ).toEqual(['Secnd', 'Two.'])
  // Edited again, and to the same words.
  const again = await open(answering([text('Four.')], [text('Five.')]))
  await again.sendMessage({ text: 'Zweitens', messageId: edited ?? '' })
  await again.sendMessage({ text: 'Zweitens', messageId: edited ?? '' })
  expect((await look()).told).toEqual([
    'user: First',
    'assistant: One.',
    'user: Zweitens',
    'assistant: Five.',
  ])
  expect((await look()).loaded).toEqual(JSON.parse(JSON.stringify(again.messages)))
})

test('an answer is regenerated, the last one and an older one', async () => {
  const { open, look } = setUp()
  const chat = await open(
    answering([text('One.')], [text('Uno.')], [text('Two.')], [text('Eins.')]),
  )
  await chat.sendMessage({ text: 'First' })
  await chat.regenerate()
  expect((await look()).told).toEqual(['user: First', 'assistant: Uno.'])
  await chat.sendMessage({ text: 'Second' })
  const older = chat.messages[1]?.id
  await chat.regenerate({ messageId: older ?? '' })
  const { loaded, told } = await look()
  expect(told).toEqual(['user: First', 'assistant: Eins.'])
  expect(loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
})

test('a stopped answer is kept as far as it came, and the conversation goes on', async () => {
  const { open, look } = setUp()
  const steps: ((signal: AbortSignal | undefined) => ReadableStream)[] = [
    (signal) => hangingStream(partsOf([text('As far as it came and')]).slice(0, -2), signal),
    () => ReadableStream.from(partsOf([text('Fine.')])),
  ]
  const model = new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => ({ stream: steps.shift()?.(abortSignal) as never }),
  })
  const chat = await open(model)
  const sent = chat.sendMessage({ text: 'Go' })
  await expect.poll(() => JSON.stringify(chat.lastMessage)).toContain('As f')
  await chat.stop()
  await sent
  await expect.poll(async () => (await look()).loaded.length).toBe(2)
  const stopped = await look()
  expect(stopped.told[0]).toBe('user: Go')
  expect(stopped.told[1]).toContain('assistant: As f')
  await chat.sendMessage({ text: 'Never mind' })
  const { told, loaded } = await look()
  expect(told.length).toBe(4)
  expect(told.slice(2)).toEqual(['user: Never mind', 'assistant: Fine.'])
  await validateUIMessages({ messages: loaded })
  // Stopped before anything came: the question stays without an answer, and the next one is taken.
  const mute = new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => ({ stream: hangingStream([], abortSignal) }),
  })
  const silent = await open(mute)
  const asked = silent.sendMessage({ text: 'Silence' })
  await expect.poll(() => mute.doStreamCalls.length).toBe(1)
  await silent.stop()
  await asked
  expect((await look()).told.at(-1)).toBe('user: Silence')
})

test('an answer that failed leaves the question, which can be asked again', async () => {
  const { open, look } = setUp()
  const answers: Answer[] = []
  const model = new MockLanguageModelV4({
    doStream: async () => {
      const answer = answers.shift()
      if (answer === undefined) throw new Error('the line is dead')
      return { stream: ReadableStream.from(partsOf(answer)) as never }
    },
  })
  const chat = await open(model)
  await chat.sendMessage({ text: 'Go' })
  expect(chat.status).toBe('error')
  expect((await look()).told).toEqual(['user: Go'])
  answers.push([text('Here.')])
  await chat.regenerate()
  expect((await look()).told).toEqual(['user: Go', 'assistant: Here.'])
  expect((await look()).loaded.length).toBe(2)
})

test('a tool that runs in the page: its output is added to the answer, which goes on', async () => {
  const { open, look } = setUp()
  const chat = await open(answering([call('Q', 'ask', { id: 'Q' })], [text('Thanks.')]))
  await chat.sendMessage({ text: 'Ask me' })
  await chat.addToolOutput({ tool: 'ask', toolCallId: 'Q', output: 'Yes' })
  await expect.poll(() => chat.lastMessage?.parts.length).toBe(4)
  await idle(chat)
  const { loaded, told, events } = await look()
  expect(told).toEqual([
    'user: Ask me',
    'assistant: tool-call',
    'tool: tool-result',
    'assistant: Thanks.',
  ])
  expect(loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
  expect(events.map(({ id }) => id).slice(1)).toEqual([
    chat.lastMessage?.id,
    `${chat.lastMessage?.id}:1`,
    `${chat.lastMessage?.id}:2`,
  ])
})

test.each([true, false])(
  'an approval that is answered with %s, after a reload',
  async (approved) => {
    const { open, look } = setUp()
    const first = await open(answering([call('P', 'pay', { id: 'P' })]))
    await first.sendMessage({ text: 'Pay' })
    const chat = await open(answering([text(approved ? 'Paid.' : 'Not paid.')]))
    expect(chat.messages).toEqual(JSON.parse(JSON.stringify(first.messages)))
    const part = chat.lastMessage?.parts.find(({ type }) => type === 'tool-pay') as unknown as {
      readonly approval: { readonly id: string }
    }
    await chat.addToolApprovalResponse({ id: part.approval.id, approved })
    await expect.poll(() => JSON.stringify(chat.lastMessage)).toContain('aid.')
    await idle(chat)
    const { loaded, told } = await look()
    expect(loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
    expect(told.at(-1)).toBe(approved ? 'assistant: Paid.' : 'assistant: Not paid.')
    const next = await open(answering([text('Hi.')]))
    await next.sendMessage({ text: 'Hello' })
    expect(next.status).toBe('ready')
    await validateUIMessages({ messages: (await look()).loaded, tools })
  },
)

test('after a compaction the chat still shows everything, and the model finds what it no longer sees', async () => {
  const { open, look, history } = setUp()
  const model = answering(
    [text('Nice.')],
    [text('Two.')],
    [text('Three.')],
    [text('Four.')],
    [call('S', 'conversation_search', { innerThought: 'The cat?', query: 'mimi' })],
    [text('Mimi.')],
  )
  const chat = await open(model)
  await chat.sendMessage({ text: 'My cat is Mimi.' })
  for (const words of ['Two?', 'Three?', 'Four?']) await chat.sendMessage({ text: words })
  const before = await look()
  expect(before.told).toEqual(['user: Four?', 'assistant: Four.'])
  expect(before.loaded).toEqual(JSON.parse(JSON.stringify(chat.messages)))
  const { entries } = await history.page('s')
  expect(entries.map(({ archived }) => archived)).toEqual([...Array(6).fill(true), false, false])
  await chat.sendMessage({ text: 'What is my cat called?' })
  expect(JSON.stringify(chat.lastMessage)).toContain('My cat is Mimi.')
  const prompt = model.doStreamCalls.at(-1)?.prompt ?? []
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool'])
})
