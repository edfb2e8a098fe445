// The official MCP client with turnlog's search tools: in memory, and over HTTP at a local Worker.
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { sign } from 'hono/jwt'
import { createSessionMemory, type SessionService } from 'turnlog'
import { createHttpSessionService } from 'turnlog/client'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { addMcpTools, createMcpSearchServer, type McpSearchOptions } from 'turnlog/mcp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'

const EVERY_ERA = ['legacy', 'auto'] as const

const newClient = (mode: (typeof EVERY_ERA)[number]) =>
  new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })

const readOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** The text of a result. */
function textOf(result: CallToolResult): string {
  const [part] = result.content
  if (part?.type !== 'text') throw new Error('there is no text')
  return part.text
}

const textsOf = (result: CallToolResult): string[] =>
  JSON.parse(textOf(result)).map((hit: { text: string }) => hit.text)

const search = (query: unknown) => ({
  name: 'conversation_search',
  arguments: { innerThought: 'The cat?', query },
})
const recall = (query: unknown) => ({ ...search(query), name: 'cross_session_search' })

async function fill(service: SessionService, userId: string, ...names: string[]) {
  for (const [index, name] of names.entries()) {
    const id = `${userId} ${index}`
    await service.create({ id, userId })
    await service.appendMessage(id, { role: 'user', content: `My cat is ${name}.` })
  }
}

describe('in memory', () => {
  async function connected(options: McpSearchOptions): Promise<Client> {
    const service = createInMemorySessionService()
    await fill(service, 'ana', 'Mimi', 'Momo')
    await fill(service, 'bob', 'Bobo')
    await service.clearView('ana 0')
    return connect(createMcpSearchServer(service, options))
  }

  async function connect(server: McpServer): Promise<Client> {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(ours)
    const client = newClient('legacy')
    await client.connect(theirs)
    return client
  }

  test('lists what it is given, read-only, as it is described', async () => {
    const client = await connected({ sessionId: 'ana 0', userId: 'ana' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['conversation_search', 'cross_session_search'])
    for (const tool of tools) {
      expect(tool.annotations).toEqual(readOnly)
      expect(tool.description).toMatch(/^Search /)
      expect(tool.inputSchema).toMatchObject({
        type: 'object',
        required: ['innerThought', 'query'],
        additionalProperties: false,
      })
    }
    const alone = await connected({ sessionId: 'ana 0' })
    expect((await alone.listTools()).tools.length).toBe(1)
  })

  test('finds what is archived, in the session it is bound to', async () => {
    const client = await connected({ sessionId: 'ana 0', userId: 'ana' })
    const result = await client.callTool(search('cat'))
    expect(result.isError).toBe(undefined)
    expect(textsOf(result)).toEqual(['My cat is Mimi.'])
    expect(textsOf(await client.callTool(recall('cat')))).toEqual([
      'My cat is Mimi.',
      'My cat is Momo.',
    ])
    expect(textOf(await client.callTool(search('dog')))).toBe('No results found.')
  })

  test('tells what is wrong with arguments instead of failing', async () => {
    const client = await connected({ sessionId: 'ana 0' })
    for (const [query, problem] of [
      [' ', 'Error: query must be a text that is not blank'],
      [{ $regex: '.*' }, 'Error: query must be a text that is not blank'],
    ] as const) {
      const result = await client.callTool(search(query))
      expect(result.isError).toBe(true)
      expect(textOf(result)).toBe(problem)
    }
    await expect(client.callTool(recall('cat'))).rejects.toThrow(/cross_session_search/)
  })

  test('adds the tools of a memory to a server of one’s own', async () => {
    const service = createInMemorySessionService({ defaultUserId: 'ana' })
    await fill(service, 'ana', 'Mimi')
    const run = await createSessionMemory(service).begin({ sessionId: 'ana 0', messages: [] })
    const server = new McpServer({ name: 'mine', version: '1' })
    addMcpTools(server, run.tools)
    const client = await connect(server)
    expect(textsOf(await client.callTool(search('cat')))).toEqual(['My cat is Mimi.'])
  })
})

describe('over HTTP, at a local Worker', () => {
  const serviceOf = ({ url }: LocalWorker, token: string) =>
    createHttpSessionService({ baseUrl: url, getToken: () => token })

  const secret = 'a secret for tests that is long enough'
  let worker: LocalWorker
  let plain: LocalWorker
  let tokens: Readonly<Record<'ana' | 'bob', string>>
  beforeAll(async () => {
    const bindings = { JWT_SECRET: secret, ALLOWED_ORIGINS: 'https://app.turnlog.test' }
    ;[worker, plain] = await Promise.all([
      startWorker({
        entry: 'src/adapters/mcp/deploy.ts',
        bindings: { ...bindings, CROSS_SESSION_SEARCH: 'true' },
      }),
      startWorker({ entry: 'src/adapters/mcp/deploy.ts', bindings }),
    ])
    const exp = Math.floor(Date.now() / 1000) + 3600
    const [ana, bob] = await Promise.all(
      ['ana', 'bob'].map((sub) => sign({ sub, exp }, secret, 'HS256')),
    )
    tokens = { ana: ana ?? '', bob: bob ?? '' }
    for (const base of [worker, plain]) {
      for (const [userId, names] of [
        ['ana', ['Mimi', 'Momo']],
        ['bob', ['Bobo']],
      ] as const) {
        const service = serviceOf(base, tokens[userId])
        await fill(service, userId, ...names)
        await service.clearView(`${userId} 0`)
        await service.close()
      }
    }
  })
  afterAll(() => Promise.all([worker.close(), plain.close()]))

  async function connect(
    path: string,
    token: string | null,
    mode: (typeof EVERY_ERA)[number] = 'legacy',
    at = worker,
  ): Promise<Client> {
    const headers: Record<string, string> =
      token === null ? {} : { authorization: `Bearer ${token}` }
    const transport = new StreamableHTTPClientTransport(new URL(path, at.url), {
      requestInit: { headers },
    })
    const client = newClient(mode)
    await client.connect(transport)
    return client
  }

  test.each(EVERY_ERA)('searches the session of its address, protocol: %s', async (mode) => {
    const client = await connect('/mcp/sessions/ana%200', tokens.ana, mode)
    const { tools } = await client.listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual([
      ['conversation_search', readOnly],
      ['cross_session_search', readOnly],
    ])
    expect(textsOf(await client.callTool(search('CAT')))).toEqual(['My cat is Mimi.'])
    expect((await client.callTool(search(''))).isError).toBe(true)
    await client.close()
  })

  test.each(EVERY_ERA)('searches all sessions of the user, protocol: %s', async (mode) => {
    const client = await connect('/mcp', tokens.ana, mode)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'cross_session_search',
    ])
    expect(textsOf(await client.callTool(recall('cat')))).toEqual([
      'My cat is Mimi.',
      'My cat is Momo.',
    ])
    await client.close()
  })

  test.each(EVERY_ERA)('refuses who shows no token, or a bad one, protocol: %s', async (mode) => {
    for (const token of [null, 'nonsense', `${tokens.ana}x`]) {
      for (const path of ['/mcp', '/mcp/sessions/ana%200']) {
        await expect(connect(path, token, mode)).rejects.toThrow()
      }
    }
    const response = await fetch(new URL('/mcp', worker.url), { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('never shows what is somebody else’s', async () => {
    const client = await connect('/mcp', tokens.bob)
    expect(textsOf(await client.callTool(recall('cat')))).toEqual(['My cat is Bobo.'])
    for (const extra of [{ userId: 'ana' }, { sessionId: 'ana 0' }]) {
      const call = recall('cat')
      const result = await client.callTool({ ...call, arguments: { ...call.arguments, ...extra } })
      expect(textOf(result)).not.toMatch(/Mimi|Momo/)
    }
    await expect(connect('/mcp/sessions/ana%200', tokens.bob)).rejects.toThrow()
    await expect(connect('/mcp/sessions/nobody', tokens.bob)).rejects.toThrow()
  })

  test('restricts to a branch when the address says so', async () => {
    const service = serviceOf(worker, tokens.ana)
    await service.create({ id: 'branches', userId: 'ana' })
    for (const branch of [null, 'a', 'b']) {
      await service.appendMessage(
        'branches',
        { role: 'user', content: `cat of ${branch}` },
        { branch },
      )
    }
    const client = await connect('/mcp/sessions/branches?branch=a', tokens.ana)
    expect(textsOf(await client.callTool(search('cat')))).toEqual(['cat of null', 'cat of a'])
    await service.close()
  })

  test('offers the search across sessions only where it is switched on', async () => {
    await expect(connect('/mcp', tokens.ana, 'legacy', plain)).rejects.toThrow()
    const client = await connect('/mcp/sessions/ana%200', tokens.ana, 'legacy', plain)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'conversation_search',
    ])
  })

  test('lets pages of the listed origins in, and has nothing to stream', async () => {
    const url = new URL('/mcp', worker.url)
    const asked = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.turnlog.test',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    expect(asked.headers.get('access-control-allow-headers')?.toLowerCase()).toContain(
      'mcp-protocol-version',
    )
    const headers = { authorization: `Bearer ${tokens.ana}` }
    const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
    expect(stream.status).toBe(405)
    const noise = await fetch(url, { method: 'POST', headers, body: 'noise' })
    expect(noise.status).toBeGreaterThanOrEqual(400)
    expect(noise.status).toBeLessThan(500)
  })
})
