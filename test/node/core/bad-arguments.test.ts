// Bad arguments of what is no method of a service: each is refused by name, at once and not at its first use.
// (Those of the methods are in the contract of stores, `turnlog/testing`.)
import { readFileSync } from 'node:fs'
import {
  allMessages,
  anyOf,
  byMessageType,
  CONVERSATION_ID,
  containsText,
  countTurns,
  createCrossSessionRecallTools,
  createSessionEventTools,
  createSessionMemory,
  EventFilter,
  estimateTokens,
  foldText,
  formatEvent,
  keepSafely,
  type Message,
  matchRanges,
  messageFilter,
  messageText,
  recursiveSummarization,
  skipEmptyMessages,
  slidingWindow,
  startsTurn,
  tokenCount,
  tokenCountTrigger,
  turnCountTrigger,
  turnWindow,
} from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { createSessionService } from 'turnlog/store'
import { describe, expect, test } from 'vitest'

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('the getter failed')
    },
    ownKeys() {
      throw new Error('the keys failed')
    },
    getPrototypeOf() {
      throw new Error('the prototype failed')
    },
  },
) as never
const { proxy, revoke } = Proxy.revocable({}, {})
revoke()
const revoked = proxy as never

const bad = (value: unknown) => value as never
const service = createInMemorySessionService({ defaultUserId: 'u' })
const options: Message[] = [{ role: 'user', content: 'a' }]
const summarize = () => ''
const refusals: readonly (readonly [field: string, call: () => unknown])[] = [
  ['repository', () => createSessionService(bad(null))],
  ['repository', () => createSessionService(bad({}))],
  ['repository', () => createSessionService(hostile)],
  ['options', () => createInMemorySessionService(bad('me'))],
  ['options', () => createInMemorySessionService(bad([]))],
  ['options', () => createInMemorySessionService(hostile)],
  ['options', () => createInMemorySessionService(revoked)],
  ['defaultUserId', () => createInMemorySessionService({ defaultUserId: revoked })],
  ['now', () => createInMemorySessionService({ now: bad(5) })],
  ['generateId', () => createInMemorySessionService({ generateId: bad('id') })],
  ['onDamage', () => createInMemorySessionService({ onDamage: bad({}) })],
  ['timeToLive', () => createInMemorySessionService({ timeToLive: hostile })],
  ['options', () => slidingWindow(bad(5))],
  ['options', () => turnWindow(bad('10'))],
  ['options', () => tokenCount(bad([4000]))],
  ['options', () => tokenCount(hostile)],
  ['options', () => tokenCountTrigger(bad(4000))],
  ['options', () => recursiveSummarization(bad(() => ''))],
  ['onFailure', () => recursiveSummarization({ summarize, onFailure: bad('log') })],
  ['service', () => createSessionMemory(bad(null))],
  ['options', () => createSessionMemory(service, bad('x'))],
  ['options', () => createSessionMemory(service, hostile)],
  ['trigger', () => createSessionMemory(service, { trigger: bad(Number.NaN) })],
  ['estimateTokens', () => createSessionMemory(service, { estimateTokens: bad(4) })],
  ['timeToLive', () => createSessionMemory(service, { timeToLive: bad('a day') })],
  ['crossSessionSearch', () => createSessionMemory(service, { crossSessionSearch: bad('yes') })],
  ['service', () => createSessionEventTools(bad({}))],
  ['options', () => createSessionEventTools(service, bad(5))],
  ['warn', () => createSessionEventTools(service, { warn: bad('console') })],
  ['pageSize', () => createSessionEventTools(service, { pageSize: bad('10') })],
  ['service', () => createCrossSessionRecallTools(bad(undefined), { userId: 'u' })],
  ['options', () => createCrossSessionRecallTools(service, bad('u'))],
  ['messageFilter', () => createSessionMemory(service, { messageFilter: revoked })],
  ['messageFilter', () => messageFilter(bad('user'))],
  ['other', () => allMessages.and(revoked)],
  ['other', () => allMessages.or(bad(null))],
  ['types', () => byMessageType()],
  ['types', () => byMessageType(bad('robot'))],
  ['keyword', () => containsText(bad(5))],
  ['keyword', () => containsText(' ')],
  ['maxTurns', () => turnCountTrigger(bad('20'))],
  ['triggers', () => anyOf()],
  ['triggers[1]', () => anyOf(turnCountTrigger(1), bad(5))],
  ['view', () => turnCountTrigger(1)(bad('view'))],
  ['view', () => countTurns(bad(undefined))],
  ['view', () => countTurns([hostile])],
  ['view', () => keepSafely(bad({ length: 1 }), new Set())],
  ['wanted', () => keepSafely([], bad(['id']))],
  ['event', () => startsTurn(bad(null))],
  ['event', () => formatEvent(bad({}))],
  ['event', () => EventFilter.all().matches(bad(undefined))],
  ['events', () => EventFilter.all().apply(bad('events'))],
  ['events', () => EventFilter.all().apply(revoked)],
  ['event', () => EventFilter.all().apply([bad(null)])],
  ['text', () => foldText(bad(5))],
  ['text', () => matchRanges(bad(null), 'a')],
  ['query', () => matchRanges('a', bad(undefined))],
  ['text', () => estimateTokens(bad({}))],
]

test.each(refusals)('%s is refused (%#)', (field, call) => {
  expect(call).toThrowError(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { field } }),
  )
})

test.each([
  ['message', () => messageText(bad(undefined))],
  ['message', () => messageText(bad({ role: 'user', content: 5 }))],
  ['message', () => messageText(bad({ role: 'user', content: [null] }))],
  ['message.role', () => allMessages(bad({}))],
  ['message', () => skipEmptyMessages(revoked)],
  ['message.content', () => byMessageType('user')(bad({ role: 'user' }))],
] as const)('%s that is none is refused (%#)', (field, call) => {
  expect(call).toThrowError(expect.objectContaining({ code: 'INVALID_EVENT', details: { field } }))
})

test('every function of the root entry is called with something bad here', async () => {
  const here = readFileSync(import.meta.filename, 'utf8')
  const entry: Readonly<Record<string, unknown>> = await import('turnlog')
  const functions = Object.keys(entry).filter((name) => typeof entry[name] === 'function')
  const missing = functions.filter((name) => !new RegExp(`\\b${name}[.(]`).test(here))
  // The one tells of any value whether it is an error, the other is only thrown.
  expect(missing).toEqual(['isSessionError', 'SessionError'])
})

test.each([
  ['filter', () => EventFilter.of(hostile)],
  ['filter', () => EventFilter.of(revoked)],
  ['filter', () => EventFilter.all().merge(hostile)],
  ['from', () => EventFilter.of({ from: hostile })],
  ['to', () => EventFilter.of({ to: revoked })],
  ['keywords', () => EventFilter.of({ keywords: hostile })],
  ['lastN', () => EventFilter.of({ lastN: revoked })],
  [
    'keywords',
    () =>
      EventFilter.keywordsSearch({
        // biome-ignore lint/correctness/useYield: it fails first
        *[Symbol.iterator]() {
          throw new Error('the iterator failed')
        },
      }),
  ],
] as const)('%s of a filter is refused (%#)', (field, call) => {
  expect(call).toThrowError(expect.objectContaining({ code: 'INVALID_FILTER', details: { field } }))
})

test('what a Proxy threw is the cause', () => {
  expect(() => createInMemorySessionService(hostile)).toThrowError(
    expect.objectContaining({ cause: new Error('the keys failed') }),
  )
})

test('what is thrown need not be an error', async () => {
  const thrown = Object.create(null)
  const input = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(thrown) }),
  }
  await expect(service.importSession(input)).rejects.toMatchObject({
    code: 'INVALID_IMPORT',
    cause: thrown,
  })
  const [tool] = createSessionEventTools({ getEvents: () => Promise.reject(thrown) })
  const args = { innerThought: '', query: 'a' }
  expect(await tool.execute(args, { [CONVERSATION_ID]: 's' })).toBe(
    'Error: the search failed: object',
  )
})

test('null stands for no options', () => {
  expect(createInMemorySessionService(null).repository).toBeDefined()
  expect(createSessionMemory(service, null).begin).toBeTypeOf('function')
})

describe('a run of a session memory', () => {
  const memory = createSessionMemory(service)
  const begin = (change: object) =>
    memory.begin({ sessionId: 's', messages: options, ...change } as never)

  test.each([
    ['options', 'INVALID_ARGUMENT', () => memory.begin(bad('s'))],
    ['sessionId', 'INVALID_ARGUMENT', () => memory.begin(bad(undefined))],
    ['options', 'INVALID_ARGUMENT', () => memory.begin(hostile)],
    ['messages', 'INVALID_ARGUMENT', () => begin({ messages: revoked })],
    ['messages[0]', 'INVALID_ARGUMENT', () => begin({ messages: ['a'] })],
    ['messages[0].role', 'INVALID_EVENT', () => begin({ messages: [{}] })],
    ['messages[0].content', 'INVALID_EVENT', () => begin({ messages: [{ role: 'system' }] })],
    ['messages[0]', 'INVALID_EVENT', () => begin({ messages: [hostile] })],
    [
      'messages[0].content[1]',
      'INVALID_EVENT',
      () => begin({ messages: [{ role: 'user', content: [{ type: 'a' }, null] }, ...options] }),
    ],
  ] as const)('is not begun with bad %s (%#)', async (field, code, call) => {
    await expect(call()).rejects.toMatchObject({ code, details: { field } })
    expect(await service.findById('s')).toBeNull()
  })

  test('is not ended with a bad signal, nor answers that are none', async () => {
    const run = await memory.begin({ sessionId: 'ended', messages: options })
    const reply = [{ role: 'assistant', content: 'b' }] as const
    const fields = async (call: Promise<unknown>) =>
      call.catch((error) => [error.code, error.details.field])
    expect(await fields(run.end(reply, { signal: bad({}) }))).toEqual([
      'INVALID_ARGUMENT',
      'signal',
    ])
    expect(await fields(run.end(reply, bad('now')))).toEqual(['INVALID_ARGUMENT', 'options'])
    expect(await fields(run.end(bad([{ role: 'assistant' }])))).toEqual([
      'INVALID_EVENT',
      'messages[0].content',
    ])
    expect(await service.getMessages('ended')).toEqual(options)
  })

  test('keeps to the messages that it began with', async () => {
    const messages: Message[] = [...options]
    const begun = memory.begin({ sessionId: 'grows', messages })
    messages.push({ role: 'assistant', content: 'too early' })
    expect((await begun).messages).toEqual(options)
  })
})
