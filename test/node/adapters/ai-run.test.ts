// Session memory through the callbacks of the AI SDK, driven by the SDK's own mock model: the log
// afterwards is exactly what happened, once.
import {
  experimental_createSteering,
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  ToolLoopAgent,
  tool,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import {
  createSessionMemory,
  type SessionMemoryOptions,
  type SessionService,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { type AiRun, createAiRun } from 'turnlog/ai-sdk'
import { createInMemoryRepository, createInMemorySessionService } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test } from 'vitest'
import { deferred } from '../../support/conversation.ts'
import {
  answering,
  brokenStream,
  call,
  hangingStream,
  partsOf,
  text,
  whole,
} from '../../support/mock-ai-model.ts'

const newService = () => createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })

/** A service and its memory. */
function setUp(options?: SessionMemoryOptions) {
  const service = newService()
  return { service, memory: createSessionMemory(service, options) }
}

const user = (content: string): ModelMessage => ({ role: 'user', content })
const says = (words: string): ModelMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text: words }],
})
const calls = (...ids: readonly string[]): ModelMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: 'look',
    input: { id },
  })),
})
const results = (...ids: readonly string[]): ModelMessage => ({
  role: 'tool',
  content: ids.map((id) => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: 'look',
    output: { type: 'text', value: `seen ${id}` },
  })),
})

const lookCall = (id: string) => call(id, 'look', { id })
const inputSchema = jsonSchema<{ id: string }>({ type: 'object' })
const look = tool({ inputSchema, execute: async ({ id }) => `seen ${id}` })

/** What the log holds: messages, those of an aborted step marked. */
async function logOf(service: SessionService<ModelMessage>): Promise<unknown[]> {
  const events = await service.getEvents('s')
  return events.map(({ message, metadata }) =>
    metadata['aborted'] === true ? { aborted: message } : message,
  )
}

/** What the model was asked, without the parts that are `undefined`. */
function promptsOf(model: MockLanguageModelV4): unknown[][] {
  return [...model.doGenerateCalls, ...model.doStreamCalls].map(({ prompt }) =>
    JSON.parse(JSON.stringify(prompt)),
  )
}

type Ask = (request: {
  readonly model: MockLanguageModelV4
  readonly messages: ModelMessage[]
  readonly run: AiRun
}) => Promise<unknown>

const shared = { tools: { look }, stopWhen: isStepCount(5), maxRetries: 0 }

const generate: Ask = ({ model, messages, run }) =>
  generateText({ model, messages, ...shared, ...run.callbacks })

const stream: Ask = async ({ model, messages, run }) => {
  const errors: unknown[] = []
  const onError = ({ error }: { error: unknown }) => void errors.push(error)
  const result = streamText({ model, messages, ...shared, ...run.callbacks, onError })
  await result.consumeStream()
  if (errors.length > 0) throw errors[0]
}

const modes: readonly (readonly [string, Ask])[] = [
  ['generateText', generate],
  ['streamText', stream],
]

const threeSteps = () =>
  answering([text('I look.'), lookCall('A')], [lookCall('B'), lookCall('C')], [text('Done.')])

const threeStepsLog: readonly ModelMessage[] = [
  user('go'),
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I look.' },
      ...(calls('A').content as Extract<ModelMessage, { role: 'assistant' }>['content'] & []),
    ],
  },
  results('A'),
  calls('B', 'C'),
  results('B', 'C'),
  says('Done.'),
]

describe.each(modes)('%s', (_, ask) => {
  test('a loop of three steps: every message is stored once, in order', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const model = threeSteps()
    await ask({ model, messages: [user('go')], run })
    expect(await run.settled()).toEqual({ compaction: null })
    expect(await logOf(service)).toEqual(threeStepsLog)
  })

  test('the history goes in before the first step, and later steps hold it once', async () => {
    const { service, memory } = setUp()
    const first = createAiRun(memory, { sessionId: 's' })
    await ask({ model: threeSteps(), messages: [user('go')], run: first })
    await first.settled()
    const second = createAiRun(memory, { sessionId: 's' })
    const model = answering([lookCall('D')], [text('Again.')])
    await ask({ model, messages: [user('more')], run: second })
    await second.settled()
    const log = [...threeStepsLog, user('more'), calls('D'), results('D'), says('Again.')]
    expect(await logOf(service)).toEqual(log)
    const asked = log.map((message) =>
      typeof message.content === 'string'
        ? { ...message, content: [{ type: 'text', text: message.content }] }
        : message,
    )
    expect(promptsOf(model)).toEqual([asked.slice(0, 7), asked.slice(0, 9)])
  })

  test('a step is stored before the next one begins', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const counts: number[] = []
    const answers = [[lookCall('A')], [lookCall('B')], [text('Done.')]]
    const next = async () => {
      counts.push((await service.getEvents('s')).length)
      return answers.shift() ?? []
    }
    const model = new MockLanguageModelV4({
      doGenerate: async () => whole(await next()),
      doStream: async () => {
        const parts = partsOf(await next())
        return { stream: ReadableStream.from(parts) as never }
      },
    })
    await ask({ model, messages: [user('go')], run })
    expect(counts).toEqual([1, 3, 5])
  })

  test('an error: the question stays, and a retry stores nothing twice and repeats no step', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const failing = answering([lookCall('A')])
    await expect(ask({ model: failing, messages: [user('go')], run })).rejects.toThrow('too often')
    expect(await logOf(service)).toEqual([user('go'), calls('A'), results('A')])
    // After a reload all that is left is the run's id.
    const again = createAiRun(memory, { sessionId: 's', runId: run.runId })
    const model = answering([text('Done.')])
    await ask({ model, messages: [user('go')], run: again })
    await again.settled()
    expect(await logOf(service)).toEqual([user('go'), calls('A'), results('A'), says('Done.')])
    expect(promptsOf(model)[0]?.map((message) => (message as ModelMessage).role)).toEqual([
      'user',
      'assistant',
      'tool',
    ])
  })

  test('the same run may try again, but answers once', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const failing = ask({ model: answering([lookCall('A')]), messages: [user('go')], run })
    await expect(failing).rejects.toThrow('too often')
    await ask({ model: answering([text('Done.')]), messages: [user('go')], run })
    const log = [user('go'), calls('A'), results('A'), says('Done.')]
    expect(await logOf(service)).toEqual(log)
    const other = ask({ model: answering([text('Hm?')]), messages: [user('other')], run })
    await expect(other).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await logOf(service)).toEqual(log)
  })

  test('two runs are two conversations of one session, each question with its answer', async () => {
    const { service, memory } = setUp()
    for (const words of ['ok', 'ok']) {
      const run = createAiRun(memory, { sessionId: 's' })
      await ask({ model: answering([text('Fine.')]), messages: [user(words)], run })
      await run.settled()
    }
    expect(await logOf(service)).toEqual([user('ok'), says('Fine.'), user('ok'), says('Fine.')])
  })

  test('a tool that needs approval runs once it is given, in the same run', async () => {
    const { service, memory } = setUp()
    const seen: string[] = []
    const risky = tool({
      inputSchema,
      execute: async ({ id }) => {
        seen.push(id)
        return `seen ${id}`
      },
    })
    const run = createAiRun(memory, { sessionId: 's' })
    const options = { tools: { look: risky }, toolApproval: { look: 'user-approval' } } as const
    const model = answering([lookCall('A')])
    const first = await generateText({
      model,
      messages: [user('go')],
      ...options,
      ...run.callbacks,
    })
    await run.settled()
    expect(seen).toEqual([])
    const [request] = first.content.filter((part) => part.type === 'tool-approval-request')
    const approvalId = request?.approvalId ?? ''
    const approval: ModelMessage = {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId, approved: true }],
    }
    const messages = [user('go'), ...first.responseMessages, approval]
    const again = createAiRun(memory, { sessionId: 's', runId: run.runId })
    const second = { model: answering([text('Done.')]), messages, ...options, ...again.callbacks }
    if (ask === generate) await generateText(second)
    else await streamText(second).consumeStream()
    await again.settled()
    expect(seen).toEqual(['A'])
    const [question, asks, ...rest] = await logOf(service)
    expect([question, ...rest]).toEqual([user('go'), approval, results('A'), says('Done.')])
    expect(asks).toMatchObject({
      content: [{ type: 'tool-call' }, { type: 'tool-approval-request', approvalId }],
    })
    const later = await memory.begin({ sessionId: 's', messages: [user('and?')] })
    expect(later.messages.length).toBe(6)
  })

  test('an agent remembers as well', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const agent = new ToolLoopAgent({ model: threeSteps(), tools: { look }, ...run.callbacks })
    if (ask === generate) await agent.generate({ prompt: 'go' })
    else await (await agent.stream({ prompt: 'go' })).consumeStream()
    await run.settled()
    expect(await logOf(service)).toEqual(threeStepsLog)
  })

  test('words of the user that come in between are stored where they came', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const steering = experimental_createSteering()
    const asked = tool({
      inputSchema,
      execute: async ({ id }) => {
        if (id === 'A') void steering.steer('Be quick.')
        return `seen ${id}`
      },
    })
    void steering.steer('By the way.')
    const options = {
      model: answering([lookCall('A')], [text('Done.')]),
      messages: [user('go')],
      tools: { look: asked },
      stopWhen: isStepCount(5),
      experimental_steering: steering,
      ...run.callbacks,
    }
    if (ask === generate) await generateText(options)
    else await streamText(options).consumeStream()
    await run.settled()
    expect(await logOf(service)).toEqual([
      user('go'),
      user('By the way.'),
      calls('A'),
      results('A'),
      user('Be quick.'),
      says('Done.'),
    ])
  })

  test('instructions of the call come first, then system messages of the history', async () => {
    const { service, memory } = setUp()
    await service.create({ id: 's' })
    await service.appendMessage('s', { role: 'system', content: 'Ana lives in Lisbon.' })
    const run = createAiRun(memory, { sessionId: 's' })
    const model = answering([lookCall('A')], [text('Done.')])
    const options = {
      model,
      messages: [user('go')],
      instructions: 'Be kind.',
      ...shared,
      ...run.callbacks,
    }
    if (ask === generate) await generateText(options)
    else await streamText(options).consumeStream()
    for (const prompt of promptsOf(model)) {
      expect(prompt.slice(0, 2)).toEqual([
        { role: 'system', content: 'Be kind.' },
        { role: 'system', content: 'Ana lives in Lisbon.' },
      ])
    }
  })

  test('a compaction does not hold up the answer, and settled gives it', async () => {
    const summary = deferred<void>()
    const { memory } = setUp({
      trigger: turnCountTrigger(1),
      strategy: async (view, context) => {
        await summary.promise
        return turnWindow({ maxTurns: 1 })(view, context)
      },
    })
    const first = createAiRun(memory, { sessionId: 's' })
    await ask({ model: answering([text('Hi.')]), messages: [user('one')], run: first })
    expect((await first.settled()).compaction?.status).toBe('not-triggered')
    const second = createAiRun(memory, { sessionId: 's' })
    await ask({ model: answering([text('Hi.')]), messages: [user('two')], run: second })
    summary.resolve()
    expect((await second.settled()).compaction).toMatchObject({
      status: 'compacted',
      eventsRemoved: 2,
    })
  })

  test('what cannot be stored is heard of once, and stops the loop', async () => {
    const repository = createInMemoryRepository()
    let isFull = false
    const service = createSessionService<ModelMessage>(
      {
        ...repository,
        commit: (id, commit) =>
          isFull ? Promise.reject(new Error('the disk is full')) : repository.commit(id, commit),
      },
      { defaultUserId: 'ana' },
    )
    const heard: unknown[] = []
    const run = createAiRun(createSessionMemory(service), {
      sessionId: 's',
      onError: (error) => heard.push(error),
    })
    const filling = tool({
      inputSchema,
      execute: async ({ id }) => {
        isFull = true
        return `seen ${id}`
      },
    })
    const model = threeSteps()
    const options = { model, messages: [user('go')], stopWhen: isStepCount(5), maxRetries: 0 }
    const call = { ...options, tools: { look: filling }, ...run.callbacks }
    const errors: unknown[] = []
    if (ask === generate) await generateText(call).catch((error) => void errors.push(error))
    else {
      const onError = ({ error }: { error: unknown }) => void errors.push(error)
      await streamText({ ...call, onError }).consumeStream()
    }
    expect(errors).toEqual([new Error('the disk is full')])
    expect(heard).toEqual(errors)
    await expect(run.settled()).rejects.toThrow('the disk is full')
    expect(promptsOf(model).length).toBe(1)
    // The disk has room again: the same run goes on, and the loop begins anew.
    isFull = false
    await ask({ model: answering([text('Done.')]), messages: [user('go')], run })
    await run.settled()
    expect(await logOf(service)).toEqual([user('go'), says('Done.')])
  })

  test('a session of somebody else stops the call before the model is asked', async () => {
    const { service, memory } = setUp()
    await service.create({ id: 's', userId: 'bob' })
    const run = createAiRun(memory, { sessionId: 's', userId: 'ana' })
    const model = answering([text('Hi.')])
    await expect(ask({ model, messages: [user('go')], run })).rejects.toMatchObject({
      code: 'NOT_OWNER',
    })
    expect(promptsOf(model)).toEqual([])
  })
})

test('a call that the SDK itself tries again is stored once', async () => {
  const { service, memory } = setUp()
  const run = createAiRun(memory, { sessionId: 's' })
  let attempts = 0
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      attempts += 1
      if (attempts < 3) throw Object.assign(new Error('overloaded'), { isRetryable: true })
      return whole([text('Done.')])
    },
  })
  const retryable = await import('ai').then(({ APICallError }) => APICallError)
  const real = model.doGenerate
  model.doGenerate = async (options) => {
    try {
      return await real(options)
    } catch (error) {
      throw new retryable({
        message: String(error),
        url: 'https://turnlog.test/',
        requestBodyValues: {},
        isRetryable: true,
        responseHeaders: { 'retry-after-ms': '1' },
      })
    }
  }
  await generateText({ model, messages: [user('go')], maxRetries: 3, ...run.callbacks })
  await run.settled()
  expect(attempts).toBe(3)
  expect(await logOf(service)).toEqual([user('go'), says('Done.')])
})

describe('a stream that is aborted', () => {
  const whileLooking = [text('Let me see more of it')]

  /** A model whose second step never ends. */
  const hanging = () => {
    const steps = [
      (signal: AbortSignal | undefined) => hangingStream(partsOf([lookCall('A')]), signal),
      (signal: AbortSignal | undefined) =>
        hangingStream(partsOf(whileLooking).slice(0, -2), signal),
    ]
    return new MockLanguageModelV4({
      doStream: async ({ abortSignal }) => {
        const step = steps.shift()
        if (step === undefined) throw new Error('the model was called too often')
        const parts = step(abortSignal)
        return { stream: steps.length === 1 ? (endOf(parts) as never) : parts }
      },
    })
  }

  /** Ends a hanging stream behind its finish part. */
  const endOf = (parts: ReadableStream<{ type: string }>) =>
    parts.pipeThrough(
      new TransformStream<{ type: string }, { type: string }>({
        transform(part, controller) {
          controller.enqueue(part)
          if (part.type === 'finish') controller.terminate()
        },
      }),
    )

  const beforeAbort = [user('go'), calls('A'), results('A')]

  test('keeps its finished steps and all that came, once, and a retry goes on', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const controller = new AbortController()
    const result = streamText({
      model: hanging(),
      messages: [user('go')],
      ...shared,
      abortSignal: controller.signal,
      ...run.callbacks,
    })
    let seen = ''
    for await (const words of result.textStream) {
      seen += words
      if (seen === 'Let me s') controller.abort()
    }
    await run.settled()
    // What was on its way when the user stopped it was seen as well, and is stored.
    const partial = { aborted: says(seen) }
    expect(seen.length).toBeGreaterThanOrEqual('Let me s'.length)
    expect(await logOf(service)).toEqual([...beforeAbort, partial])

    const model = answering([text('Done.')])
    await stream({ model, messages: [user('go')], run })
    await run.settled()
    expect(await logOf(service)).toEqual([...beforeAbort, partial, says('Done.')])
    expect(promptsOf(model)[0]?.length).toBe(3)
    // The part is superseded: later prompts hold the answer alone.
    const later = await memory.begin({ sessionId: 's', messages: [user('and?')] })
    expect(later.messages).toEqual([...beforeAbort, says('Done.'), user('and?')])
  })

  test('without a retry, the next question follows what came', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const controller = new AbortController()
    const { textStream } = streamText({
      model: hanging(),
      messages: [user('go')],
      ...shared,
      abortSignal: controller.signal,
      ...run.callbacks,
    })
    for await (const _ of textStream) controller.abort()
    await run.settled()
    const next = createAiRun(memory, { sessionId: 's' })
    const model = answering([text('Fine.')])
    await stream({ model, messages: [user('never mind')], run: next })
    await next.settled()
    const log = await logOf(service)
    expect(log.length).toBe(6)
    expect(log.slice(-2)).toEqual([user('never mind'), says('Fine.')])
    expect(promptsOf(model)[0]?.map((message) => (message as ModelMessage).role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
  })

  test('keeps what came although nobody reads on', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const controller = new AbortController()
    const result = streamText({
      model: hanging(),
      messages: [user('go')],
      ...shared,
      abortSignal: controller.signal,
      ...run.callbacks,
    })
    const reader = result.textStream.getReader()
    await reader.read()
    await reader.read()
    controller.abort()
    // Nobody waits for the end of the stream, so settled may come before the SDK notices the abort.
    await expect.poll(() => logOf(service)).toHaveLength(4)
    expect((await logOf(service))[3]).toMatchObject({ aborted: { role: 'assistant' } })
  })

  test('before anything came, the question stays alone', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const controller = new AbortController()
    const model = new MockLanguageModelV4({
      doStream: async ({ abortSignal }) => ({ stream: hangingStream([], abortSignal) }),
    })
    const result = streamText({
      model,
      messages: [user('go')],
      abortSignal: controller.signal,
      ...run.callbacks,
    })
    const read = result.consumeStream()
    await expect.poll(() => model.doStreamCalls.length).toBe(1)
    controller.abort()
    await read
    await run.settled()
    expect(await logOf(service)).toEqual([user('go')])
  })
})

describe('a step that fails', () => {
  const error = new Error('the line broke')
  const consume = async (model: MockLanguageModelV4, run: AiRun, rest: object = {}) => {
    const { fullStream } = streamText({
      model,
      messages: [user('go')],
      ...shared,
      ...run.callbacks,
      onError: () => undefined,
      ...rest,
    })
    let seen = ''
    try {
      for await (const part of fullStream) if (part.type === 'text-delta') seen += part.text
    } catch (reason) {
      expect(reason).toBe(error)
    }
    await run.settled()
    return seen
  }
  const words = [text('As far as it came')]

  test('in the middle of its stream is stored as far as it came', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const model = new MockLanguageModelV4({
      doStream: async () => ({ stream: brokenStream(partsOf(words).slice(0, -2), error) }),
    })
    const seen = await consume(model, run)
    expect(seen).not.toBe('')
    expect(await logOf(service)).toEqual([user('go'), { aborted: says(seen) }])
    await stream({ model: answering([text('Done.')]), messages: [user('go')], run })
    expect((await logOf(service)).slice(2)).toEqual([says('Done.')])
  })

  test('by an error of the provider is stored as far as it came', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const parts = partsOf(words).slice(0, -1)
    const model = new MockLanguageModelV4({
      doStream: async () => ({
        stream: ReadableStream.from([...parts, { type: 'error', error }]) as never,
      }),
    })
    expect(await consume(model, run)).toBe('As far as it came')
    expect(await logOf(service)).toEqual([user('go'), { aborted: says('As far as it came') }])
    await stream({ model: answering([text('Done.')]), messages: [user('go')], run })
    expect((await logOf(service)).slice(2)).toEqual([says('Done.')])
  })

  test('and is repeated by the SDK within its stream is stored once', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const attempts = [
      [...partsOf(words).slice(0, -2), { type: 'error', error }],
      partsOf([text('Done.')]),
    ]
    const model = new MockLanguageModelV4({
      doStream: async () => ({ stream: ReadableStream.from(attempts.shift() ?? []) as never }),
    })
    await consume(model, run, { streamRetries: 1 })
    expect(await logOf(service)).toEqual([user('go'), says('Done.')])
  })

  test('while its tools run keeps the calls, and the results that were there', async () => {
    const { service, memory } = setUp()
    const run = createAiRun(memory, { sessionId: 's' })
    const controller = new AbortController()
    const started = deferred<void>()
    const slow = tool({
      inputSchema,
      toModelOutput: ({ output }) => ({ type: 'text', value: `${output}!` }),
      execute: async ({ id }, { abortSignal }) => {
        if (id === 'A') return 'seen A'
        started.resolve()
        return new Promise<string>((_, reject) => {
          abortSignal?.addEventListener('abort', () => reject(abortSignal.reason))
        })
      },
    })
    const result = streamText({
      model: answering([text('I look.'), lookCall('A'), lookCall('B')]),
      messages: [user('go')],
      tools: { look: slow },
      abortSignal: controller.signal,
      ...run.callbacks,
    })
    for await (const part of result.fullStream) {
      if (part.type !== 'tool-result') continue
      await started.promise
      controller.abort()
    }
    await run.settled()
    const [question, said, seen] = (await logOf(service)) as [
      unknown,
      { aborted: ModelMessage },
      { aborted: ModelMessage },
    ]
    expect(question).toEqual(user('go'))
    expect(said.aborted).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'I look.' }, ...(calls('A', 'B').content as [])],
    })
    expect((seen.aborted.content as unknown[])[0]).toMatchObject({
      toolCallId: 'A',
      output: { type: 'text', value: 'seen A!' },
    })
    // Half of an exchange is in no prompt.
    const later = await memory.begin({ sessionId: 's', messages: [user('and?')] })
    const ids = later.messages.flatMap(({ content }) =>
      typeof content === 'string' ? [] : (content as { toolCallId?: string }[]),
    )
    expect(ids.filter(({ toolCallId }) => toolCallId === 'A').length).toBe(2)
  })
})

test('generateText that is aborted while a tool runs keeps the step, and a retry goes on behind it', async () => {
  const { service, memory } = setUp()
  const run = createAiRun(memory, { sessionId: 's' })
  const controller = new AbortController()
  const stopping = tool({
    inputSchema,
    execute: async ({ id }) => {
      controller.abort()
      return `seen ${id}`
    },
  })
  const aborted = generateText({
    model: answering([lookCall('A')]),
    messages: [user('go')],
    ...shared,
    tools: { look: stopping },
    abortSignal: controller.signal,
    ...run.callbacks,
  })
  await expect(aborted).rejects.toThrow('aborted')
  expect(await run.settled()).toEqual({ compaction: null })
  expect(await logOf(service)).toEqual([user('go'), calls('A'), results('A')])
  await generate({ model: answering([text('Done.')]), messages: [user('go')], run })
  expect(await logOf(service)).toEqual([user('go'), calls('A'), results('A'), says('Done.')])
})

test('files that were stored go back to the model', async () => {
  const { memory } = setUp()
  const png = 'data:image/png;base64,iVBORw0KGgo='
  const first = createAiRun(memory, { sessionId: 's' })
  const question: ModelMessage = {
    role: 'user',
    content: [
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL(png) } },
      { type: 'file', mediaType: 'image/png', data: new URL('https://turnlog.test/cat.png') },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
      { type: 'text', text: 'What is it?' },
    ],
  }
  const model = () =>
    new MockLanguageModelV4({
      supportedUrls: { 'image/*': [/^https:/] },
      doGenerate: async () => whole([text('A cat.')]),
    })
  await generateText({ model: model(), messages: [question], ...first.callbacks })
  await first.settled()
  const second = createAiRun(memory, { sessionId: 's' })
  const asked = model()
  await generateText({ model: asked, messages: [user('Sure?')], ...second.callbacks })
  expect(asked.doGenerateCalls[0]?.prompt[0]?.content).toMatchObject([
    { type: 'file', data: { type: 'data', data: 'iVBORw0KGgo=' } },
    { type: 'file', data: { type: 'url', url: new URL('https://turnlog.test/cat.png') } },
    { type: 'file', data: { type: 'data', data: 'AQID' } },
    { type: 'text', text: 'What is it?' },
  ])
})
