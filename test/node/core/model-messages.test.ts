// AI SDK's ModelMessage goes in and comes out without a cast, and comes back as it was.
import type { ModelMessage } from 'ai'
import { type Message, messageText, type SessionEvent, type SessionService } from 'turnlog'
import { createInMemoryRepository, createInMemorySessionService } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { expect, expectTypeOf, test } from 'vitest'

const conversation: ModelMessage[] = [
  { role: 'system', content: 'Be brief.', providerOptions: { any: { cache: true } } },
  { role: 'user', content: 'What is on this picture, and how warm is it in Riga and Ghent?' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'naïve question' },
      { type: 'file', data: new URL('https://example.com/a.png'), mediaType: 'image/png' },
      { type: 'file', data: Uint8Array.from([1, 2, 3]), mediaType: 'image/png', filename: 'b.png' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'two calls at once' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool-call', toolCallId: 'A', toolName: 'warmth', input: { city: 'Riga' } },
      { type: 'tool-call', toolCallId: 'B', toolName: 'warmth', input: { city: 'Ghent' } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'B',
        toolName: 'warmth',
        output: { type: 'json', value: { celsius: 9 } },
      },
      {
        type: 'tool-result',
        toolCallId: 'A',
        toolName: 'warmth',
        output: { type: 'error-text', value: 'no station in Riga' },
      },
    ],
  },
  { role: 'assistant', content: 'Nine degrees in Ghent.' },
]

test('ModelMessage is a Message, and a service can be one of ModelMessage', async () => {
  expectTypeOf<ModelMessage>().toExtend<Message>()
  const service = createSessionService<ModelMessage>(createInMemoryRepository())
  expectTypeOf(service).toEqualTypeOf<SessionService<ModelMessage>>()
  expectTypeOf(service.getMessages).returns.resolves.toEqualTypeOf<ModelMessage[]>()
  expectTypeOf(service.getEvents).returns.resolves.toEqualTypeOf<
    readonly SessionEvent<ModelMessage>[]
  >()
  expectTypeOf(service.appendMessage).parameter(1).toEqualTypeOf<ModelMessage>()
  // @ts-expect-error: a role that no message has
  const refused = service.appendMessage('s', { role: 'robot', content: '' })
  await expect(refused).rejects.toThrow(/role/)
})

test('a conversation with every kind of part comes back as it was', async () => {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  await service.appendEvents(
    's',
    conversation.map((message) => ({ message })),
  )
  const messages: ModelMessage[] = await service.getMessages('s')
  // What JSON cannot hold has its stored form: an address its text, bytes base64.
  const expected = conversation.with(2, {
    role: 'user',
    content: [
      { type: 'text', text: 'naïve question' },
      { type: 'file', data: 'https://example.com/a.png', mediaType: 'image/png' },
      { type: 'file', data: 'AQID', mediaType: 'image/png', filename: 'b.png' },
    ],
  })
  expect(messages).toEqual(expected)
})

test('text is what people read: neither reasoning nor calls nor results', async () => {
  expect(conversation.map((message) => messageText(message))).toEqual([
    'Be brief.',
    'What is on this picture, and how warm is it in Riga and Ghent?',
    'naïve question',
    'Let me see.',
    '',
    'Nine degrees in Ghent.',
  ])
})

test('a service of plain messages takes ModelMessage as well', async () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  for (const message of conversation) await service.appendMessage('s', message)
  expect(await service.getEvents('s', { messageTypes: ['tool'] })).toHaveLength(1)
})

test('parts that this version of AI SDK does not have are kept', async () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  const message = {
    role: 'assistant' as const,
    content: [
      { type: 'tool-approval-request', approvalId: '1', toolCallId: 'A' },
      { type: 'source', sourceType: 'url', url: 'https://example.com', extra: { deep: [null] } },
    ],
  }
  await service.appendMessage('s', message)
  expect(await service.getMessages('s')).toEqual([message])
})
