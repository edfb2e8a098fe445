// The search tools in the hands of the AI SDK, and the types: nothing needs a cast.
import {
  generateText,
  type InferUITools,
  type Instructions,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  type SystemModelMessage,
  streamText,
  type ToolSet,
  tool,
  type UIMessage,
} from 'ai'
import { createSessionMemory, type SessionMemory, type SessionService } from 'turnlog'
import {
  type AiRun,
  aiSessionTools,
  aiTools,
  type ChatHistory,
  createAiRun,
  createChatHistory,
} from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import type { conversationSearchArguments, crossSessionSearchArguments } from 'turnlog/zod'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type {
  ConversationSearchInput,
  CrossSessionSearchInput,
} from '../../../src/adapters/ai-sdk/search-tools.ts'
import { answering, call, text } from '../../support/mock-ai-model.ts'

const newService = () => createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })

async function withCats() {
  const service = newService()
  for (const [id, name, userId] of [
    ['s', 'Mimi', 'ana'],
    ['other', 'Mimi the second', 'ana'],
    ['foreign', 'Mimi of Bob', 'bob'],
  ] as const) {
    await service.create({ id, userId })
    await service.appendEvent(id, {
      message: { role: 'user', content: `My cat is ${name}.` },
      timestamp: '2026-01-01T00:00:00Z',
    })
  }
  await service.clearView('s')
  return service
}

const search = (query: unknown, toolName = 'conversation_search') =>
  call('S', toolName, { innerThought: 'The cat?', query })

/** What the model was told of its search. */
async function told(tools: ToolSet, asked: ReturnType<typeof call>): Promise<unknown> {
  const model = answering([asked], [text('Mimi.')])
  await generateText({ model, prompt: 'My cat?', tools, stopWhen: isStepCount(2) })
  const [part] = (model.doGenerateCalls[1]?.prompt.at(-1)?.content ?? []) as {
    output: { type: string; value: unknown }
  }[]
  return part?.output.value
}

describe('tools', () => {
  test('find what is archived, in this session only', async () => {
    const service = await withCats()
    const found = '[{"timestamp":"2026-01-01T00:00:00Z","type":"user","text":"My cat is Mimi."}]'
    expect(await told(aiSessionTools(service, { sessionId: 's' }), search('mimi'))).toBe(found)
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
    expect(await told(aiTools(run.tools), search('mimi'))).toBe(found)
  })

  test('find in all sessions of the user, and in nobody else’s', async () => {
    const service = await withCats()
    const tools = aiSessionTools(service, { sessionId: 's', userId: 'ana', pageSize: 5 })
    const answer = String(await told(tools, search('mimi', 'cross_session_search')))
    expect(JSON.parse(answer).map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([
      'other',
      's',
    ])
    const memory = createSessionMemory(service, { crossSessionSearch: true })
    const run = await memory.begin({ sessionId: 's', messages: [] })
    expect(Object.keys(aiTools(run.tools))).toEqual(['conversation_search', 'cross_session_search'])
    expect(await told(aiTools(run.tools), search('mimi', 'cross_session_search'))).toBe(answer)
  })

  test('tell the model what is wrong instead of failing', async () => {
    const service = await withCats()
    const tools = aiSessionTools(service, { sessionId: 's', userId: 'ana' })
    expect(await told(tools, search(' '))).toBe('Error: query must be a text that is not blank')
    expect(await told(tools, search(5))).toBe('Error: query must be a text that is not blank')
    await service.delete('s')
    expect(await told(tools, search('mimi'))).toBe('Error: session "s" does not exist')
  })

  test('see what their branch may see', async () => {
    const service = newService()
    await service.create({ id: 's' })
    for (const branch of [null, 'a', 'b']) {
      await service.appendMessage('s', { role: 'user', content: `cat of ${branch}` }, { branch })
    }
    const tools = aiSessionTools(service, { sessionId: 's', branch: 'a' })
    const answer = String(await told(tools, search('cat')))
    expect(JSON.parse(answer).map((hit: { text: string }) => hit.text)).toEqual([
      'cat of null',
      'cat of a',
    ])
  })

  test('reach the model as they are described', async () => {
    const service = await withCats()
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
    const model = answering([text('Hi.')])
    await generateText({ model, prompt: 'Hi', tools: aiTools(run.tools) })
    expect(model.doGenerateCalls[0]?.tools).toEqual([
      {
        type: 'function',
        name: 'conversation_search',
        description: run.tools[0]?.description,
        inputSchema: run.tools[0]?.inputSchema,
      },
    ])
  })
})

test('types: model messages go in and out, and the tools keep theirs', async () => {
  const service: SessionService<ModelMessage> = newService()
  const memory = createSessionMemory(service)
  expectTypeOf(memory).toEqualTypeOf<SessionMemory<ModelMessage>>()
  const messages: ModelMessage[] = [{ role: 'user', content: 'Hi' }]
  const run = await memory.begin({ sessionId: 's', messages })
  expectTypeOf(run.messages).toEqualTypeOf<ModelMessage[]>()
  expectTypeOf(run.system).toEqualTypeOf<SystemModelMessage[]>()
  expectTypeOf(run.system).toExtend<Instructions>()
  expectTypeOf(await service.getMessages('s')).toEqualTypeOf<ModelMessage[]>()

  const look = tool({
    inputSchema: jsonSchema<{ id: string }>({ type: 'object' }),
    execute: async ({ id }) => id.length,
  })
  const reply = await generateText({
    model: answering([call('A', 'look', { id: 'A' })], [text('Hi.')]),
    instructions: run.system,
    messages: run.messages,
    tools: { ...aiTools(run.tools), look },
    stopWhen: isStepCount(3),
  })
  for (const result of reply.staticToolResults) {
    if (result.toolName === 'look') expectTypeOf(result.output).toEqualTypeOf<number>()
    if (result.toolName === 'conversation_search') {
      expectTypeOf(result.output).toEqualTypeOf<string>()
      expectTypeOf(result.input).toEqualTypeOf<ConversationSearchInput>()
    }
  }
  // All steps: `reply.response.messages` are those of the last one.
  const { events } = await run.end(reply.responseMessages)
  expect(events.length).toBe(3)
  expectTypeOf(events[0]?.message).toEqualTypeOf<ModelMessage | undefined>()

  const memorized: AiRun = createAiRun(memory, { sessionId: 's' })
  const result = streamText({
    model: answering([text('Hi.')]),
    prompt: 'Hi',
    tools: { look },
    ...memorized.callbacks,
  })
  await result.consumeStream()
  expect((await service.getEvents('s')).length).toBe(6)

  const tools = aiSessionTools(service, { sessionId: 's', userId: 'ana' })
  type Message = UIMessage<{ tokens: number }, { weather: string }, InferUITools<typeof tools>>
  const history = createChatHistory<Message>(service)
  expectTypeOf(history).toEqualTypeOf<ChatHistory<Message>>()
  expectTypeOf(await history.load('s')).toEqualTypeOf<Message[]>()
  for (const part of (await history.load('s')).flatMap((message) => message.parts)) {
    if (part.type === 'tool-conversation_search' && part.state === 'output-available') {
      expectTypeOf(part.output).toEqualTypeOf<string>()
    }
  }
  expectTypeOf<ConversationSearchInput>().toExtend<z.infer<typeof conversationSearchArguments>>()
  expectTypeOf<CrossSessionSearchInput>().toExtend<z.infer<typeof crossSessionSearchArguments>>()
})

test('types: a service of other messages is refused', () => {
  const service = createInMemorySessionService()
  // @ts-expect-error its messages may hold parts that the AI SDK does not know
  expect(createChatHistory(service)).toBeDefined()
  // @ts-expect-error as well
  expect(createAiRun(createSessionMemory(service), { sessionId: 's' })).toBeDefined()
})
