// Strategies, triggers and what they are made of, run over a view that a store gives.
import { countTurns, formatEvent, type SessionEvent, type SessionService } from '../../src/index.ts'
import { createSessionService, type SessionRepository } from '../../src/stores/index.ts'
import type { StoreHarness } from '../../src/testing/index.ts'
import { buildStrategy, buildTrigger, countTags, newModelRecord } from './strategies.ts'
import {
  asList,
  asObject,
  expectMentions,
  expectSame,
  expectThrown,
  expectTrue,
  requireKnownExpectations,
  show,
  type VectorCase,
  VectorSkipped,
} from './vector-case.ts'
import { logOf, pairToolIds, storeLog } from './vector-events.ts'

const SESSION = 's-1'

const EXPECTATIONS = [
  'expect',
  'expectActiveIds',
  'expectArchivedIds',
  'expectContains',
  'expectError',
  'expectEventCount',
  'expectFailureCallbacks',
  'expectFires',
  'expectLlmCalls',
  'expectNewEvents',
  'expectPromptAbsent',
  'expectPromptOrder',
  'expectSystemPrompt',
  'expectTokensSaved',
  'expectTurnCount',
]

export async function runCompactionVector(
  original: VectorCase,
  harness: StoreHarness,
): Promise<void> {
  const { alternative } = original
  if (typeof alternative === 'string')
    throw new VectorSkipped(`its alternative is prose: ${alternative}`)
  // The alternative is the whole expectation: what it leaves out is not ours.
  const expectations = alternative === undefined ? original : withoutExpectations(original)
  const vectorCase: VectorCase = { ...expectations, ...asObject(alternative), name: original.name }
  requireKnownExpectations(vectorCase, EXPECTATIONS)
  switch (vectorCase['kind']) {
    case 'builder':
      return runBuilder(vectorCase)
    case 'null-request':
      await expectThrown(
        () =>
          buildStrategy(vectorCase['strategy'], newModelRecord())(null as never, {
            signal: new AbortController().signal,
          }),
        'a strategy without a view',
      )
      return
    case 'strategy':
    case 'trigger':
    case 'request':
    case 'format':
      return withLog(vectorCase, harness, async (service, repository) => {
        if (vectorCase['kind'] === 'strategy') return runStrategy(vectorCase, service, repository)
        const view = await service.getEvents(SESSION, { excludeArchived: true })
        if (vectorCase['kind'] === 'trigger') {
          const fires = await buildTrigger(vectorCase['trigger'])(view)
          expectSame(fires, vectorCase['expectFires'], 'whether it fires')
        } else if (vectorCase['kind'] === 'request') runRequest(vectorCase, view)
        else runFormat(vectorCase, view)
      })
    default:
      throw new VectorSkipped(`its kind ${show(vectorCase['kind'])} is unknown`)
  }
}

function withoutExpectations(vectorCase: VectorCase): VectorCase {
  const kept = Object.entries(vectorCase).filter(([key]) => !key.startsWith('expect'))
  return { ...Object.fromEntries(kept), name: vectorCase.name }
}

async function withLog(
  vectorCase: VectorCase,
  harness: StoreHarness,
  run: (service: SessionService, repository: SessionRepository) => Promise<void>,
): Promise<void> {
  const repository = await harness.open()
  try {
    const service = createSessionService(repository)
    await storeLog(service, repository, SESSION, pairToolIds(logOf(vectorCase['events'])))
    await run(service, repository)
  } finally {
    await repository.close()
  }
}

async function runStrategy(
  vectorCase: VectorCase,
  service: SessionService,
  repository: SessionRepository,
): Promise<void> {
  const record = newModelRecord()
  const strategy = buildStrategy(vectorCase['strategy'], record)
  const before = await service.getEvents(SESSION)
  const given = new Set(before.map(({ id }) => id))
  const result = await service.compact(SESSION, {
    trigger: () => true,
    strategy,
    estimateTokens: countTags,
  })
  const { expectError } = vectorCase
  if (expectError === true) expectSame(result.status, 'failed', 'the status')

  const log = await service.getEvents(SESSION)
  const view = await service.getEvents(SESSION, { excludeArchived: true })
  const added = log.filter(({ id }) => !given.has(id))
  const [shadow, summary] = added
  const nameOf = ({ id }: SessionEvent) =>
    id === shadow?.id ? '$shadow' : id === summary?.id ? '$summary' : id
  const archivedNow = log.filter(({ archived }) => archived)
  expectSame(result.compactedEvents.map(nameOf), view.map(nameOf), 'the view that compact gave')
  expectSame(result.eventsRemoved, result.archivedEvents.length, 'eventsRemoved')
  expectSame(
    log.filter(({ id }) => given.has(id)).map((event) => ({ ...event, archived: false })),
    before.map((event) => ({ ...event, archived: false })),
    'the events that were there before',
  )

  const { expectActiveIds, expectArchivedIds, expectTokensSaved, expectLlmCalls } = vectorCase
  if (expectActiveIds !== undefined) expectSame(view.map(nameOf), expectActiveIds, 'the view')
  if (expectArchivedIds !== undefined) {
    expectSame(archivedNow.map(nameOf), expectArchivedIds, 'the archived events')
    expectSame(
      [...result.archivedEvents.map(nameOf)].sort(),
      [...asList<string>(expectArchivedIds)].sort(),
      'the archived events that compact gave',
    )
  }
  if (expectTokensSaved !== undefined) {
    expectSame(result.tokensEstimatedSaved, expectTokensSaved, 'tokensEstimatedSaved')
  }
  if (expectLlmCalls !== undefined) {
    expectSame(record.prompts.length, expectLlmCalls, 'how often the model was called')
  }
  if (vectorCase['expectFailureCallbacks'] !== undefined) {
    expectSame(
      record.failures.length,
      vectorCase['expectFailureCallbacks'],
      'how often a failure was reported',
    )
  }
  expectPrompt(vectorCase, record.prompts[0])
  expectNewEvents(asObject(vectorCase['expectNewEvents']), shadow, summary)
  const stored = await repository.findSession(SESSION, { now: Date.now() })
  expectSame(stored?.lastSeq, log.length, 'the number of events that the session counts')
}

function expectPrompt(
  vectorCase: VectorCase,
  asked: { readonly system: string; readonly prompt: string } | undefined,
): void {
  let position = 0
  for (const text of asList<string>(vectorCase['expectPromptOrder'])) {
    const at = (asked?.prompt ?? '').indexOf(text, position)
    expectTrue(at >= 0, `the prompt does not contain ${show(text)} at its place: ${show(asked)}`)
    position = at + text.length
  }
  for (const text of asList<string>(vectorCase['expectPromptAbsent'])) {
    expectTrue(!asked?.prompt.includes(text), `the prompt contains ${show(text)}: ${show(asked)}`)
  }
  if (vectorCase['expectSystemPrompt'] !== undefined) {
    expectSame(asked?.system, vectorCase['expectSystemPrompt'], 'the system prompt')
  }
}

function expectNewEvents(
  expected: Readonly<Record<string, unknown>>,
  shadow: SessionEvent | undefined,
  summary: SessionEvent | undefined,
): void {
  const events = { shadow, summary }
  for (const name of ['shadow', 'summary'] as const) {
    const wanted = asObject(expected[name])
    const event = events[name]
    for (const [field, value] of Object.entries(wanted)) {
      const found: Readonly<Record<string, unknown>> = {
        type: event?.message.role,
        text: event?.message.content,
        synthetic: event?.synthetic,
        branch: event?.branch,
        archived: event?.archived,
        compactionSource: event?.metadata['compactionSource'],
        sessionId: event?.sessionId,
      }
      expectSame(found[field], value, `${field} of the ${name}`)
    }
  }
  if (expected['sameTimestamp'] === true) {
    expectSame(shadow?.timestamp, summary?.timestamp, 'the timestamps of both')
  }
  if (expected['distinctIds'] === true) expectTrue(shadow?.id !== summary?.id, 'two ids')
  if (expected['sessionId'] !== undefined) {
    expectSame(summary?.sessionId, expected['sessionId'], 'the session of the summary')
  }
}

function runRequest(vectorCase: VectorCase, view: readonly SessionEvent[]): void {
  const { expectEventCount, expectTurnCount } = vectorCase
  if (expectEventCount !== undefined) expectSame(view.length, expectEventCount, 'events')
  if (expectTurnCount !== undefined) expectSame(countTurns(view), expectTurnCount, 'turns')
}

function runFormat(vectorCase: VectorCase, view: readonly SessionEvent[]): void {
  const text = view.map(formatEvent).join('\n')
  for (const part of asList<string>(vectorCase['expectContains'])) {
    expectTrue(text.includes(part), `the rendering does not contain ${show(part)}: ${show(text)}`)
  }
}

async function runBuilder(vectorCase: VectorCase): Promise<void> {
  const { expect, errorMentions } = vectorCase
  const spec = asObject(vectorCase['spec'])
  const build = () =>
    spec['trigger'] === undefined
      ? buildStrategy(spec, newModelRecord())
      : buildTrigger(spec['trigger'])
  if (expect === 'ok') build()
  else expectMentions(await expectThrown(build, 'building it'), errorMentions, 'building it')
}
