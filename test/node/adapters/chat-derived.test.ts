// Model messages that came into the log without useChat, as a chat shows them; and a chat that goes on
// with them.
import { convertToModelMessages, type ModelMessage, validateUIMessages } from 'ai'
import { createChatHistory } from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'
import { answer, question, said } from '../../support/ui-messages.ts'

async function historyOf(messages: readonly ModelMessage[]) {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  await service.appendEvents(
    's',
    messages.map((message, index) => ({ id: `e${index}`, message })),
  )
  return { service, history: createChatHistory(service) }
}

const step = { type: 'step-start' }

const loop: readonly ModelMessage[] = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Look at A and B.' },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Two calls.' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', toolCallId: 'A', toolName: 'look', input: { id: 'A' } },
      { type: 'tool-call', toolCallId: 'B', toolName: 'look', input: { id: 'B' } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'B',
        toolName: 'look',
        output: { type: 'error-text', value: 'Nothing there.' },
      },
      {
        type: 'tool-result',
        toolCallId: 'A',
        toolName: 'look',
        output: { type: 'json', value: { seen: 'A' } },
      },
    ],
  },
  { role: 'assistant', content: 'A is there.' },
]

test('an answer with its tool results is one message', async () => {
  const { history } = await historyOf(loop)
  const loaded = await history.load('s')
  expect(loaded).toEqual([
    { id: 'e0', role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
    question('e1', 'Look at A and B.'),
    answer(
      'e2',
      step,
      { type: 'reasoning', text: 'Two calls.', state: 'done' },
      said('I look.'),
      {
        type: 'tool-look',
        toolCallId: 'A',
        state: 'output-available',
        input: { id: 'A' },
        output: { seen: 'A' },
      },
      {
        type: 'tool-look',
        toolCallId: 'B',
        state: 'output-error',
        input: { id: 'B' },
        errorText: 'Nothing there.',
      },
      step,
      said('A is there.'),
    ),
  ])
  expect(await validateUIMessages({ messages: loaded })).toEqual(loaded)
  const told = await convertToModelMessages(loaded)
  expect(told.map(({ role }) => role)).toEqual(loop.map(({ role }) => role))
})

test('files, approvals and what providers ran', async () => {
  const { history } = await historyOf([
    {
      role: 'user',
      content: [
        { type: 'image', image: 'aGk=', mediaType: 'image/png' },
        { type: 'image', image: new URL('https://a.test/a.png') },
        { type: 'file', data: new Uint8Array([104, 105]), mediaType: 'text/plain', filename: 'a' },
        { type: 'file', data: { type: 'data', data: 'aGk=' }, mediaType: 'text/plain' },
        { type: 'file', data: { type: 'text', text: 'hi' }, mediaType: 'text/plain' },
        {
          type: 'file',
          data: { type: 'url', url: new URL('https://a.test/a.pdf') },
          mediaType: 'application/pdf',
        },
        { type: 'file', data: { provider: 'file-1' }, mediaType: 'application/pdf' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 'P', toolName: 'pay', input: 1 },
        { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'P', reason: 'Dear.' },
        { type: 'tool-call', toolCallId: 'Q', toolName: 'pay', input: 2 },
        { type: 'tool-approval-request', approvalId: 'q', toolCallId: 'Q' },
        { type: 'tool-call', toolCallId: 'R', toolName: 'find', input: 3, providerExecuted: true },
        {
          type: 'tool-result',
          toolCallId: 'R',
          toolName: 'find',
          output: { type: 'content', value: [{ type: 'text', text: 'found' }] },
        },
        { type: 'tool-call', toolCallId: 'S', toolName: 'pay', input: 4 },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-approval-response', approvalId: 'p', approved: true },
        { type: 'tool-approval-response', approvalId: 'q', approved: false, reason: 'No.' },
        {
          type: 'tool-result',
          toolCallId: 'P',
          toolName: 'pay',
          output: { type: 'text', value: 'paid' },
        },
        {
          type: 'tool-result',
          toolCallId: 'Q',
          toolName: 'pay',
          output: { type: 'execution-denied', reason: 'No.' },
        },
        {
          type: 'tool-result',
          toolCallId: 'X',
          toolName: 'gone',
          output: { type: 'error-json', value: { code: 1 } },
        },
      ],
    },
  ])
  const loaded = await history.load('s')
  const png = { type: 'file', mediaType: 'image/png' }
  const plain = { type: 'file', mediaType: 'text/plain' }
  const pdf = { type: 'file', mediaType: 'application/pdf' }
  expect(loaded[0]?.parts).toEqual([
    { ...png, url: 'data:image/png;base64,aGk=' },
    { type: 'file', mediaType: 'image', url: 'https://a.test/a.png' },
    { ...plain, filename: 'a', url: 'data:text/plain;base64,aGk=' },
    { ...plain, url: 'data:text/plain;base64,aGk=' },
    { ...plain, url: 'data:text/plain,hi' },
    { ...pdf, url: 'https://a.test/a.pdf' },
    { ...pdf, url: '', providerReference: { provider: 'file-1' } },
  ])
  const part = (type: string, toolCallId: string, rest: object) => ({ type, toolCallId, ...rest })
  expect(loaded[1]?.parts).toEqual([
    step,
    part('tool-pay', 'P', {
      input: 1,
      state: 'output-available',
      output: 'paid',
      approval: { id: 'p', requestReason: 'Dear.', approved: true },
    }),
    part('tool-pay', 'Q', {
      input: 2,
      state: 'output-denied',
      approval: { id: 'q', approved: false, reason: 'No.' },
    }),
    part('tool-find', 'R', {
      input: 3,
      providerExecuted: true,
      state: 'output-available',
      output: [{ type: 'text', text: 'found' }],
    }),
    part('tool-pay', 'S', { input: 4, state: 'input-available' }),
    part('tool-gone', 'X', { state: 'output-error', errorText: '{"code":1}' }),
  ])
  expect(await validateUIMessages({ messages: loaded })).toEqual(loaded)
})

test('a chat goes on with them: more words, a result from the page, an edit', async () => {
  const { history, service } = await historyOf([
    ...loop,
    { role: 'user', content: 'Ask me.' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'Q', toolName: 'ask', input: {} }],
    },
  ])
  const [, , , , asked] = await history.load('s')
  const ask = { type: 'tool-ask', toolCallId: 'Q', input: {} }
  expect(asked).toEqual(answer('e6', step, { ...ask, state: 'input-available' }))
  const answered = answer('e6', step, { ...ask, state: 'output-available', output: 'Yes.' })
  await history.save('s', [answered])
  await history.save('s', [answered, question('u', 'Thanks.')])
  expect((await history.load('s')).slice(-2)).toEqual([answered, question('u', 'Thanks.')])
  expect((await service.getEvents('s')).map(({ id }) => id).slice(7)).toEqual(['e6:1', 'u'])
  expect(await history.rewind('s', { after: 'e1' })).toBe(7)
  expect((await history.load('s')).map(({ id }) => id)).toEqual(['e0', 'e1'])
  await expect(history.rewind('s', { before: 'e2' })).rejects.toMatchObject({
    code: 'EVENT_NOT_FOUND',
  })
})

test('an answer after the next question is a message of its own, and leaves the first one alone', async () => {
  const { history, service } = await historyOf(loop)
  await history.save('s', [question('u2', 'And C?')])
  // As a recovery after a restart stores it: without any id.
  const { id } = await service.appendMessage('s', { role: 'assistant', content: 'C is not there.' })
  const loaded = await history.load('s')
  expect(loaded.map((message) => message.id)).toEqual(['e0', 'e1', 'e2', 'u2', id])
  expect(loaded[2]?.parts.length).toBe(7)
  expect(loaded[4]).toEqual(answer(id, step, said('C is not there.')))
})
