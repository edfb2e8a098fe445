// The window of a log that examples/browser-chat shows.
import type { ModelMessage } from 'ai'
import { type SessionService, turnWindow } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test, vi } from 'vitest'
import { entriesOf, entryText } from '../../../examples/browser-chat/src/view/entries.ts'
import { createTranscript } from '../../../examples/browser-chat/src/view/transcript.ts'

async function conversationOf(count: number) {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  await service.create({ id: 'chat' })
  await service.appendEvents(
    'chat',
    Array.from({ length: count }, (_, index) => message(index + 1)),
  )
  const transcript = createTranscript(service, 'chat')
  const shown = () => {
    const { events, before, after } = transcript.getState()
    return [before, events[0]?.seq, events.at(-1)?.seq, after]
  }
  return { service, transcript, shown }
}

function message(number: number) {
  const role = number % 2 === 1 ? ('user' as const) : ('assistant' as const)
  return { id: `event-${number}`, message: { role, content: `message ${number}` } }
}

const texts = (service: Awaited<ReturnType<typeof conversationOf>>) =>
  entriesOf(service.transcript.getState().events).map(entryText)

test('opens at the end, or around an event, and moves both ways within its size', async () => {
  const { transcript, shown } = await conversationOf(1000)
  await transcript.open()
  expect(shown()).toEqual([960, 961, 1000, 0])
  for (let portion = 0; portion < 6; portion++) await transcript.loadEarlier()
  expect(shown()).toEqual([720, 721, 960, 40])
  await transcript.loadLater()
  expect(shown()).toEqual([760, 761, 1000, 0])
  await transcript.open(500)
  expect(shown()).toEqual([480, 481, 520, 480])
  await transcript.open(3)
  expect(shown()).toEqual([0, 1, 40, 960])
  await transcript.open(995)
  expect(shown()).toEqual([960, 961, 1000, 0])
  transcript.close()
})

test('follows what others append, compact, rewind and delete', async () => {
  const chat = await conversationOf(8)
  const { service, transcript, shown } = chat
  await transcript.open()
  await service.appendEvents('chat', [message(9), message(10)])
  await vi.waitFor(() => expect(shown()).toEqual([0, 1, 10, 0]))
  await service.compact('chat', { trigger: () => true, strategy: turnWindow({ maxTurns: 2 }) })
  await vi.waitFor(() =>
    expect(transcript.getState().events.filter(({ archived }) => archived)).toHaveLength(6),
  )
  await service.rewind('chat', { before: 'event-9' })
  await vi.waitFor(() => expect(texts(chat).at(-1)).toBe('message 8'))
  await service.delete('chat')
  await vi.waitFor(() => expect(transcript.getState().status).toBe('deleted'))
  transcript.close()
})

test('what comes while one looks elsewhere is counted, not read', async () => {
  const { service, transcript, shown } = await conversationOf(200)
  await transcript.open(50)
  await service.appendEvents('chat', [message(201), message(202)])
  await vi.waitFor(() => expect(shown()).toEqual([30, 31, 70, 132]))
  transcript.close()
})

test('one that does not exist is missing until it does; a store that fails says so and recovers', async () => {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  let isBroken = false
  const shaky: SessionService<ModelMessage> = {
    ...service,
    findById: async (id) => {
      if (isBroken) throw new Error('the disk is on fire')
      return service.findById(id)
    },
  }
  const transcript = createTranscript(shaky, 'chat')
  await transcript.open()
  expect(transcript.getState().status).toBe('missing')
  await service.create({ id: 'chat' })
  await service.appendEvents('chat', [message(1)])
  isBroken = true
  await transcript.refresh()
  expect(transcript.getState()).toMatchObject({ status: 'failed', error: 'the disk is on fire' })
  isBroken = false
  await transcript.refresh()
  expect(transcript.getState()).toMatchObject({ status: 'ready', before: 0, after: 0 })
  transcript.close()
})

test('a tool loop is one answer with its results; summaries, erased and rewound events stay out', async () => {
  const chat = await conversationOf(1)
  const { service, transcript } = chat
  const call = {
    type: 'tool-call' as const,
    toolCallId: 'c',
    toolName: 'look',
    input: { at: 'it' },
  }
  const output = { type: 'text' as const, value: 'seen' }
  const result = { type: 'tool-result' as const, toolCallId: 'c', toolName: 'look', output }
  await service.appendEvents('chat', [
    { message: { role: 'assistant', content: [call] } },
    { message: { role: 'tool', content: [result] } },
    { message: { role: 'assistant', content: 'There it is.' } },
    { id: 'secret', message: { role: 'user', content: 'secret' } },
  ])
  await service.eraseEvent('chat', 'secret')
  await transcript.open()
  const entries = entriesOf(transcript.getState().events)
  expect(entries.map(({ kind }) => kind)).toEqual(['question', 'answer'])
  expect(entries[1]?.parts).toEqual([
    { type: 'tool', id: 'c', name: 'look', input: { at: 'it' }, output: 'seen' },
    { type: 'text', text: 'There it is.' },
  ])
  transcript.close()
})
