// The two search tools: built, described, and asked.
import {
  type AgentTool,
  CONVERSATION_BRANCH,
  CONVERSATION_ID,
  createCrossSessionRecallTools,
  createSessionEventTools,
} from '../../src/index.ts'
import { createSessionService, type SessionRepository } from '../../src/stores/index.ts'
import type { StoreHarness } from '../../src/testing/index.ts'
import { NO_RESULTS } from '../../src/tools/agent-tool.ts'
import {
  asList,
  asObject,
  expectMentions,
  expectSame,
  expectThrown,
  expectTrue,
  show,
  type VectorCase,
  VectorFailure,
  VectorSkipped,
} from './vector-case.ts'
import { bySession, logOf, storeLog } from './vector-events.ts'

const READS = ['readEvents', 'findEvent', 'recallEvents', 'listSessions', 'findSession'] as const

/** A repository that counts how often it is read. */
function countReads(repository: SessionRepository): {
  readonly counted: SessionRepository
  readonly reads: () => number
} {
  let reads = 0
  const counted = { ...repository }
  for (const method of READS) {
    Object.assign(counted, {
      [method]: (...args: readonly unknown[]) => {
        reads++
        return (repository[method] as (...given: readonly unknown[]) => unknown)(...args)
      },
    })
  }
  return { counted, reads: () => reads }
}

/** A tool over a repository. */
type BuildTool = (repository: SessionRepository) => AgentTool

export async function runConversationSearch(
  vectorCase: VectorCase,
  harness: StoreHarness,
): Promise<void> {
  const log = logOf(vectorCase['log'])
  const archivedIds = asList<string>(vectorCase['archivedIds'])
  const context = toContext(asObject(vectorCase['context']))
  const warnings: string[] = []
  const build: BuildTool = (repository) =>
    createSessionEventTools(createSessionService(repository), {
      pageSize: vectorCase['pageSize'] as number | undefined,
      warn: (message) => warnings.push(message),
    })[0]
  await runTool(vectorCase, harness, build, context, async (repository) => {
    const service = createSessionService(repository)
    for (const session of asList<{ id: string; userId?: string }>(vectorCase['sessions'])) {
      await service.create({ id: session.id, userId: session.userId ?? 'ana', timeToLive: null })
    }
    for (const [sessionId, events] of bySession(log, 's-1')) {
      await storeLog(service, repository, sessionId, events, { archivedIds })
    }
  })
  const hasSession = typeof context[CONVERSATION_ID] === 'string' && context[CONVERSATION_ID] !== ''
  if (vectorCase['phase'] === undefined && vectorCase['mustNotSearch'] === true && !hasSession) {
    expectTrue(warnings.length > 0, 'a warning for the application')
  }
}

export async function runCrossSessionSearch(
  vectorCase: VectorCase,
  harness: StoreHarness,
): Promise<void> {
  interface VectorSession {
    readonly id: string
    readonly userId: string
    readonly log?: unknown
    readonly expiresAt?: string | null
    readonly deleted?: boolean
    readonly archivedIds?: readonly string[]
  }
  const build: BuildTool = (repository) =>
    createCrossSessionRecallTools(createSessionService(repository), {
      userId: vectorCase['userId'] as string,
      pageSize: vectorCase['pageSize'] as number | undefined,
    })[0]
  await runTool(vectorCase, harness, build, {}, async (repository) => {
    const service = createSessionService(repository)
    for (const session of asList<VectorSession>(vectorCase['sessions'])) {
      const { id, userId, expiresAt, archivedIds = [] } = session
      await storeLog(service, repository, id, logOf(session.log), { userId, archivedIds })
      if (expiresAt !== undefined) await service.update(id, { expiresAt })
      if (session.deleted === true) await service.delete(id)
    }
  })
}

async function runTool(
  vectorCase: VectorCase,
  harness: StoreHarness,
  build: BuildTool,
  context: Readonly<Record<string, unknown>>,
  prepare: (repository: SessionRepository) => Promise<void>,
): Promise<void> {
  const expectation = expectationOf(vectorCase)
  const repository = await harness.open()
  try {
    if (vectorCase['phase'] === 'build') {
      const message = await expectThrown(() => build(repository), 'building the tool')
      expectMentions(message, asObject(expectation)['errorMentions'], 'building the tool')
      return
    }
    const { counted, reads } = countReads(repository)
    const tool = build(counted)
    if (vectorCase['phase'] === 'describe') {
      expectDescription(tool, asObject(expectation))
      return
    }
    if (vectorCase['phase'] !== undefined) {
      throw new VectorSkipped(`its phase ${show(vectorCase['phase'])} is unknown`)
    }
    await prepare(repository)
    const answer = await tool.execute(vectorCase['args'], context)
    for (const text of asList<string>(vectorCase['mustNotContain'])) {
      expectTrue(!answer.includes(text), `the answer contains ${show(text)}: ${show(answer)}`)
    }
    if (vectorCase['mustNotSearch'] === true) expectSame(reads(), 0, 'how often the store was read')
    expectAnswer(answer, expectation, vectorCase)
  } finally {
    await repository.close()
  }
}

function expectationOf(vectorCase: VectorCase): unknown {
  const { alternative, expect } = vectorCase
  if (alternative === undefined || alternative === null) return expect
  if (typeof alternative === 'string' && alternative !== NO_RESULTS) {
    throw new VectorSkipped(`its alternative is prose: ${alternative}`)
  }
  const { expect: nested } = asObject(alternative)
  return nested === undefined ? alternative : nested
}

function expectAnswer(answer: string, expected: unknown, vectorCase: VectorCase): void {
  if (typeof expected === 'string') {
    expectSame(answer, expected, 'the answer')
    return
  }
  if (asObject(expected)['error'] === true) {
    expectTrue(
      answer.startsWith('Error') && answer !== NO_RESULTS,
      `an error text, not ${show(answer)}`,
    )
    expectMentions(answer, asObject(expected)['errorMentions'], 'the error text')
    return
  }
  const results = Array.isArray(expected) ? expected : asObject(expected)['results']
  if (!Array.isArray(results))
    throw new VectorSkipped(`cannot read its expectation ${show(expected)}`)
  let found: unknown
  try {
    found = JSON.parse(answer)
  } catch {
    throw new VectorFailure(`the answer: expected a JSON array, found ${show(answer)}`)
  }
  const entries = asList<Readonly<Record<string, unknown>>>(found)
  expectSame(entries.length, results.length, 'the number of results')
  const isUnordered = vectorCase['unordered'] === true || asObject(expected)['unordered'] === true
  const left = [...entries]
  for (const [index, result] of results.entries()) {
    const wanted = asObject(result)
    if (!isUnordered) {
      expectEntry(entries[index] ?? {}, wanted, `result ${index}`)
      continue
    }
    const place = left.findIndex((entry) => fits(entry, wanted))
    expectTrue(place >= 0, `result ${show(wanted)} is missing in ${show(answer)}`)
    left.splice(place, 1)
  }
}

function fits(entry: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, unknown>>) {
  try {
    expectEntry(entry, wanted, '')
    return true
  } catch (error) {
    if (error instanceof VectorFailure) return false
    throw error
  }
}

/** One entry of an answer: exact keys, timestamps to the letter. */
function expectEntry(
  entry: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
  what: string,
): void {
  const { textContains, textMaxLength, ...exact } = wanted
  if (textContains === undefined && textMaxLength === undefined) {
    expectSame(entry, exact, what)
    return
  }
  const { text, ...rest } = entry
  const { text: _, ...others } = exact
  expectSame(rest, others, what)
  if (typeof text !== 'string') throw new VectorFailure(`${what}: there is no text`)
  for (const part of asList<string>(textContains)) {
    expectTrue(text.includes(part), `${what}: the text does not contain ${show(part)}`)
  }
  if (typeof textMaxLength === 'number') {
    expectTrue(text.length <= textMaxLength, `${what}: the text has ${text.length} units`)
  }
  expectTrue(text.isWellFormed(), `${what}: the text is cut in a character`)
}

function expectDescription(tool: AgentTool, expected: Readonly<Record<string, unknown>>): void {
  const { properties, required } = tool.inputSchema
  const names = Object.keys(asObject(properties))
  const isRequired = (name: string) => asList<string>(required).includes(name)
  const sorted = (list: unknown) => [...asList<string>(list)].sort()
  if (expected['toolName'] !== undefined) expectSame(tool.name, expected['toolName'], 'its name')
  if (expected['required'] !== undefined) {
    expectSame(names.filter(isRequired).sort(), sorted(expected['required']), 'required arguments')
  }
  if (expected['optional'] !== undefined) {
    const optional = names.filter((name) => !isRequired(name))
    expectSame(optional.sort(), sorted(expected['optional']), 'optional arguments')
  }
  if (expected['contextKey'] !== undefined) {
    expectSame(CONVERSATION_ID, expected['contextKey'], 'the context key')
  }
}

function toContext(context: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names: Readonly<Record<string, string>> = {
    sessionId: CONVERSATION_ID,
    branch: CONVERSATION_BRANCH,
  }
  return Object.fromEntries(
    Object.entries(context).map(([key, value]) => [names[key] ?? key, value]),
  )
}
