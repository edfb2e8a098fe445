// Steps on a fresh service: sessions, appends, compactions, and the memory around a model call.

import { prepareEvent } from '../../src/core/event-input.ts'
import { rangesOf } from '../../src/core/seq-ranges.ts'
import { newSession } from '../../src/core/session-record.ts'
import {
  CONVERSATION_ID,
  createSessionMemory,
  EventFilter,
  type EventFilterOptions,
  isSessionError,
  MAX_QUERY_TERMS,
  METADATA_COMPACTION_SOURCE,
  METADATA_SYNTHETIC,
  type MemoryRun,
  messageText,
  type Session,
  type SessionEvent,
  type SessionMemory,
  type SessionService,
} from '../../src/index.ts'
import { createSessionService, type SessionRepository } from '../../src/stores/index.ts'
import type { StoreHarness } from '../../src/testing/index.ts'
import {
  buildMessageFilter,
  buildStrategy,
  buildTrigger,
  countTags,
  newModelRecord,
} from './strategies.ts'
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
  VectorFailure,
  VectorSkipped,
} from './vector-case.ts'
import { toEventInput, toMessage, type VectorEvent, type VectorMessage } from './vector-events.ts'

type Step = Readonly<Record<string, unknown>>

/** What the original calls the user of a session that nobody named. */
const DEFAULT_USER = 'default-user'

/** Settings of the original's memory that have no counterpart here: identity is run and position. */
const FOREIGN_SETTINGS = ['requestEventId', 'responseEventId', 'idempotentIds']

/** Settings of the original's memory that have one here. */
const KNOWN_SETTINGS = ['trigger', 'strategy', 'eventFilter', 'messageFilter', 'defaultUserId']

const EXPECTATIONS = [
  'expect',
  'expectActiveIds',
  'expectArchived',
  'expectArchivedIds',
  'expectCount',
  'expectError',
  'expectIds',
  'expectPrompt',
  'expectPromptTypes',
  'expectSameAs',
  'expectStatus',
  'expectStrategyCalls',
  'expectTexts',
  'expectTokensSaved',
  'expectTypes',
  'expectedVersion',
]

interface Scene {
  readonly repository: SessionRepository
  readonly service: SessionService
  /** For a user whom sessions get that nobody named. */
  readonly serveDefaultUser: (userId: string) => SessionService
  /** A second service on the same store. */
  readonly openOther: () => Promise<SessionService>
  /** The sessions that steps named with `as`. */
  readonly sessions: Map<string, Session>
  readonly snapshots: Map<string, readonly SessionEvent[]>
  /** By session: the run that `before` began and `after` ends. */
  readonly runs: Map<string, MemoryRun>
}

export async function runServiceVector(original: VectorCase, harness: StoreHarness): Promise<void> {
  const steps = readSteps(original)
  for (const step of steps) {
    for (const setting of FOREIGN_SETTINGS) {
      if (asObject(step['advisor'])[setting] !== undefined) {
        throw new VectorSkipped(
          `${setting}: events are told by run and position, not by ${setting}`,
        )
      }
    }
    for (const setting of Object.keys(asObject(step['advisor']))) {
      if (!KNOWN_SETTINGS.includes(setting)) {
        throw new VectorSkipped(`the setting ${setting} of the memory is unknown`)
      }
    }
    requireKnownExpectations(step, EXPECTATIONS)
    if (step['op'] === 'archiveCopy') {
      throw new VectorSkipped('archiveCopy: an event is never copied, archived is derived')
    }
    if (!Object.hasOwn(OPERATIONS, String(step['op']))) {
      throw new VectorSkipped(`the step ${show(step['op'])} is unknown`)
    }
  }
  const { defaultTtlSeconds } = asObject(original['service'])
  const options = {
    ...(typeof defaultTtlSeconds === 'number' ? { timeToLive: defaultTtlSeconds * 1000 } : {}),
  }
  const opened: SessionRepository[] = []
  const open = async () => {
    const repository = await harness.open()
    opened.push(repository)
    return repository
  }
  const repository = await open()
  const scene: Scene = {
    repository,
    service: createSessionService(repository, options),
    serveDefaultUser: (defaultUserId) =>
      createSessionService(repository, { ...options, defaultUserId }),
    openOther: async () => createSessionService(await open(), options),
    sessions: new Map(),
    snapshots: new Map(),
    runs: new Map(),
  }
  try {
    for (const [index, step] of steps.entries()) {
      try {
        await OPERATIONS[String(step['op'])]?.(scene, step)
      } catch (error) {
        if (error instanceof VectorSkipped) throw error
        const message = error instanceof VectorFailure ? error.message : describeError(error)
        throw new VectorFailure(`step ${index + 1} (${String(step['op'])}): ${message}`)
      }
    }
  } finally {
    for (const each of opened) await each.close()
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']

/** The steps of the case, or of its alternative; the two kinds of prose that occur are read as steps. */
function readSteps(vectorCase: VectorCase): readonly Step[] {
  const steps = asList<Step>(vectorCase['steps'])
  const { alternative } = vectorCase
  if (alternative === undefined || alternative === null) return steps
  if (typeof alternative !== 'string') {
    const replaced = asObject(alternative)['steps']
    if (!Array.isArray(replaced)) throw new VectorSkipped('cannot read its alternative')
    return replaced
  }
  const order = /^full log order ([\w,-]+)$/.exec(alternative)?.[1]?.split(',')
  if (order !== undefined) {
    const last = steps.findLastIndex(({ op, filter }) => op === 'getEvents' && filter === undefined)
    return steps.map((step, index) => (index === last ? { ...step, expectIds: order } : step))
  }
  const refused = /^(\w+) step is an error mentioning the id; .*unchanged$/.exec(alternative)
  const place = ORDINALS.indexOf(refused?.[1] ?? '')
  const step = place < 0 ? undefined : steps[place]
  const id = asObject(step?.['args'])['id']
  if (step === undefined || typeof id !== 'string') {
    throw new VectorSkipped(`its alternative is prose: ${alternative}`)
  }
  const created = asObject(
    steps
      .slice(0, place)
      .find((other) => other['op'] === 'create' && asObject(other['args'])['id'] === id)?.['args'],
  )
  const { userId, metadata = {} } = created
  return steps.map((other, index) => {
    if (index === place) return { op: other['op'], args: other['args'], expectError: [id] }
    if (index < place) return other
    if (other['op'] === 'findById') return { ...other, expect: { userId, metadata } }
    if (other['op'] === 'findByUserId') {
      return { ...other, expectIds: other['userId'] === userId ? [id] : [] }
    }
    return other
  })
}

const OPERATIONS: Readonly<Record<string, (scene: Scene, step: Step) => Promise<void>>> = {
  async create(scene, step) {
    const { id, userId, ttlSeconds, metadata } = asObject(step['args'])
    const create = () =>
      scene.service.create({
        id: id as string,
        userId: userId as string,
        metadata: metadata as Record<string, unknown>,
        ...(typeof ttlSeconds === 'number' ? { timeToLive: ttlSeconds * 1000 } : {}),
      })
    await expectOutcome(step, create, (session) => {
      expectSession(session, step['expect'])
      if (typeof step['as'] === 'string') scene.sessions.set(step['as'], session)
    })
  },

  async findById(scene, step) {
    await expectOutcome(
      step,
      () => scene.service.findById(resolve(scene, step['id'])),
      (session) => {
        if (step['expectSameAs'] !== undefined) {
          expectSame(session, scene.sessions.get(String(step['expectSameAs'])), 'the session')
        } else if (step['expect'] === null) expectSame(session, null, 'the session')
        else expectSession(session, step['expect'])
      },
    )
  },

  async findByUserId(scene, step) {
    const userId = resolve(scene, step['userId'])
    await expectOutcome(
      step,
      () => scene.service.listSessions({ userId, order: 'created', limit: 1000 }),
      ({ sessions }) => {
        const ids = sessions.map(({ id }) => id)
        const expected = asList<string>(step['expectIds'])
        const isUnordered = step['unordered'] === true
        expectSame(
          isUnordered ? [...ids].sort() : ids,
          isUnordered ? [...expected].sort() : expected,
          'the ids',
        )
      },
    )
  },

  async delete(scene, step) {
    const id = resolve(scene, step['id'] ?? step['sessionId'])
    await expectOutcome(step, () => scene.service.delete(id))
  },

  async deleteExpired(scene, step) {
    const before = resolveInstant(step['before'])
    await expectOutcome(
      step,
      () => scene.service.deleteExpiredSessions({ before }),
      (count) => expectSame(count, step['expectCount'], 'how many were removed'),
    )
  },

  async save(scene, step) {
    const { id, userId, createdAt, expiresAt, metadata } = asObject(step['session'])
    const sessionId = resolve(scene, id)
    if ((await scene.service.findById(sessionId)) !== null) {
      await scene.service.update(sessionId, {
        metadata: metadata as Record<string, unknown>,
        expiresAt: expiresAt as string,
      })
      return
    }
    const created = Date.parse(String(createdAt))
    const lifetime = typeof expiresAt === 'string' ? Date.parse(expiresAt) - created : null
    await scene.repository.createSession(
      newSession({
        id: sessionId,
        userId: String(userId),
        metadata: JSON.stringify(metadata ?? {}),
        timeToLive: lifetime,
        now: created,
      }),
      { now: Date.now() },
    )
  },

  async append(scene, step) {
    const event = step['event'] as VectorEvent
    const sessionId = resolve(scene, step['sessionId'] ?? event.sessionId)
    await expectOutcome(step, () => scene.service.appendEvent(sessionId, toEventInput(event)))
  },

  async buildEvent(_scene, step) {
    const event = step['event'] as VectorEvent
    const sessionId = event.sessionId || 'another'
    await expectOutcome(step, async () =>
      prepareEvent(
        { ...toEventInput(event), sessionId: event.sessionId },
        { sessionId, id: event.id, now: Date.now(), path: '' },
      ),
    )
  },

  async getEvents(scene, step) {
    const sessionId = resolve(scene, step['sessionId'])
    const filter = (step['filter'] ?? {}) as EventFilterOptions
    await expectOutcome(
      step,
      () => scene.service.getEvents(sessionId, filter),
      (events) => {
        expectEvents(events, step)
        if (typeof step['as'] === 'string') scene.snapshots.set(step['as'], events)
      },
    )
  },

  async checkSnapshot(scene, step) {
    const events = scene.snapshots.get(String(step['name'] ?? step['as']))
    if (events === undefined) throw new VectorFailure('there is no such snapshot')
    expectEvents(events, step)
  },

  async getMessages(scene, step) {
    const sessionId = resolve(scene, step['sessionId'])
    const filter = (step['filter'] ?? {}) as EventFilterOptions
    await expectOutcome(
      step,
      () => scene.service.getMessages(sessionId, filter),
      (messages) => {
        if (step['expectTexts'] !== undefined) {
          expectSame(messages.map(messageText), step['expectTexts'], 'the texts')
        }
        if (step['expectTypes'] !== undefined) {
          expectSame(
            messages.map(({ role }) => role),
            step['expectTypes'],
            'the types',
          )
        }
      },
    )
  },

  async version(scene, step) {
    const sessionId = resolve(scene, step['sessionId'])
    await expectOutcome(
      step,
      () => scene.service.getEventVersion(sessionId),
      (version) => expectSame(version, step['expect'], 'the version'),
    )
  },

  /** The swap of the original: our commit of a boundary, at the version that is expected. */
  async compactEvents(scene, step) {
    const sessionId = resolve(scene, step['sessionId'])
    const swap = async () => {
      const session = await scene.repository.findSession(sessionId, { now: Date.now() })
      const log = session === null ? [] : await scene.service.getEvents(sessionId)
      const seqOf = new Map(log.map(({ id, seq }) => [id, seq]))
      const isSummary = new Map(log.map(({ id, synthetic }) => [id, synthetic]))
      const summaries: string[] = []
      const kept: number[] = []
      const added = []
      for (const item of asList<string | VectorEvent>(step['retain'])) {
        const id = typeof item === 'string' ? item : item.id
        const seq = seqOf.get(id)
        if (seq === undefined && typeof item !== 'string') {
          const input = toEventInput(item)
          const { record } = prepareEvent(input, { sessionId, id, now: Date.now(), path: '' })
          added.push(record)
          if (record.synthetic) summaries.push(id)
        } else if (isSummary.get(id) === true) summaries.push(id)
        else if (seq !== undefined) kept.push(seq)
      }
      try {
        await scene.repository.commit(sessionId, {
          now: Date.now(),
          events: added,
          expectedVersion: step['expectedVersion'] as number | undefined,
          operationId: crypto.randomUUID(),
          boundary: {
            summaries,
            kept: rangesOf(kept),
            through: session?.lastSeq ?? 0,
            rewound: [],
          },
        })
        return true
      } catch (error) {
        if (isSessionError(error) && error.code === 'VERSION_CONFLICT') return false
        throw error
      }
    }
    await expectOutcome(step, swap, (swapped) => {
      expectSame(swapped, step['expect'] ?? true, 'whether it took place')
    })
  },

  async compact(scene, step) {
    const sessionId = resolve(scene, step['sessionId'])
    const record = newModelRecord()
    const strategy = buildStrategy(step['strategy'], record)
    let calls = 0
    const run = () =>
      scene.service.compact(sessionId, {
        trigger: buildTrigger(step['trigger'] ?? 'always'),
        estimateTokens: countTags,
        strategy: async (view, context) => {
          calls++
          const during = step['appendDuring']
          for (const event of asList<VectorEvent>(during)) {
            await scene.service.appendEvent(sessionId, toEventInput(event))
          }
          if (step['compactDuring'] !== undefined) {
            const other = await scene.openOther()
            await other.compact(sessionId, {
              trigger: () => true,
              strategy: buildStrategy(step['compactDuring'], newModelRecord()),
            })
          }
          return strategy(view, context)
        },
      })
    await expectOutcome(step, run, (result) => {
      const idsOf = (events: readonly SessionEvent[]) => events.map(({ id }) => id)
      if (step['expectArchivedIds'] !== undefined) {
        expectSame(idsOf(result.archivedEvents), step['expectArchivedIds'], 'the archived events')
      }
      if (step['expectActiveIds'] !== undefined) {
        expectSame(idsOf(result.compactedEvents), step['expectActiveIds'], 'the view')
      }
      if (step['expectStrategyCalls'] !== undefined) {
        expectSame(calls, step['expectStrategyCalls'], 'how often the strategy was asked')
      }
      if (step['expectTokensSaved'] !== undefined) {
        expectSame(result.tokensEstimatedSaved, step['expectTokensSaved'], 'tokensEstimatedSaved')
      }
      if (step['expectStatus'] !== undefined) {
        expectSame(result.status, step['expectStatus'], 'the status')
      }
    })
  },

  async messageFilter(_scene, step) {
    if (step['expectError'] !== undefined) {
      await expectOutcome(step, async () => buildMessageFilter(step['filter']))
      return
    }
    const filter = buildMessageFilter(step['filter'])
    for (const [message, expected] of asList<readonly [VectorMessage, boolean]>(step['cases'])) {
      expectSame(filter(toMessage(message)), expected, `for ${show(message)}`)
    }
  },

  async buildAdvisor(scene, step) {
    await expectOutcome(step, async () => buildMemory(scene, step['advisor']))
  },

  async before(scene, step) {
    const { sessionId, userId, eventFilter } = asObject(step['context'])
    const begin = async () =>
      buildMemory(scene, step['advisor']).begin({
        sessionId: resolve(scene, sessionId),
        userId: userId as string,
        filter: eventFilter as EventFilterOptions,
        messages: asList<VectorMessage>(step['prompt']).map(toMessage),
      })
    await expectOutcome(step, begin, (run) => {
      scene.runs.set(resolve(scene, sessionId), run)
      const prompt = [...run.system, ...run.messages]
      if (step['expectPrompt'] !== undefined) {
        expectSame(prompt.map(messageText), step['expectPrompt'], 'the prompt')
      }
      if (step['expectPromptTypes'] !== undefined) {
        expectSame(
          prompt.map(({ role }) => role),
          step['expectPromptTypes'],
          'the types of the prompt',
        )
      }
    })
  },

  async after(scene, step) {
    const { sessionId, userId } = asObject(step['context'])
    const id = resolve(scene, sessionId)
    const end = async () => {
      const run = scene.runs.get(id) ?? (await beginNothing(scene, step, id, userId))
      scene.runs.delete(id)
      const { results } = step
      return run.end(results === null ? null : asList<VectorMessage>(results).map(toMessage))
    }
    await expectOutcome(step, end)
  },

  async constants(_scene, step) {
    const constants: Readonly<Record<string, unknown>> = {
      sessionId: CONVERSATION_ID,
      defaultPageSize: EventFilter.DEFAULT_PAGE_SIZE,
      maxQueryTerms: MAX_QUERY_TERMS,
      metadataSynthetic: METADATA_SYNTHETIC,
      metadataCompactionSource: METADATA_COMPACTION_SOURCE,
    }
    for (const [name, value] of Object.entries(asObject(step['expect']))) {
      // User and filter are arguments of `begin`, so that no context key stands for them.
      if (Object.hasOwn(constants, name)) expectSame(constants[name], value, name)
    }
  },
}

/**
 * `after` without a `before`: a run that says nothing. A session that is missing then is missing for
 * the reply as well.
 */
async function beginNothing(
  scene: Scene,
  step: Step,
  sessionId: string,
  userId: unknown,
): Promise<MemoryRun> {
  const exists = (await scene.service.findById(sessionId)) !== null
  const run = await buildMemory(scene, step['advisor']).begin({
    sessionId,
    userId: userId as string,
    messages: [],
  })
  if (!exists) await scene.service.delete(sessionId)
  return run
}

/** A memory as the original's `advisor` settings describe it. */
function buildMemory(scene: Scene, advisor: unknown): SessionMemory {
  const { trigger, strategy, eventFilter, messageFilter, defaultUserId } = asObject(advisor)
  return createSessionMemory(scene.serveDefaultUser(String(defaultUserId ?? DEFAULT_USER)), {
    ...(trigger === undefined ? {} : { trigger: trigger && buildTrigger(trigger) }),
    ...(strategy === undefined
      ? {}
      : { strategy: strategy && buildStrategy(strategy, newModelRecord()) }),
    ...(eventFilter === undefined ? {} : { filter: eventFilter as EventFilterOptions }),
    ...(messageFilter === undefined ? {} : { messageFilter: buildMessageFilter(messageFilter) }),
  })
}

/** Runs a step and looks at its error or its result, as the step says. */
async function expectOutcome<T>(
  step: Step,
  run: () => Promise<T>,
  check: (result: T) => void = () => undefined,
): Promise<void> {
  const isError = step['expectError'] !== undefined || step['expect'] === 'error'
  if (isError) expectMentions(await expectThrown(run, 'it'), mentionsOf(step['expectError']), 'it')
  else check(await run())
}

/** Parameters that have another name here. */
function mentionsOf(words: unknown): unknown {
  return words === true ? [] : words
}

function expectSession(session: Session | null, expected: unknown): void {
  if (expected === undefined || expected === 'ok') return
  if (session === null) throw new VectorFailure(`expected a session with ${show(expected)}`)
  for (const [field, value] of Object.entries(asObject(expected))) {
    if (field === 'idIsUuid') {
      expectTrue(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(session.id), 'a UUID')
    } else if (field === 'ttlSeconds') {
      const lifetime = Number(session.expiresAt) - Number(session.createdAt)
      expectSame(lifetime, Number(value) * 1000, 'the lifetime in milliseconds')
    } else if (field === 'expiresAt' || field === 'createdAt') {
      const time = session[field]
      expectSame(
        time === null ? null : time.getTime(),
        value === null ? null : Date.parse(String(value)),
        field,
      )
    } else {
      expectSame((session as unknown as Readonly<Record<string, unknown>>)[field], value, field)
    }
  }
}

function expectEvents(events: readonly SessionEvent[], step: Step): void {
  if (step['expectIds'] !== undefined) {
    expectSame(
      events.map(({ id }) => id),
      step['expectIds'],
      'the ids',
    )
  }
  if (step['expectArchived'] !== undefined) {
    expectSame(
      events.filter(({ archived }) => archived).map(({ id }) => id),
      step['expectArchived'],
      'the archived ids',
    )
  }
  if (step['expectTypes'] !== undefined) {
    expectSame(
      events.map(({ message }) => message.role),
      step['expectTypes'],
      'the types',
    )
  }
  if (step['expectTexts'] !== undefined) {
    expectSame(
      events.map(({ message }) => messageText(message)),
      step['expectTexts'],
      'the texts',
    )
  }
}

/** `$x` is the id of the session created `as: "x"`. */
function resolve(scene: Scene, value: unknown): string {
  if (typeof value !== 'string' || !value.startsWith('$')) return value as string
  const session = scene.sessions.get(value.slice(1))
  if (session === undefined) throw new VectorFailure(`no step named ${value}`)
  return session.id
}

function resolveInstant(value: unknown): Date | string {
  return value === '$now' || value === undefined ? new Date() : String(value)
}
