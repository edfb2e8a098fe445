// A tool loop that is stored step by step: what a retry goes on from, and results that come late.
import { createSessionMemory, type Message } from 'turnlog'
import { expect, test } from 'vitest'
import { callsTools, idsOf, says, sessionOf, toolAnswers } from '../../support/conversation.ts'

const user = (content: string) => says('user', content)
const assistant = (content: string) => says('assistant', content)

const begin = { sessionId: 's', messages: [user('go')], runId: 'r' }

test('steps are stored one by one, and end takes the rest', async () => {
  const service = await sessionOf()
  const run = await createSessionMemory(service).begin(begin)
  expect(idsOf(await run.append([callsTools('A'), toolAnswers('A')]))).toEqual(['r:1', 'r:2'])
  expect(idsOf(await run.append([callsTools('B'), toolAnswers('B')]))).toEqual(['r:3', 'r:4'])
  expect(await run.append(null)).toEqual([])
  const { events } = await run.end([assistant('done')])
  expect(idsOf(events)).toEqual(['r:5'])
  expect(idsOf((await run.end([assistant('done')])).events)).toEqual(['r:5'])
  expect(await service.getMessages('s')).toEqual([
    user('go'),
    callsTools('A'),
    toolAnswers('A'),
    callsTools('B'),
    toolAnswers('B'),
    assistant('done'),
  ])
})

test('a step that could not be stored keeps its place', async () => {
  const service = await sessionOf()
  const run = await createSessionMemory(service).begin(begin)
  const bad = { role: 'assistant', content: [{ type: 'tool-call' }] } as Message
  await expect(run.append([bad])).rejects.toMatchObject({ code: 'INVALID_EVENT' })
  expect(idsOf(await run.append([callsTools('A'), toolAnswers('A')]))).toEqual(['r:1', 'r:2'])
})

test.each([{}, { filter: { lastN: 1 } }, { filter: { messageTypes: ['user'] as const } }])(
  'a retry goes on behind the last result, whatever the filter %j leaves out',
  async (filter) => {
    const service = await sessionOf()
    const first = await createSessionMemory(service).begin(begin)
    await first.append([callsTools('A'), toolAnswers('A')])
    await first.abort([assistant('As the t')])
    const second = await createSessionMemory(service).begin({ ...begin, ...filter })
    expect(second.messages).toEqual([user('go'), callsTools('A'), toolAnswers('A')])
    await second.append([callsTools('B'), toolAnswers('B')])
    await second.end([assistant('done')])
    const events = await service.getEvents('s')
    expect(idsOf(events).filter((id) => !id.includes('aborted'))).toEqual(
      [0, 1, 2, 3, 4, 5].map((position) => `r:${position}`),
    )
    const later = await createSessionMemory(service).begin({
      sessionId: 's',
      messages: [user('thanks')],
    })
    expect(later.messages.slice(-2)).toEqual([assistant('done'), user('thanks')])
  },
)

test('a retry of a run that has its answer begins anew, and stores nothing twice', async () => {
  const service = await sessionOf()
  const first = await createSessionMemory(service).begin(begin)
  await first.append([callsTools('A'), toolAnswers('A')])
  await first.end([assistant('done')])
  const second = await createSessionMemory(service).begin(begin)
  expect(second.messages).toEqual([user('go')])
  await second.append([callsTools('A'), toolAnswers('A')])
  await second.end([assistant('done, again')])
  expect((await service.getEvents('s')).length).toBe(4)
})

test('a list that holds the steps itself stores what comes after them', async () => {
  const service = await sessionOf()
  const first = await createSessionMemory(service).begin(begin)
  await first.append([callsTools('A'), toolAnswers('A')])
  const messages = [user('go'), callsTools('A'), toolAnswers('A')]
  const second = await createSessionMemory(service).begin({ ...begin, messages })
  expect(second.messages).toEqual(messages)
  expect(idsOf((await second.end([assistant('done')])).events)).toEqual(['r:3'])
})

test('an erased step is not brought back', async () => {
  const service = await sessionOf()
  const first = await createSessionMemory(service).begin(begin)
  await first.append([callsTools('A'), toolAnswers('A'), callsTools('B'), toolAnswers('B')])
  await service.eraseEvent('s', 'r:2')
  const second = await createSessionMemory(service).begin(begin)
  expect(second.messages).toEqual([user('go'), callsTools('B'), toolAnswers('B')])
  expect(idsOf((await second.end([assistant('done')])).events)).toEqual(['r:5'])
})

test('a result that came after another question stands where its call is', async () => {
  const service = await sessionOf(
    [
      user('go'),
      callsTools('A', 'B'),
      toolAnswers('B'),
      user('and?'),
      assistant('Still waiting.'),
      toolAnswers('A'),
    ].map((message) => ({ message })),
  )
  const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
  expect(run.messages).toEqual([
    user('go'),
    callsTools('A', 'B'),
    toolAnswers('B'),
    toolAnswers('A'),
    user('and?'),
    assistant('Still waiting.'),
    user('x'),
  ])
})

test('a late message with results of two turns is split between them', async () => {
  const service = await sessionOf(
    [
      user('go'),
      callsTools('A'),
      user('again'),
      callsTools('B'),
      user('and?'),
      toolAnswers('A', 'B'),
    ].map((message) => ({ message })),
  )
  const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
  expect(run.messages).toEqual([
    user('go'),
    callsTools('A'),
    toolAnswers('A'),
    user('again'),
    callsTools('B'),
    toolAnswers('B'),
    user('and?'),
    user('x'),
  ])
})

test('a result that the provider gave stays in the message of the assistant', async () => {
  const [call] = callsTools('A').content as [{ type: string }]
  const [answer] = toolAnswers('A').content as [{ type: string }]
  const messages: Message[] = [
    user('go'),
    { role: 'assistant', content: [call] },
    toolAnswers('none'),
    { role: 'assistant', content: [answer, { type: 'text', text: 'done' } as { type: string }] },
  ]
  const service = await sessionOf(messages.map((message) => ({ message })))
  const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
  expect(run.messages).toEqual([messages[0], messages[1], messages[3], user('x')])
})

test('an approval that nobody acted on does not leave a call without a result in later prompts', async () => {
  const asks: Message = {
    role: 'assistant',
    content: [
      ...(callsTools('A').content as { type: string }[]),
      { type: 'tool-approval-request', approvalId: 'ok', toolCallId: 'A' } as { type: string },
    ],
  }
  const agrees: Message = {
    role: 'tool',
    content: [
      { type: 'tool-approval-response', approvalId: 'ok', approved: true } as { type: string },
    ],
  }
  const service = await sessionOf([user('go'), asks, agrees].map((message) => ({ message })))
  const memory = createSessionMemory(service)
  const run = await memory.begin({ sessionId: 's', messages: [] })
  expect(run.messages).toEqual([user('go'), asks, agrees])
  const later = await memory.begin({ sessionId: 's', messages: [user('x')] })
  expect(later.messages).toEqual([user('go'), user('x')])
})

test('an event without content is in no prompt', async () => {
  const empty: Message = { role: 'assistant', content: [] }
  const service = await sessionOf(
    [user('go'), empty, assistant('hi')].map((message) => ({ message })),
  )
  const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
  expect(run.messages).toEqual([user('go'), assistant('hi'), user('x')])
})
