// What people report who keep the messages of the AI SDK; the numbers are those of the reports.
import {
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  tool,
  type UIMessage,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import fc from 'fast-check'
import {
  countTurns,
  createSessionMemory,
  type EventInput,
  slidingWindow,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { aiMessages, createAiRun, createChatHistory } from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'
import { answering, call, hangingStream, text, whole } from '../../support/mock-ai-model.ts'
import { randomLog, runs } from '../../support/random-conversation.ts'
import { answer, question, said } from '../../support/ui-messages.ts'

const newService = () => createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })

const look = tool({
  inputSchema: jsonSchema<{ id: string }>({ type: 'object' }),
  execute: async ({ id }) => `seen ${id}`,
})

test('7: messages from a reactive store are kept as plain data, and later changes do not reach them', async () => {
  const reactive = <T extends object>(value: T): T =>
    new Proxy(value, {
      get: (target, key) => {
        const item = Reflect.get(target, key)
        return typeof item === 'object' && item !== null ? reactive(item) : item
      },
    })
  const service = newService()
  const history = createChatHistory(service)
  const original = { ...question('u', 'Hi'), metadata: { tags: ['a'] } }
  await history.save('s', [reactive(original)])
  original.metadata.tags.push('b')
  expect(await history.load('s')).toEqual([{ ...question('u', 'Hi'), metadata: { tags: ['a'] } }])
})

test('8: what cannot be stored is refused by its path, before anything is', async () => {
  const history = createChatHistory(newService())
  const bad = { ...question('u', 'Hi'), metadata: { execute: () => 1 } } as UIMessage
  await expect(history.save('s', [question('u0', 'Ok'), bad])).rejects.toMatchObject({
    code: 'INVALID_EVENT',
    details: { field: 'messages[1].metadata.execute' },
  })
  expect(await history.load('s')).toEqual([])
})

test('51: whatever the log holds and whatever was compacted, the AI SDK takes the prompt', async () => {
  const strategies = fc.oneof(
    fc.integer({ min: 1, max: 7 }).map((maxEvents) => slidingWindow({ maxEvents })),
    fc.integer({ min: 1, max: 3 }).map((maxTurns) => turnWindow({ maxTurns })),
  )
  const lastN = fc.option(fc.integer({ min: 1, max: 9 }))
  await fc.assert(
    fc.asyncProperty(randomLog, strategies, lastN, async (log, strategy, count) => {
      const service = newService()
      await service.create({ id: 's' })
      // The SDK wants results of what a provider ran only behind calls that say so.
      const events = log.filter(
        ({ message: { role, content } }) =>
          role !== 'assistant' ||
          typeof content === 'string' ||
          content.every(({ type }) => type !== 'tool-result'),
      )
      await service.appendEvents('s', events as readonly EventInput<ModelMessage>[])
      await service.compact('s', { trigger: () => true, strategy })
      const memory = createSessionMemory(service, {
        filter: count === null ? {} : { lastN: count },
      })
      const run = createAiRun(memory, { sessionId: 's' })
      const model = new MockLanguageModelV4({ doGenerate: async () => whole([text('Hi.')]) })
      await generateText({ model, prompt: 'Hello', ...run.callbacks })
      await run.settled()
      const prompt = model.doGenerateCalls[0]?.prompt ?? []
      for (const { role, content } of prompt) {
        expect(content.length, `an empty ${role} message`).toBeGreaterThan(0)
      }
    }),
    { numRuns: runs(500) },
  )
})

test('58: an answer without an id is a message of its own, never a part of the one before', async () => {
  const service = newService()
  const history = createChatHistory(service)
  await history.save('s', [
    question('u1', 'One?'),
    answer('a1', said('One.')),
    question('u2', 'Two?'),
  ])
  const before = await service.getEvents('s')
  const recovered = await service.appendMessage('s', { role: 'assistant', content: 'Two.' })
  const loaded = await history.load('s')
  expect(loaded.map(({ id }) => id)).toEqual(['u1', 'a1', 'u2', recovered.id])
  expect(loaded[1]).toEqual(answer('a1', said('One.')))
  expect((await service.getEvents('s')).slice(0, 3)).toEqual(before)
})

test('59: saving a growing list three times gives each message once, and a grown one at its place', async () => {
  const service = newService()
  const history = createChatHistory(service)
  const part = { type: 'tool-look', toolCallId: 'T', input: { id: 'A' } }
  const calling = answer('a1', { ...part, state: 'input-available' })
  const called = answer('a1', { ...part, state: 'output-available', output: 'seen A' })
  for (const list of [
    [question('u1', 'Look')],
    [question('u1', 'Look'), calling],
    [question('u1', 'Look'), called, question('u2', 'Thanks')],
  ]) {
    await history.save('s', list)
    await history.save('s', list)
    expect(await history.load('s')).toEqual(list)
  }
  // The question, the call, its result, the thanks: what came is appended, nothing is rewritten.
  expect((await service.getEvents('s')).length).toBe(4)
})

test('60: tool parts keep their ids and states, and parallel calls of one tool their own results', async () => {
  const service = newService()
  const history = createChatHistory(service)
  const part = (id: string, rest: object) => ({ type: 'tool-look', toolCallId: id, ...rest })
  const message = answer(
    'a1',
    part('s', { state: 'input-streaming', input: { id: 'pa' } }),
    part('w', { state: 'input-available', input: { id: 'A' } }),
    part('q', { state: 'approval-requested', input: {}, approval: { id: 'ok' } }),
    part('e', { state: 'output-error', input: {}, errorText: 'It failed.' }),
    part('2', { state: 'output-available', input: { id: 'B' }, output: 'seen B' }),
    part('1', { state: 'output-available', input: { id: 'A' }, output: 'seen A' }),
  )
  await history.save('s', [question('u1', 'Look'), message])
  expect(await history.load('s')).toEqual([question('u1', 'Look'), message])
  // The interrupted ones are in no prompt.
  const run = await createSessionMemory(service).begin({
    sessionId: 's',
    messages: [{ role: 'user', content: 'And?' }],
  })
  const ids = run.messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.map((each) => (each as { toolCallId?: string }).toolCallId),
  )
  expect(ids.filter((id) => id !== undefined)).toEqual(['e', '2', '1', 'e', '2', '1'])
})

test('63: a question whose answer was stopped is a whole turn, and what came of the answer is there once', async () => {
  const service = newService()
  const memory = createSessionMemory(service)
  const silent = createAiRun(memory, { sessionId: 's' })
  const controller = new AbortController()
  const model = new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => ({ stream: hangingStream([], abortSignal) }),
  })
  const reading = streamText({
    model,
    prompt: 'One?',
    abortSignal: controller.signal,
    ...silent.callbacks,
  }).consumeStream()
  await expect.poll(() => model.doStreamCalls.length).toBe(1)
  controller.abort()
  await reading
  await silent.settled()
  for (const prompt of ['Two?', 'Three?']) {
    const run = createAiRun(memory, { sessionId: 's' })
    await generateText({ model: answering([text('Yes.')]), prompt, ...run.callbacks })
    await run.settled()
  }
  const view = await service.getEvents('s', { excludeArchived: true })
  expect(countTurns(view)).toBe(3)
  const { status, archivedEvents } = await service.compact('s', {
    trigger: turnCountTrigger(2),
    strategy: turnWindow({ maxTurns: 2 }),
  })
  expect(status).toBe('compacted')
  expect(archivedEvents.map(({ message }) => message.content)).toEqual(['One?'])
})

test('64: a loop of two steps is four events: question, call, result, answer', async () => {
  const service = newService()
  const run = createAiRun(createSessionMemory(service), { sessionId: 's' })
  await generateText({
    model: answering([call('A', 'look', { id: 'A' })], [text('Seen.')]),
    prompt: 'Look',
    tools: { look },
    stopWhen: isStepCount(2),
    ...run.callbacks,
  })
  await run.settled()
  const kinds = (await service.getEvents('s')).map(({ message: { role, content } }) =>
    typeof content === 'string' ? role : `${role}: ${content.map(({ type }) => type)}`,
  )
  expect(kinds).toEqual(['user', 'assistant: tool-call', 'tool: tool-result', 'assistant: text'])
})

test('addresses of files survive the log, also in what tools gave', async () => {
  const service = newService()
  await service.create({ id: 's' })
  const url = new URL('https://a.test/a.png')
  const messages: ModelMessage[] = [
    {
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'T',
          toolName: 'look',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'Here.' },
              { type: 'file', mediaType: 'image/png', data: { type: 'url', url } },
            ],
          },
        },
      ],
    },
    { role: 'assistant', content: 'Seen.' },
  ]
  await service.appendEvents(
    's',
    messages.map((message) => ({ message })),
  )
  const stored = await service.getMessages('s')
  expect(stored).toEqual(JSON.parse(JSON.stringify(messages)))
  expect(aiMessages(stored)).toEqual(messages)
  const [, , last] = aiMessages(stored)
  expect(last).toBe(stored[2])
})
