// What goes to the model: never half of a tool exchange, and the same bytes from call to call.
import fc from 'fast-check'
import {
  createSessionMemory,
  type EventFilterOptions,
  type Message,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test } from 'vitest'
import { callsTools, says, sessionOf, toolAnswers } from '../../support/conversation.ts'
import { patient, randomLog, runs } from '../../support/random-conversation.ts'

/** The parts of a message that has some. */
const parts = ({ content }: Message) => (typeof content === 'string' ? [] : content)

const user = (content: string) => says('user', content)
const assistant = (content: string) => says('assistant', content)

/** Halves of tool exchanges in a prompt, found by walking it once. */
function findHalves(messages: readonly Message[]): readonly string[] {
  const problems: string[] = []
  interface Call {
    readonly id: string
    approved: boolean
  }
  const open: Call[] = []
  const asked = new Map<string, Call | undefined>()
  for (const message of messages) {
    if (message.content.length === 0) problems.push('an empty message')
    for (const part of parts(message)) {
      const { type, toolCallId = '', approvalId = '' } = part as Record<string, string>
      const call = open.findLast(({ id }) => id === toolCallId)
      if (type === 'tool-call') open.push({ id: toolCallId, approved: false })
      if (type === 'tool-result') {
        if (call === undefined) problems.push(`a result of ${toolCallId} without a call`)
        else open.splice(open.lastIndexOf(call), 1)
      }
      if (type === 'tool-approval-request') asked.set(approvalId, call)
      if (type === 'tool-approval-response') {
        const approved = asked.get(approvalId)
        if (approved !== undefined) approved.approved = true
        if (!asked.delete(approvalId))
          problems.push(`an answer to ${approvalId}, which nobody asked`)
      }
    }
  }
  for (const { id, approved } of open)
    if (!approved) problems.push(`a call of ${id} without a result`)
  for (const id of asked.keys()) problems.push(`${id} was never answered`)
  return problems
}

describe('no half of a tool exchange', () => {
  const filters: fc.Arbitrary<EventFilterOptions> = fc.oneof(
    fc.constant({}),
    fc.integer({ min: 1, max: 12 }).map((lastN) => ({ lastN })),
    fc.record({ pageSize: fc.integer({ min: 1, max: 9 }), page: fc.integer({ min: 0, max: 3 }) }),
    fc
      .subarray(['user', 'assistant', 'tool'] as const, { minLength: 1 })
      .map((messageTypes) => ({ messageTypes })),
    fc.constantFrom('root', 'root.a', 'root.a.b', '').map((branch) => ({ branch })),
    fc.constantFrom('see', 'question').map((keyword) => ({ keyword })),
    fc.record({ from: fc.integer({ min: 0, max: 20 }), to: fc.integer({ min: 5, max: 40 }) }),
  )

  test('whatever the log holds and the filter cuts', patient, async () => {
    await fc.assert(
      fc.asyncProperty(randomLog, randomLog, filters, async (log, given, filter) => {
        const service = await sessionOf(log.map((event, index) => ({ ...event, timestamp: index })))
        const memory = createSessionMemory(service, { filter })
        const messages = given.map(({ message }) => message)
        const run = await memory.begin({ sessionId: 's', messages })
        expect(findHalves([...run.system, ...run.messages])).toEqual([])
        expect(run.messages.some(({ role }) => role === 'system')).toBe(false)
        // What has no part in any exchange is there, untouched.
        const plain = (list: readonly Message[]) =>
          list.filter(({ role, content }) => role !== 'system' && typeof content === 'string')
        const history = await service.getMessages('s', { ...filter, excludeArchived: true })
        const before =
          filter.lastN === undefined && filter.pageSize === undefined ? plain(history) : []
        expect(plain(run.messages)).toEqual(expect.arrayContaining([...before, ...plain(messages)]))
      }),
      { numRuns: runs(1000) },
    )
  })

  const request = { type: 'tool-approval-request', approvalId: 'ok', toolCallId: 'A' }
  const response = { type: 'tool-approval-response', approvalId: 'ok', approved: true }
  const asks: Message = { role: 'assistant', content: [...parts(callsTools('A')), request] }
  const agrees: Message = { role: 'tool', content: [response] }

  test('a call whose approval was answered is about to run; one that nobody answered is not', async () => {
    const prompt = async (history: readonly Message[], messages: readonly Message[]) => {
      const service = await sessionOf(history.map((message) => ({ message })))
      return (await createSessionMemory(service).begin({ sessionId: 's', messages })).messages
    }
    expect(await prompt([user('go'), asks], [agrees])).toEqual([user('go'), asks, agrees])
    expect(await prompt([user('go'), asks], [user('never mind')])).toEqual([
      user('go'),
      user('never mind'),
    ])
    expect(await prompt([user('go')], [agrees])).toEqual([user('go')])
    const whole = [user('go'), asks, agrees, toolAnswers('A')]
    expect(await prompt(whole, [user('x')])).toEqual([...whole, user('x')])
    // The answer to the question is lost, its result is not: the exchange stands without the question.
    expect(await prompt([user('go'), asks, toolAnswers('A')], [user('x')])).toEqual([
      user('go'),
      callsTools('A'),
      toolAnswers('A'),
      user('x'),
    ])
  })

  test('of a message that holds more, the rest stays; blanks and thoughts alone do not', async () => {
    const text = { type: 'text', text: 'Let me see.' }
    const blank = { type: 'text', text: ' ' }
    const thought = { type: 'reasoning', text: 'hm' }
    const [call] = callsTools('A').content as [{ type: string }]
    const service = await sessionOf(
      [
        [text, call],
        [blank, call],
        [thought, call],
        [thought, text, call],
      ].map((content) => ({
        message: { role: 'assistant', content },
      })),
    )
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
    expect(run.messages.map(({ content }) => content)).toEqual([[text], [thought, text], 'x'])
  })

  test('ids that come again are paired one by one', async () => {
    const service = await sessionOf(
      [callsTools('A'), callsTools('A'), toolAnswers('A'), toolAnswers('A'), toolAnswers('A')].map(
        (message) => ({ message }),
      ),
    )
    const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [user('x')] })
    expect(run.messages.map(({ role }) => role)).toEqual([
      'assistant',
      'assistant',
      'tool',
      'tool',
      'user',
    ])
  })
})

describe('the same bytes from call to call', () => {
  /** Messages that look otherwise once they are stored. */
  const questions: readonly ((text: string) => Message)[] = [
    user,
    (text) => ({
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image', image: new Uint8Array([1, 2, 3]), mediaType: 'image/png' } as never,
        { type: 'image', image: new URL('https://turnlog.test/a b'), extra: undefined } as never,
        { type: 'file', data: new Uint8Array([255]).buffer, mediaType: 'application/pdf' } as never,
      ],
    }),
    (text) => ({
      role: 'user',
      content: [
        { type: 'text', text, at: new Date(0), who: { toJSON: () => ({ name: 'Ana' }) } } as never,
      ],
    }),
    (text) => new Proxy({ role: 'user', content: `${text} \ud800 lone` }, {}) as Message,
  ]

  const step = fc.record({
    kind: fc.nat({ max: questions.length - 1 }),
    rounds: fc.integer({ min: 0, max: 2 }),
    isRetried: fc.boolean(),
    isReloaded: fc.boolean(),
    end: fc.constantFrom('answer', 'abort', 'abort and retry', 'nothing'),
  })

  test('a prompt begins with the prompt before it, until the next boundary', patient, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 9 }), async (steps) => {
        const service = createInMemorySessionService({ defaultUserId: 'ana' })
        const open = () =>
          createSessionMemory(service, {
            trigger: turnCountTrigger(4),
            strategy: turnWindow({ maxTurns: 2 }),
          })
        let memory = open()
        let before: readonly string[] = []
        for (const [index, { kind, rounds, isRetried, isReloaded, end }] of steps.entries()) {
          const runId = `run ${index}`
          const list: Message[] = [questions[kind]?.(`question ${index}`) ?? user('?')]
          const begin = async () => {
            const run = await memory.begin({ sessionId: 's', messages: list, runId })
            const prompt = run.messages.map((message) => JSON.stringify(message))
            expect(prompt.slice(0, before.length)).toEqual(before)
            before = prompt
            return run
          }
          let run = await begin()
          for (let round = 0; round < rounds; round++) {
            const id = `call ${index}.${round}`
            list.push(callsTools(id), toolAnswers(id))
            if (isReloaded) memory = open()
            run = await begin()
            if (isRetried) run = await begin()
          }
          if (end === 'nothing') continue
          if (end !== 'answer') {
            await run.abort([assistant(`a part ${index}`)])
            if (end === 'abort') continue
            if (isReloaded) memory = open()
            run = await begin()
          }
          const { compaction } = await run.end([assistant(`answer ${index}`)])
          if (compaction?.status === 'compacted') before = []
        }
      }),
      { numRuns: runs(500) },
    )
  })

  test('images, dates and objects are in the first prompt as they will be in the second', async () => {
    for (const question of questions) {
      const service = createInMemorySessionService({ defaultUserId: 'ana' })
      const memory = createSessionMemory(service)
      const first = await memory.begin({ sessionId: 's', messages: [question('What is this?')] })
      const second = await memory.begin({ sessionId: 's', messages: [user('And this?')] })
      expect(JSON.stringify(second.messages[0])).toBe(JSON.stringify(first.messages[0]))
      expect(second.messages[0]).toEqual(first.messages[0])
    }
  })
})
