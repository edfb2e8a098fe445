// conversation_search: what a model may send it, what it gets back, and that it never throws.
import fc from 'fast-check'
import {
  CONVERSATION_BRANCH,
  CONVERSATION_ID,
  createSessionEventTools,
  SessionError,
  type SessionService,
} from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test } from 'vitest'

const context = { [CONVERSATION_ID]: 's' }

async function prepare(texts: readonly string[] = ['one needle', 'hay', 'two NEEDLES']) {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  for (const [index, content] of texts.entries()) {
    await service.appendEvent('s', {
      message: { role: index % 2 ? 'assistant' : 'user', content },
      timestamp: Date.UTC(2025, 5, 1, 12, 0, index),
    })
  }
  const warnings: string[] = []
  const [tool] = createSessionEventTools(service, { warn: (message) => warnings.push(message) })
  const ask = (args: unknown, given: unknown = context) => tool.execute(args, given as never)
  return { service, tool, ask, warnings }
}

describe('answers', () => {
  test('are a JSON array of timestamp, type and text, oldest first', async () => {
    const { ask } = await prepare()
    expect(JSON.parse(await ask({ innerThought: 'hm', query: 'needle' }))).toEqual([
      { timestamp: '2025-06-01T12:00:00Z', type: 'user', text: 'one needle' },
      { timestamp: '2025-06-01T12:00:02Z', type: 'user', text: 'two NEEDLES' },
    ])
    expect(await ask({ innerThought: 'hm', query: 'nowhere' })).toBe('No results found.')
  })

  test('come in pages of ten or as said', async () => {
    const { service, ask } = await prepare(Array.from({ length: 25 }, (_, index) => `n${index}`))
    const texts = (answer: string) => JSON.parse(answer).map(({ text }: { text: string }) => text)
    expect(texts(await ask({ query: 'n' }))).toHaveLength(10)
    expect(texts(await ask({ query: 'n', page: 2 }))).toEqual(['n20', 'n21', 'n22', 'n23', 'n24'])
    expect(texts(await ask({ query: 'n', page: -3 }))[0]).toBe('n0')
    expect(await ask({ query: 'n', page: 3 })).toBe('No results found.')
    const [small] = createSessionEventTools(service, { pageSize: 2 })
    expect(texts(await small.execute({ query: 'n', page: 1 }, context))).toEqual(['n2', 'n3'])
  })

  test('leave out summaries and what was rewound, before they are paged', async () => {
    const { service, ask } = await prepare([])
    for (let index = 0; index < 12; index++) {
      await service.appendEvent('s', {
        id: `e${index}`,
        message: { role: 'user', content: `needle ${index}` },
        synthetic: index % 2 === 0,
      })
    }
    await service.rewind('s', { before: 'e9' })
    const found = JSON.parse(await ask({ query: 'needle' }))
    expect(found.map(({ text }: { text: string }) => text)).toEqual([
      'needle 1',
      'needle 3',
      'needle 5',
      'needle 7',
    ])
  })

  test('cut long texts around the match and say so', async () => {
    const { ask } = await prepare([`${'x'.repeat(5000)} needle ${'y'.repeat(5000)}`])
    const [entry] = JSON.parse(await ask({ query: 'needle' }))
    expect(entry.truncated).toBe(true)
    expect(entry.text).toHaveLength(4000)
    expect(entry.text).toContain(' needle ')
  })

  test('are well-formed for a model, whatever is in the store', async () => {
    const { ask } = await prepare(['a lone \ud83d surrogate needle', `${'🏷'.repeat(4000)}needle`])
    const answer = await ask({ query: 'needle' })
    expect(answer.isWellFormed()).toBe(true)
    expect(JSON.parse(answer)).toHaveLength(2)
  })

  test('do not grow with earlier searches: tool calls and results are not text', async () => {
    const { service, ask } = await prepare()
    const before = await ask({ query: 'needle' })
    await service.appendMessage('s', {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          toolCallId: 'c',
          toolName: 'conversation_search',
          input: { query: 'needle' },
        },
      ] as never,
    })
    await service.appendMessage('s', {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c',
          toolName: 'conversation_search',
          output: { type: 'text', value: before },
        },
      ] as never,
    })
    expect(await ask({ query: 'needle' })).toBe(before)
  })
})

describe('the session', () => {
  test.each([
    ['no context', undefined],
    ['null', null],
    ['an empty context', {}],
    ['an empty id', { [CONVERSATION_ID]: '' }],
    ['a blank id', { [CONVERSATION_ID]: ' \n' }],
    ['a number', { [CONVERSATION_ID]: 42 }],
    ['another key', { sessionId: 's' }],
  ])('%s: a warning, an error text, and no read', async (_, given) => {
    const warnings: string[] = []
    const service = {
      getEvents: () => expect.unreachable('it was read'),
    } as unknown as SessionService
    const [tool] = createSessionEventTools(service, { warn: (message) => warnings.push(message) })
    expect(await tool.execute({ innerThought: '', query: 'needle' }, given as never)).toMatch(
      /^Error: /,
    )
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(CONVERSATION_ID)
  })

  test('is never chosen by the model', async () => {
    const { service, ask } = await prepare()
    await service.create({ id: 'other' })
    await service.appendMessage('other', { role: 'user', content: 'secret needle' })
    const args = { query: 'secret', sessionId: 'other', [CONVERSATION_ID]: 'other', userId: 'bo' }
    expect(await ask(args)).toBe('No results found.')
  })

  test('that is unknown or expired is an error text', async () => {
    const { ask } = await prepare()
    expect(await ask({ query: 'x' }, { [CONVERSATION_ID]: 'nowhere' })).toMatch(/^Error: .*nowhere/)
  })
})

describe('a branch in the context', () => {
  test('restricts to what that branch may see', async () => {
    const { service, ask } = await prepare([])
    for (const branch of [null, 'root', 'root.a', 'root.b', 'root.a.x']) {
      await service.appendMessage('s', { role: 'user', content: `needle of ${branch}` }, { branch })
    }
    const see = async (branch: unknown) => {
      const answer = await ask({ query: 'needle' }, { ...context, [CONVERSATION_BRANCH]: branch })
      return JSON.parse(answer).map(({ text }: { text: string }) => text.slice('needle of '.length))
    }
    expect(await see('root.a')).toEqual(['null', 'root', 'root.a'])
    expect(await see('root.b')).toEqual(['null', 'root', 'root.b'])
    expect(await see(null)).toHaveLength(5)
    expect(await see(undefined)).toHaveLength(5)
  })

  test('that is no string is an error text, not a search of everything', async () => {
    const { ask } = await prepare()
    expect(await ask({ query: 'needle' }, { ...context, [CONVERSATION_BRANCH]: 5 })).toMatch(
      /^Error: .*must be a string/,
    )
  })
})

describe('whatever the model sends', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'needle'],
    ['a list', ['needle']],
    ['no query', { innerThought: 'hm' }],
    ['a blank query', { query: ' \u00a0' }],
    ['a number as query', { query: 5 }],
    ['a list as query', { query: ['needle'] }],
    ['half a page', { query: 'needle', page: 0.5 }],
    ['a text as page', { query: 'needle', page: '1' }],
    ['NaN as page', { query: 'needle', page: Number.NaN }],
  ])('%s is an error text', async (_, args) => {
    const { ask } = await prepare()
    expect(await ask(args)).toMatch(/^Error: /)
  })

  test('it never throws, and answers text', async () => {
    const { ask } = await prepare()
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (args, given) => {
        expect(typeof (await ask(args, given))).toBe('string')
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer(), async (query, page) => {
        const answer = await ask({ query, page })
        expect(answer.isWellFormed()).toBe(true)
      }),
    )
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    expect(await ask(hostile)).toMatch(/^Error: /)
    expect(await ask({ query: 'needle' }, hostile)).toMatch(/^Error: /)
  })

  test.each([
    new SessionError('STORAGE_UNAVAILABLE', 'there is no database'),
    new Error('out of memory'),
    'a string',
    null,
  ])('a store that fails with %s is an error text', async (failure) => {
    const service = {
      getEvents: async () => {
        throw failure
      },
    } as unknown as SessionService
    const [tool] = createSessionEventTools(service)
    expect(await tool.execute({ query: 'needle' }, context)).toMatch(/^Error: /)
  })
})

test('a bad page size is refused when the tool is made', () => {
  const service = createInMemorySessionService()
  for (const pageSize of [0, -1, 1.5, '5', Number.NaN]) {
    expect(() => createSessionEventTools(service, { pageSize: pageSize as number })).toThrow(
      /pageSize/,
    )
  }
  expect(createSessionEventTools(service, null)[0].name).toBe('conversation_search')
  expect(createSessionEventTools(service, { pageSize: null })[0].inputSchema).toMatchObject({
    required: ['innerThought', 'query'],
    additionalProperties: false,
  })
})
