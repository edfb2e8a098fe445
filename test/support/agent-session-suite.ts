// A session of the OpenAI Agents SDK on any store: the SDK's own Runner works with it as with the SDK's own
// MemorySession, and nothing that it takes away is destroyed.
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  Runner,
  RunState,
  type Session,
  type SessionHistoryTransactionAwareSession,
  setTracingDisabled,
  tool,
} from '@openai/agents-core'
import {
  assistantMessage,
  functionCall,
  modelError,
  ScriptedModel,
  type ScriptedModelInput,
} from '@openai/agents-core/testing'
import fc from 'fast-check'
import { type SessionService, turnCountTrigger, turnWindow } from 'turnlog'
import { type AgentSession, createAgentSession } from 'turnlog/openai-agents'
import { createSessionService } from 'turnlog/store'
import type { StoreHarness } from 'turnlog/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

setTracingDisabled(true)

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value))

const user = (content: string): AgentInputItem => ({ type: 'message', role: 'user', content })
const said = (text: string): AgentInputItem => assistantMessage(text)
const call = (callId: string, args = '{"id":"A"}'): AgentInputItem =>
  functionCall('look', args, { callId })
const result = (callId: string): AgentInputItem => ({
  type: 'function_call_result',
  callId,
  name: 'look',
  status: 'completed',
  output: { type: 'text', text: `seen ${callId}` },
})

const look = tool({
  name: 'look',
  description: 'Looks at something.',
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
  strict: true,
  execute: async (input) => `seen ${(input as { id: string }).id}`,
})

/** Texts of items, or what they are. */
function shortly(items: readonly AgentInputItem[]): string[] {
  return items.map((item) => {
    if (!('role' in item)) return String(item.type)
    const { role, content } = item
    return `${role}: ${typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : part.type))}`
  })
}

export function agentSessionSuite(harness: StoreHarness, numRuns: number): void {
  let service: SessionService
  beforeEach(async () => {
    await harness.reset()
    service = createSessionService(await harness.open(), { defaultUserId: 'ana' })
  })
  afterEach(async () => {
    await service.close()
  })

  const newSession = () => createAgentSession(service, { sessionId: 's' })

  describe('the Runner', () => {
    /** Runs the same with the SDK's own session and with ours; both must come to the same. */
    const inBoth = async (
      scenario: (
        session: Session & AnySession,
        model: (...script: ScriptedModelInput[]) => ScriptedModel,
      ) => Promise<void>,
    ): Promise<AgentInputItem[]> => {
      const outcomes: unknown[] = []
      for (const session of [new MemorySession({ sessionId: 's' }), newSession()]) {
        const models: ScriptedModel[] = []
        const model = (...script: ScriptedModelInput[]) => {
          const scripted = new ScriptedModel(script)
          models.push(scripted)
          return scripted
        }
        await scenario(session, model)
        const calls = models.flatMap(({ calls: made }) => made.map(({ request }) => request.input))
        outcomes.push({ items: plain(await session.getItems()), calls: plain(calls) })
      }
      expect(outcomes[1]).toEqual(outcomes[0])
      return (outcomes[1] as { items: AgentInputItem[] }).items
    }

    const runner = new Runner()

    test.each([false, true])('several turns with tools, streamed: %s', async (streamed) => {
      const items = await inBoth(async (session, model) => {
        const scripted = model(
          [assistantMessage('I look.'), functionCall('look', { id: 'A' }, { callId: 'c1' })],
          [
            functionCall('look', { id: 'B' }, { callId: 'c2' }),
            functionCall('look', { id: 'C' }, { callId: 'c3' }),
          ],
          [assistantMessage('Seen.')],
          [assistantMessage('You are welcome.')],
        )
        const agent = new Agent({ name: 'Looker', model: scripted, tools: [look] })
        for (const words of ['Look around', 'Thanks']) {
          if (streamed) {
            const stream = await runner.run(agent, words, { session, stream: true })
            await stream.completed
          } else await runner.run(agent, words, { session })
        }
        scripted.assertComplete()
      })
      expect(shortly(items)).toEqual([
        'user: Look around',
        'assistant: I look.',
        'function_call',
        'function_call_result',
        'function_call',
        'function_call',
        'function_call_result',
        'function_call_result',
        'assistant: Seen.',
        'user: Thanks',
        'assistant: You are welcome.',
      ])
      const roles = (await service.getMessages('s')).map(({ role }) => role)
      expect(roles.filter((role) => role === 'tool').length).toBe(3)
    })

    test('a model that fails, and is asked again', async () => {
      await inBoth(async (session, model) => {
        const agent = new Agent({
          name: 'Looker',
          model: model(
            [functionCall('look', { id: 'A' }, { callId: 'c1' })],
            modelError(new Error('overloaded')),
            [assistantMessage('Here.')],
          ),
          tools: [look],
        })
        await expect(runner.run(agent, 'Look', { session })).rejects.toThrow('overloaded')
        await runner.run(agent, 'Again', { session })
      })
    })

    test('an answer that a guardrail blocks', async () => {
      await inBoth(async (session, model) => {
        const agent = new Agent({
          name: 'Looker',
          model: model(
            [functionCall('look', { id: 'A' }, { callId: 'c1' })],
            [assistantMessage('A secret.')],
            [assistantMessage('No secret.')],
          ),
          tools: [look],
          outputGuardrails: [
            {
              name: 'secrets',
              execute: async ({ agentOutput }) => ({
                outputInfo: null,
                tripwireTriggered: String(agentOutput) === 'A secret.',
              }),
            },
          ],
        })
        await expect(runner.run(agent, 'Tell', { session })).rejects.toThrow()
        await runner.run(agent, 'Tell nicely', { session })
      })
    })

    test.each([true, false])('a tool that waits for approval, approved: %s', async (approved) => {
      const risky = tool({
        name: 'pay',
        description: 'Pays.',
        parameters: look.parameters as never,
        strict: true,
        needsApproval: true,
        execute: async () => 'paid',
      })
      await inBoth(async (session, model) => {
        const scripted = model(
          [functionCall('pay', { id: 'A' }, { callId: 'c1' })],
          [assistantMessage('Done.')],
        )
        const agent = new Agent({ name: 'Payer', model: scripted, tools: [risky] })
        const first = await runner.run(agent, 'Pay', { session })
        const [interruption] = first.interruptions
        expect(interruption).toBeDefined()
        // As after a restart.
        const state = await RunState.fromString(agent, first.state.toString())
        const [waiting] = state.getInterruptions()
        if (waiting === undefined) throw new Error('nothing waits')
        if (approved) state.approve(waiting)
        else state.reject(waiting)
        await runner.run(agent, state, { session })
      })
    })

    test('a hand-over, and history that a callback cuts', async () => {
      await inBoth(async (session, model) => {
        const second = new Agent({
          name: 'Second',
          model: model([assistantMessage('I am the second.')], [assistantMessage('Still me.')]),
        })
        const first = new Agent({
          name: 'First',
          model: model([functionCall('transfer_to_Second', {}, { callId: 'h1' })]),
          handoffs: [second],
        })
        await runner.run(first, 'Hand over', { session })
        await runner.run(second, 'And now?', {
          session,
          sessionInputCallback: (history, added) => [...history.slice(-1), ...added],
        })
      })
    })

    test('compacts after a turn when it is told to, and goes on with summaries', async () => {
      const session = createAgentSession(service, {
        sessionId: 's',
        trigger: turnCountTrigger(2),
        strategy: async (view, context) => {
          const proposal = await turnWindow({ maxTurns: 1 })(view, context)
          return (
            proposal && {
              ...proposal,
              summaries: [
                { message: { role: 'user', content: 'Earlier: things were looked at.' } },
              ],
            }
          )
        },
      })
      const scripted = new ScriptedModel([
        [functionCall('look', { id: 'A' }, { callId: 'c1' })],
        [assistantMessage('One.')],
        [assistantMessage('Two.')],
        [assistantMessage('Three.')],
        [assistantMessage('Four.')],
      ])
      const agent = new Agent({ name: 'Looker', model: scripted, tools: [look] })
      for (const words of ['First', 'Second', 'Third', 'Fourth']) {
        await runner.run(agent, words, { session })
      }
      expect(shortly(scripted.lastCall?.request.input as AgentInputItem[])).toEqual([
        'user: Earlier: things were looked at.',
        'user: Third',
        'assistant: Three.',
        'user: Fourth',
      ])
      const found = await service.getEvents('s', { keyword: 'first' })
      expect(found.map(({ archived }) => archived)).toEqual([true])
    })
  })

  describe('a session', () => {
    test('is created, and is the user’s', async () => {
      expect(await newSession().getSessionId()).toBe('s')
      expect((await service.findById('s'))?.userId).toBe('ana')
      const nameless = createAgentSession(service)
      const id = await nameless.getSessionId()
      expect(await nameless.getSessionId()).toBe(id)
      expect(await service.findById(id)).not.toBe(null)
      if (harness.without?.users === undefined) {
        const foreign = createAgentSession(service, { sessionId: 's', userId: 'bob' })
        await expect(foreign.addItems([user('hi')])).rejects.toMatchObject({ code: 'NOT_OWNER' })
      }
    })

    test('gives its last items when a limit is given', async () => {
      const session = newSession()
      const items = [user('1'), said('2'), call('c'), result('c'), said('5')]
      await session.addItems(items)
      for (const limit of [1, 2, 4, 5, 6, 1000]) {
        expect(await session.getItems(limit)).toEqual(items.slice(-limit))
      }
      for (const limit of [0, -1]) expect(await session.getItems(limit)).toEqual([])
      expect(await session.getItems()).toEqual(items)
    })

    test('takes nothing away for good', async () => {
      const session = newSession()
      await session.addItems([user('1'), said('2'), user('3')])
      expect(await session.popItem()).toEqual(user('3'))
      await session.clearSession()
      expect(await session.getItems()).toEqual([])
      expect(await session.popItem()).toBe(undefined)
      await session.addItems([user('4')])
      await session.replaceHistoryWithCompaction([user('5')])
      expect(await session.getItems()).toEqual([user('5')])
      const events = await service.getEvents('s')
      expect(events.map(({ archived, rewound }) => ({ archived, rewound }))).toEqual([
        { archived: true, rewound: false },
        { archived: true, rewound: false },
        { archived: false, rewound: true },
        { archived: true, rewound: false },
        { archived: false, rewound: false },
      ])
    })

    test('two who pop at once get two items, and what is added meanwhile stays', async () => {
      const session = newSession()
      await session.addItems([user('1'), user('2'), user('3'), user('4')])
      const others = [createAgentSession(service, { sessionId: 's' }), session]
      const popped = await Promise.all([
        ...others.map((each) => each.popItem()),
        session.addItems([user('5')]),
      ])
      const left = shortly(await session.getItems())
      const gone = shortly(popped.filter((item) => item !== undefined))
      expect([...left, ...gone].sort()).toEqual(['1', '2', '3', '4', '5'].map((n) => `user: ${n}`))
    })

    test('keeps items of every kind as they are', async () => {
      const session = newSession()
      const items = everyItem()
      await session.addItems(items)
      expect(await session.getItems()).toEqual(items)
      const events = await service.getEvents('s', { keyword: 'needle' })
      expect(events.map(({ message }) => message.role)).toEqual([
        'user',
        'user',
        'assistant',
        'system',
      ])
      for (const item of items.toReversed()) expect(await session.popItem()).toEqual(item)
    })

    test('gives what others appended to the log, and takes it away item by item', async () => {
      const session = newSession()
      await session.getSessionId()
      await service.appendEvents('s', [
        { message: { role: 'system', content: 'Be kind.' } },
        {
          message: {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' } as { type: string },
              { type: 'image', image: 'aGk=', mediaType: 'image/png' } as { type: string },
              { type: 'file', data: 'https://a.test/a.pdf' } as { type: string },
            ],
          },
        },
        {
          message: {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.' } as { type: string },
              { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: { id: 1 } } as {
                type: string
              },
            ],
          },
        },
        {
          message: {
            role: 'tool',
            content: [
              {
                type: 'tool-result',
                toolCallId: 'c',
                toolName: 'look',
                output: { type: 'json', value: [1] },
              } as { type: string },
            ],
          },
        },
        { message: { role: 'assistant', content: [] } },
        { message: { role: 'assistant', content: 'A cat.' } },
      ])
      const items = await session.getItems()
      expect(items).toEqual([
        { type: 'message', role: 'system', content: 'Be kind.' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image: 'data:image/png;base64,aGk=' },
            { type: 'input_file', file: 'https://a.test/a.pdf' },
          ],
        },
        said('I look.'),
        {
          type: 'function_call',
          callId: 'c',
          name: 'look',
          arguments: '{"id":1}',
          status: 'completed',
        },
        {
          type: 'function_call_result',
          callId: 'c',
          name: 'look',
          output: '[1]',
          status: 'completed',
        },
        said('A cat.'),
      ])
      for (const limit of [1, 2, 3, 4]) {
        expect(await session.getItems(limit)).toEqual(items.slice(-limit))
      }
      for (let left = items.length - 1; left >= 0; left--) {
        expect(await session.popItem()).toEqual(items[left])
        expect(await session.getItems()).toEqual(items.slice(0, left))
      }
    })

    test('refuses what cannot be stored, and stores nothing then', async () => {
      const session = newSession()
      const bad = { ...user('x'), providerData: { execute: () => 1 } } as unknown as AgentInputItem
      await expect(session.addItems([user('1'), bad])).rejects.toMatchObject({
        code: 'INVALID_EVENT',
        details: { field: 'items[1].providerData.execute' },
      })
      const nothing = null as unknown as AgentInputItem[]
      await expect(session.addItems(nothing)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      expect(await session.getItems()).toEqual([])
    })
  })

  describe('a transaction', () => {
    const append = (operationId: string, ...items: AgentInputItem[]) => ({
      operationId,
      transaction: { type: 'append_items' as const, items },
    })
    const replace = (
      operationId: string,
      expectedSuffix: AgentInputItem[],
      replacement: AgentInputItem[],
    ) => ({
      operationId,
      transaction: { type: 'replace_suffix' as const, expectedSuffix, replacement },
    })

    test('happens once, however often it is repeated', async () => {
      const session = newSession()
      await session.addItems([user('1')])
      const one = append('op', said('2'), said('3'))
      await session.applyHistoryTransaction(one)
      await session.applyHistoryTransaction(one)
      const other = createAgentSession(service, { sessionId: 's' })
      await Promise.all([one, one].map((each) => other.applyHistoryTransaction(each)))
      expect(await session.getItems()).toEqual([user('1'), said('2'), said('3')])
      const two = replace('op-2', [said('2'), said('3')], [said('4')])
      await session.applyHistoryTransaction(two)
      await session.addItems([user('5')])
      await other.applyHistoryTransaction(two)
      expect(await session.getItems()).toEqual([user('1'), said('4'), user('5')])
      const events = await service.getEvents('s')
      expect(events.filter(({ rewound }) => rewound).length).toBe(2)
    })

    test('of another content under the same name is refused, whoever comes first', async () => {
      const session = newSession()
      await session.applyHistoryTransaction(append('op', user('1')))
      for (const other of [
        append('op', user('2')),
        append('op', user('1'), user('2')),
        replace('op', [user('1')], [user('1')]),
      ]) {
        await expect(session.applyHistoryTransaction(other)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        })
      }
      const attempts = await Promise.allSettled(
        ['3', '4'].map((words) =>
          createAgentSession(service, { sessionId: 's' }).applyHistoryTransaction(
            append('race', user(words)),
          ),
        ),
      )
      expect(attempts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect((await session.getItems()).length).toBe(2)
    })

    test('that expects other last items changes nothing', async () => {
      const session = newSession()
      await session.addItems([user('1'), said('2')])
      for (const expected of [
        [said('1')],
        [user('1')],
        [said('2'), user('1')],
        [user('0'), user('1'), said('2')],
      ]) {
        await expect(
          session.applyHistoryTransaction(replace('op', expected, [said('3')])),
        ).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
      }
      expect(await session.getItems()).toEqual([user('1'), said('2')])
      // The name is still free.
      await session.applyHistoryTransaction(replace('op', [said('2')], [said('3')]))
      expect(await session.getItems()).toEqual([user('1'), said('3')])
    })

    test('that only takes away, or only adds', async () => {
      const session = newSession()
      await session.addItems([user('1'), said('2')])
      const away = replace('away', [said('2')], [])
      await session.applyHistoryTransaction(away)
      await session.applyHistoryTransaction(away)
      expect(await session.getItems()).toEqual([user('1')])
      expect(await session.getItems(1)).toEqual([user('1')])
      await session.applyHistoryTransaction(replace('add', [], [said('3')]))
      expect(await session.getItems()).toEqual([user('1'), said('3')])
      await session.applyHistoryTransaction(append('nothing'))
      await session.applyHistoryTransaction(append('nothing'))
      expect(await session.popItem()).toEqual(said('3'))
    })

    test('that is none is refused', async () => {
      const session = newSession()
      for (const args of [
        { operationId: ' ', transaction: append('x').transaction },
        { operationId: 'op', transaction: null },
        { operationId: 'op', transaction: { type: 'clear' } },
        { operationId: 'op', transaction: { type: 'append_items' } },
      ]) {
        await expect(session.applyHistoryTransaction(args as never)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        })
      }
    })
  })

  test('whatever is done, it comes to what the SDK’s own session comes to', async () => {
    const item = fc.oneof(
      fc.constantFrom('a', 'b').map(user),
      fc.constantFrom('a', 'b').map(said),
      fc.constantFrom('c', 'd').map((id) => call(id)),
      fc.constantFrom('c', 'd').map(result),
    )
    const items = fc.array(item, { maxLength: 3 })
    /** Operations have names of their own after each clearing: only the SDK's own session forgets them. */
    type Step = (session: AnySession, era: number) => Promise<unknown>
    const name = fc.constantFrom('p', 'q', 'r', 's')
    const step: fc.Arbitrary<Step> = fc.oneof(
      items.map(
        (added): Step =>
          async (session) =>
            session.addItems(added),
      ),
      fc.constant<Step>(async (session) => session.popItem()),
      fc.constant<Step>(clear),
      fc.integer({ min: -1, max: 5 }).map(
        (limit): Step =>
          async (session) =>
            session.getItems(limit),
      ),
      fc.tuple(name, items).map(
        ([operation, added]): Step =>
          async (session, era) => {
            await session.applyHistoryTransaction({
              operationId: `${era} ${operation}`,
              transaction: { type: 'append_items', items: added },
            })
          },
      ),
      fc.tuple(name, fc.nat({ max: 3 }), items).map(
        ([operation, count, replacement]): Step =>
          async (session, era) => {
            const all = await session.getItems()
            const expectedSuffix = count === 3 ? [user('x')] : all.slice(all.length - count)
            await session.applyHistoryTransaction({
              operationId: `${era} ${operation}`,
              transaction: { type: 'replace_suffix', expectedSuffix, replacement },
            })
          },
      ),
      fc.constantFrom('c', 'd').map(
        (callId): Step =>
          async (session) => {
            const replacement = functionCall('look', '{"id":"B"}', { callId })
            const mutations = [{ type: 'replace_function_call' as const, callId, replacement }]
            await session.applyHistoryMutations({ mutations })
          },
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await harness.reset()
        const own = createSessionService(await harness.open(), { defaultUserId: 'ana' })
        const [theirs, ours] = [new MemorySession(), createAgentSession(own, { sessionId: 's' })]
        let era = 0
        for (const run of steps) {
          const outcome = (session: AnySession) =>
            run(session, era).then(
              (value) => ({ value }),
              () => 'refused',
            )
          const [one, other] = [await outcome(theirs), await outcome(ours)]
          expect(other).toEqual(one)
          expect(await ours.getItems()).toEqual(await theirs.getItems())
          if (run === clear) era += 1
        }
        await own.close()
      }),
      { numRuns },
    )
  })
}

type AnySession = Session &
  SessionHistoryTransactionAwareSession &
  Pick<AgentSession, 'applyHistoryMutations'>

const clear = async (session: AnySession) => session.clearSession()

/** One item of every kind, and content of every kind. */
function everyItem(): AgentInputItem[] {
  const providerData = { trace: 'x', nested: [1, null] }
  return [
    { role: 'user', content: 'a needle without a type' },
    {
      type: 'message',
      role: 'user',
      id: 'm1',
      providerData,
      content: [
        { type: 'input_text', text: 'a needle', providerData },
        { type: 'input_image', image: 'data:image/png;base64,aGk=', detail: 'low' },
        { type: 'input_image', image: { id: 'file-1' } },
        { type: 'input_file', file: { url: 'https://a.test/a.pdf' }, filename: 'a.pdf' },
        { type: 'audio', audio: 'aGk=', format: 'mp3', transcript: null },
      ],
    },
    {
      type: 'message',
      role: 'assistant',
      status: 'incomplete',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'no' },
        { type: 'output_text', text: 'another needle' },
        { type: 'refusal', refusal: 'I will not.' },
        { type: 'audio', audio: { id: 'a' } },
        { type: 'image', image: 'aGk=' },
      ],
    },
    { type: 'message', role: 'system', content: 'the last needle' },
    { type: 'reasoning', id: 'r', content: [{ type: 'input_text', text: 'Hm.' }] },
    {
      type: 'hosted_tool_call',
      id: 'h',
      name: 'web_search_call',
      arguments: '{}',
      status: 'completed',
      output: 'found',
    },
    {
      type: 'function_call',
      id: 'f',
      callId: 'c1',
      name: 'look',
      namespace: 'eyes',
      status: 'completed',
      arguments: '{"id":"A"}',
      providerData,
    },
    { type: 'function_call', callId: 'c2', name: 'look', arguments: '{ "id" : "A" }' },
    { type: 'function_call', callId: 'c3', name: 'look', arguments: 'not json' },
    { type: 'function_call', callId: 'c4', name: 'look', arguments: '"text"' },
    { type: 'function_call', callId: 'c5', name: 'look', arguments: '' },
    {
      type: 'function_call_result',
      callId: 'c1',
      name: 'look',
      status: 'completed',
      output: 'seen',
    },
    {
      type: 'function_call_result',
      callId: 'c2',
      name: 'look',
      status: 'completed',
      output: { type: 'text', text: 'seen' },
    },
    {
      type: 'function_call_result',
      callId: 'c3',
      name: 'look',
      status: 'incomplete',
      output: [
        { type: 'input_text', text: 'seen' },
        { type: 'input_image', image: 'data:image/png;base64,aGk=' },
      ],
    },
    {
      type: 'function_call_result',
      callId: 'c4',
      name: 'look',
      status: 'completed',
      output: {
        type: 'image',
        image: { data: new Uint8Array([0, 104, 105, 255]), mediaType: 'image/png' },
      },
    },
    {
      type: 'computer_call',
      callId: 'c6',
      status: 'completed',
      action: { type: 'click', x: 1, y: 2, button: 'left' },
    },
    {
      type: 'computer_call_result',
      callId: 'c6',
      output: { type: 'computer_screenshot', data: 'https://a.test/a.png' },
    },
    { type: 'shell_call', callId: 'c7', action: { commands: ['ls'] } },
    {
      type: 'shell_call_output',
      callId: 'c7',
      output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
    },
    {
      type: 'apply_patch_call',
      callId: 'c8',
      status: 'completed',
      operation: { type: 'delete_file', path: 'a' },
    },
    { type: 'apply_patch_call_output', callId: 'c8', status: 'completed', output: 'gone' },
    { type: 'tool_search_call', call_id: 'c9', arguments: { query: 'x' } },
    { type: 'tool_search_output', call_id: 'c9', tools: [] },
    { type: 'compaction', encrypted_content: 'x' },
    { type: 'unknown', providerData },
  ] as AgentInputItem[]
}
