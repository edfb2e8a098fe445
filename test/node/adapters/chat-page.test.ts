// A conversation read from its end: the pages are what the whole is, and a page costs what it shows.
import type { ModelMessage, UIMessage } from 'ai'
import fc from 'fast-check'
import type { SessionService } from 'turnlog'
import { type ChatEntry, type ChatHistory, createChatHistory } from 'turnlog/ai-sdk'
import { createInMemoryRepository, createInMemorySessionService } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { expect, test } from 'vitest'
import { runs } from '../../support/random-conversation.ts'
import { answer, question, said } from '../../support/ui-messages.ts'

async function pagesOf(history: ChatHistory, limit: number): Promise<ChatEntry[][]> {
  const pages: ChatEntry[][] = []
  let cursor: string | null = null
  do {
    const page = await history.page('s', { limit, cursor })
    pages.unshift([...page.entries])
    cursor = page.cursor
  } while (cursor !== null)
  return pages
}

const messagesOf = (entries: readonly ChatEntry[]): UIMessage[] =>
  entries.map(({ message }) => message)

test('pages are the whole, whatever the log holds', async () => {
  const tool = (id: string, state: 'input-available' | 'output-available') => ({
    type: 'tool-look',
    toolCallId: id,
    state,
    input: {},
    ...(state === 'output-available' ? { output: `seen ${id}` } : {}),
  })
  const step = fc.oneof(
    fc.constant('question' as const),
    fc.constant('answer' as const),
    fc.constant('waiting answer' as const),
    fc.constant('late result' as const),
    fc.constant('model messages' as const),
    fc.constant('summary' as const),
    fc.constant('rewind' as const),
    fc.constant('clear' as const),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      async (steps, limit) => {
        const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
        const history = createChatHistory(service)
        await service.create({ id: 's' })
        const waiting: string[] = []
        for (const [index, kind] of steps.entries()) {
          const id = `${kind} ${index}`
          if (kind === 'question') await history.save('s', [question(id, id)])
          else if (kind === 'answer') {
            const parts = [said('One.'), { type: 'step-start' }, tool(id, 'output-available')]
            await history.save('s', [answer(id, ...parts)])
          } else if (kind === 'waiting answer') {
            await history.save('s', [answer(id, tool(id, 'input-available'))])
            waiting.push(id)
          } else if (kind === 'late result') {
            const late = waiting.shift()
            if (late === undefined) continue
            await history.save('s', [answer(late, tool(late, 'output-available'))])
          } else if (kind === 'model messages') {
            await service.appendEvents('s', [
              { message: { role: 'assistant', content: 'I look.' } },
              { message: { role: 'assistant', content: 'I see.' } },
            ])
          } else if (kind === 'summary') {
            const message: ModelMessage = { role: 'user', content: 'In short.' }
            await service.appendEvent('s', { message, synthetic: true })
          } else if (kind === 'clear') await service.clearView('s')
          else {
            const events = (await service.getEvents('s')).filter(({ rewound }) => !rewound)
            const event = events[Math.floor(events.length / 2)]
            if (event !== undefined) await service.rewind('s', { before: event.id })
          }
        }
        const pages = await pagesOf(history, limit)
        expect(messagesOf(pages.flat())).toEqual(await history.load('s'))
        for (const page of pages.slice(1)) expect(page.length).toBe(limit)
      },
    ),
    { numRuns: runs(300) },
  )
})

test('a page reads about what it shows', async () => {
  const repository = createInMemoryRepository()
  let read = 0
  const service: SessionService<ModelMessage> = createSessionService(
    {
      ...repository,
      async readEvents(id, request) {
        const answered = await repository.readEvents(id, request)
        read += answered.events.length
        return answered
      },
    },
    { defaultUserId: 'ana' },
  )
  const history = createChatHistory(service)
  await service.create({ id: 's' })
  await service.appendEvents(
    's',
    Array.from({ length: 5000 }, (_, index) => ({
      id: `m${index}`,
      message: {
        role: index % 2 === 0 ? 'user' : 'assistant',
        content: `message ${index}`,
      } as const,
    })),
  )
  const first = await history.page('s', { limit: 20 })
  expect(first.entries.map(({ message }) => message.id)).toEqual(
    Array.from({ length: 20 }, (_, index) => `m${4980 + index}`),
  )
  expect(read).toBeLessThanOrEqual(40)
  const second = await history.page('s', { limit: 20, cursor: first.cursor })
  expect(second.entries.at(-1)?.message.id).toBe('m4979')
  expect(read).toBeLessThanOrEqual(80)
  // Neither does a new message, however long the conversation is.
  read = 0
  await history.save('s', [question('new', 'And now?')])
  expect(read).toBe(0)
})

test('an unknown session has an empty page, and a bad cursor is refused', async () => {
  const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
  const history = createChatHistory(service)
  expect(await history.page('s')).toEqual({ entries: [], cursor: null })
  expect(await history.load('s')).toEqual([])
  for (const cursor of ['', 'x', '{}', '{"seq":0,"late":[]}', 'null']) {
    await expect(history.page('s', { cursor })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  }
  await expect(history.page('s', { limit: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('an entry tells where its message is', async () => {
  const service = createInMemorySessionService<ModelMessage>({
    defaultUserId: 'ana',
    now: () => Date.UTC(2026, 0, 1),
  })
  const history = createChatHistory(service)
  const looks = { type: 'tool-look', toolCallId: 'T', state: 'output-available', input: {} }
  const message = answer('a', { ...looks, output: 'seen' })
  await history.save('s', [message])
  await service.clearView('s')
  const { entries } = await history.page('s')
  expect(entries).toEqual([
    { message, timestamp: new Date('2026-01-01'), archived: true, eventIds: ['a', 'a:1'] },
  ])
})
