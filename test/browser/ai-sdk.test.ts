// The AI SDK with turnlog on IndexedDB, in a page: a tool loop, a chat, a second tab.
import {
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from 'ai'
import { createSessionMemory } from 'turnlog'
import { aiMessages, aiTools, createAiRun, createChatHistory } from 'turnlog/ai-sdk'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { expect, test } from 'vitest'
import { answering, call, text } from '../support/mock-ai-model.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'

const look = tool({
  inputSchema: jsonSchema<{ id: string }>({ type: 'object' }),
  execute: async ({ id }) => `seen ${id}`,
})

test('a tool loop is remembered, step by step, and the next question knows of it', async () => {
  const databaseName = freshDatabaseName()
  const open = () =>
    createIndexedDBSessionService<ModelMessage>({ databaseName, defaultUserId: 'me' })
  const service = open()
  const run = createAiRun(createSessionMemory(service), { sessionId: 's' })
  const model = answering([call('A', 'look', { id: 'A' })], [text('Seen.')])
  const result = streamText({
    model,
    prompt: 'Look at A',
    tools: { look },
    stopWhen: isStepCount(3),
    ...run.callbacks,
  })
  await result.consumeStream()
  await run.settled()
  const other = open()
  const roles = (await other.getMessages('s')).map(({ role }) => role)
  expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant'])
  const next = createAiRun(createSessionMemory(other), { sessionId: 's' })
  const asked = answering([text('Yes.')])
  await streamText({ model: asked, prompt: 'Sure?', ...next.callbacks }).consumeStream()
  expect(asked.doStreamCalls[0]?.prompt.length).toBe(5)
  await Promise.all([service.close(), other.close()])
})

test('a chat comes back in another tab as it was', async () => {
  const databaseName = freshDatabaseName()
  const open = () =>
    createIndexedDBSessionService<ModelMessage>({ databaseName, defaultUserId: 'me' })
  const service = open()
  const history = createChatHistory(service)
  const question: UIMessage = {
    id: 'u1',
    role: 'user',
    parts: [
      { type: 'text', text: 'Look at A' },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
    ],
  }
  await history.receive('s', { trigger: 'submit-message', messages: [question] })
  const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
  const { stream } = streamText({
    model: answering([call('A', 'look', { id: 'A' })], [text('Seen.')]),
    instructions: run.system,
    messages: aiMessages(run.messages),
    tools: { look, ...aiTools(run.tools) },
    stopWhen: isStepCount(3),
  })
  const recording = history.recordReply('s', { messages: [question], run })
  let answered: UIMessage | undefined
  const chunks = toUIMessageStream({
    stream,
    ...recording,
    onEnd: async (event) => {
      await recording.onEnd(event)
      answered = event.responseMessage
    },
  })
  const reader = chunks.getReader()
  while (!(await reader.read()).done);
  const other = open()
  expect(await createChatHistory(other).load('s')).toEqual([
    question,
    JSON.parse(JSON.stringify(answered)),
  ])
  await Promise.all([service.close(), other.close()])
})
