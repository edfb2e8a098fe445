// The search tools in the hands of the OpenAI Agents SDK; nothing needs a cast.
import { Agent, Runner, setTracingDisabled } from '@openai/agents-core'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { createSessionMemory } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import {
  type AgentSearchOptions,
  type AgentSearchTool,
  agentSessionTools,
  agentTools,
} from 'turnlog/openai-agents'
import { describe, expect, test } from 'vitest'

setTracingDisabled(true)

async function withCats() {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  for (const [id, name, userId, branch] of [
    ['s', 'Mimi', 'ana', null],
    ['other', 'Mimi the second', 'ana', null],
    ['foreign', 'Mimi of Bob', 'bob', null],
    ['branched', 'Mimi of the zoo', 'ana', 'zoo'],
  ] as const) {
    await service.create({ id, userId })
    const message = { role: 'user', content: `My cat is ${name}.` } as const
    await service.appendEvent(id, { message, branch, timestamp: '2026-01-01T00:00:00Z' })
  }
  await service.clearView('s')
  return service
}

/** What the model was told when it called a tool. */
async function told(tools: AgentSearchTool[], name: string, args: string): Promise<unknown> {
  const model = new ScriptedModel([
    [functionCall(name, args, { callId: 'c' })],
    [assistantMessage('Mimi.')],
  ])
  const agent = new Agent<{ readonly page: string }>({ name: 'Assistant', model, tools })
  const { history } = await new Runner().run(agent, 'My cat?', { context: { page: 'home' } })
  const result = history.find((item) => item.type === 'function_call_result')
  return result !== undefined && 'output' in result ? result.output : undefined
}

const search = (query: unknown) => JSON.stringify({ innerThought: 'The cat?', query })
const mimi = [{ timestamp: '2026-01-01T00:00:00Z', type: 'user', text: 'My cat is Mimi.' }]

describe('the search tools of a session', () => {
  test('find what has left the view, of this session only', async () => {
    const tools = agentSessionTools(await withCats(), { sessionId: 's' })
    expect(tools.map(({ name, strict }) => [name, strict])).toEqual([
      ['conversation_search', false],
    ])
    expect(await told(tools, 'conversation_search', search('mimi'))).toEqual({
      type: 'text',
      text: JSON.stringify(mimi),
    })
  })

  test('search all sessions of the user where one is given, and of nobody else', async () => {
    const tools = agentSessionTools(await withCats(), { sessionId: 's', userId: 'ana' })
    const answer = await told(tools, 'cross_session_search', search('mimi'))
    const { text } = answer as { readonly text: string }
    const hits: { readonly sessionId: string }[] = JSON.parse(text)
    expect(hits.map(({ sessionId }) => sessionId)).toEqual(['branched', 'other', 's'])
  })

  test('a page size and a branch hold', async () => {
    const service = await withCats()
    for (const [branch, text] of [
      ['zoo', /of the zoo/],
      ['home', /No results found/],
    ] as const) {
      const tools = agentSessionTools(service, { sessionId: 'branched', branch })
      expect(await told(tools, 'conversation_search', search('mimi'))).toMatchObject({
        text: expect.stringMatching(text),
      })
    }
    const tools = agentSessionTools(service, { userId: 'ana', pageSize: 1 })
    const answer = await told(tools, 'cross_session_search', search('mimi'))
    expect(JSON.parse((answer as { readonly text: string }).text)).toHaveLength(1)
  })

  test.each([
    [search(''), 'Error: query must be a text that is not blank'],
    ['{}', 'Error: query must be a text that is not blank'],
    ['[]', 'Error: the arguments must be a JSON object'],
  ])('the model hears what was wrong with %s', async (args, text) => {
    const tools = agentSessionTools(await withCats(), { sessionId: 's' })
    expect(await told(tools, 'conversation_search', args)).toEqual({ type: 'text', text })
  })

  test('bad options are refused', async () => {
    const service = await withCats()
    for (const options of [{ userId: ' ' }, { sessionId: 's', pageSize: 0 }]) {
      expect(() => agentSessionTools(service, options as AgentSearchOptions)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    }
  })
})

test('the tools of a run are bound already', async () => {
  const memory = createSessionMemory(await withCats())
  const messages = [{ role: 'user', content: 'My cat?' }] as const
  const run = await memory.begin({ sessionId: 's', messages })
  expect(await told(agentTools(run.tools), 'conversation_search', search('mimi'))).toEqual({
    type: 'text',
    text: JSON.stringify(mimi),
  })
})
