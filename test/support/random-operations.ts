// Drives random operations, in any order, against a store and against the naive one, and compares every
// answer. Runs in Node, in a browser and in workerd.
import fc from 'fast-check'
import {
  type EventFilterOptions,
  isSessionError,
  type MessageType,
  type SessionEvent,
  type SessionService,
} from 'turnlog'
import { createSessionService, type SeqRange, type SessionRepository } from 'turnlog/store'
import type { StoreHarness } from 'turnlog/testing'
import { expect } from 'vitest'
import { NaiveFailure, type NaiveSession, NaiveStore, type NaiveView } from './naive-store.ts'

const SESSIONS = ['s', 'S', 's/1', 'nul\u0000', 'nul\u0000\u0000', 'nowhere'] as const
const USERS = ['ana', 'bo', 'anaa'] as const
const EVENT_IDS = ['a', 'b', 'A', '1', '01', 'é', 'e\u0301', 'x/y', 'long '.repeat(20)] as const
const BRANCHES = [null, null, null, '', 'a', 'a.b', 'a.bc', 'b_', 'b%', '5'] as const
const ROLES: readonly MessageType[] = ['user', 'assistant', 'system', 'tool']
const WORDS = [
  'red',
  'RED',
  'Straße',
  'STRASSE',
  '悬空',
  '空',
  'café',
  'cafe\u0301',
  'a',
  '100%',
  '👩‍👧',
  '\n',
] as const
const KEYWORDS = [...WORDS, 're', 'd S', '空a', 'nowhere', ' ', '%', '_', 'strasse'] as const
const OPERATION_IDS = [undefined, undefined, 'op1', 'op2', 'op3'] as const

/** A fixed time, so that a failure is repeated exactly. */
const START = Date.UTC(2026, 2, 2)

const sessionId = fc.constantFrom(...SESSIONS, 's', 's', 's', 's', 's', 'S')
const eventId = fc.oneof(
  fc.constantFrom(...EVENT_IDS),
  fc.nat(40).map((index) => `e${index}`),
)
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(' '))
const timestamp = fc.integer({ min: -3, max: 12 }).map((step) => START + step * 1000)

const newEvent = fc.record({
  id: eventId,
  text,
  timestamp,
  role: fc.constantFrom(...ROLES),
  branch: fc.constantFrom(...BRANCHES),
  synthetic: fc.constantFrom(false, false, false, true),
})

/** A criterion that most filters do not have. */
const sometimes = <T>(criterion: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: criterion })

const filter: fc.Arbitrary<EventFilterOptions> = fc
  .record({
    from: sometimes(timestamp),
    to: sometimes(timestamp),
    messageTypes: sometimes(fc.subarray([...ROLES])),
    excludeSynthetic: sometimes(fc.boolean()),
    excludeArchived: fc.boolean(),
    excludeRewound: sometimes(fc.boolean()),
    keyword: sometimes(fc.constantFrom(...KEYWORDS)),
    keywords: sometimes(fc.array(fc.constantFrom(...KEYWORDS), { maxLength: 3 })),
    matchMode: fc.constantFrom('any' as const, 'all' as const),
    branch: sometimes(fc.constantFrom('', 'a', 'a.b', 'a.b.c', 'b_', 'c', '5')),
    cut: fc.oneof(
      fc.constant({}),
      fc.record({ lastN: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ page: fc.nat(3), pageSize: fc.integer({ min: 1, max: 6 }) }),
    ),
  })
  .map(({ cut, ...rest }) => ({ ...rest, ...cut }))

/** Picks some of the events that there are then: bit `seq % 32` of the mask. */
const subset = fc.nat(0xffff_ffff)

const boundary = fc.record({
  summaries: fc.array(newEvent, { maxLength: 2 }),
  storedSummaries: fc.array(fc.nat(40), { maxLength: 1 }),
  unknownSummary: fc.constantFrom(false, false, false, false, true),
  kept: subset,
  rewound: sometimes(subset),
  behind: fc.constantFrom(0, 0, 1, 3),
  beyond: fc.constantFrom(0, 0, 0, 5),
})

const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      id: sessionId,
      userId: fc.constantFrom(...USERS),
      lifetime: fc.constantFrom(null, null, 5000, 5000, 60_000),
      sliding: fc.boolean(),
      metadata: fc.dictionary(
        fc.constantFrom('a', 'b', '1'),
        fc.constantFrom<unknown>(1, 'x', [null]),
      ),
      orFind: fc.boolean(),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      id: sessionId,
      events: fc.array(newEvent, { maxLength: 10 }),
      expected: fc.constantFrom(null, null, null, 'current' as const, 0, 3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('appendBoth' as const),
      id: sessionId,
      first: fc.array(newEvent, { minLength: 1, maxLength: 4 }),
      second: fc.array(newEvent, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('boundary' as const),
      id: sessionId,
      boundary,
      events: fc.array(newEvent, { maxLength: 2 }),
      operationId: fc.constantFrom(...OPERATION_IDS),
      expectedVersion: fc.constantFrom(undefined, undefined, undefined, 'current' as const, 1),
      expectedBoundary: fc.constantFrom(undefined, undefined, 'current' as const, null, 'op1'),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      id: sessionId,
      filter,
      afterSeq: fc.constantFrom(null, null, null, 0, 2, 9),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('recall' as const),
      userId: fc.constantFrom(...USERS),
      filter,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      userId: fc.constantFrom(...USERS),
      order: fc.constantFrom('recent' as const, 'created' as const),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      id: sessionId,
      metadata: fc.option(
        fc.dictionary(fc.constantFrom('a', 'b', '1'), fc.constantFrom<unknown>(2, null, { c: [] })),
        { nil: undefined },
      ),
      lifetime: fc.constantFrom(undefined, undefined, null, -1, 4000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('erase' as const), id: sessionId, eventId }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), id: sessionId }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('deleteUser' as const),
      userId: fc.constantFrom(...USERS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('sweep' as const),
      ahead: fc.constantFrom(0, 3000, -3000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(1, 999, 4000, 5000, 60_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('inspect' as const),
      id: sessionId,
      eventId,
      beforeSeq: fc.nat(20),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('evict' as const) }) },
)

type GeneratedEvent = typeof newEvent extends fc.Arbitrary<infer T> ? T : never
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never
type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** What most sequences begin with, so that they do not only ask for what is not there. */
const usualStart: fc.Arbitrary<readonly Operation[]> = fc
  .tuple(
    fc.array(newEvent, { minLength: 4, maxLength: 14 }),
    fc.array(newEvent, { maxLength: 6 }),
    fc.array(newEvent, { maxLength: 3 }),
  )
  .map(([ofFirst, ofSecond, ofOther]) => {
    const start = (
      id: (typeof SESSIONS)[number],
      userId: (typeof USERS)[number],
      lifetime: null | 5000 | 60_000,
      events: readonly GeneratedEvent[],
    ): readonly Operation[] => [
      { kind: 'create', id, userId, lifetime, sliding: true, metadata: {}, orFind: false },
      { kind: 'append', id, events: [...events], expected: null },
    ]
    return [
      ...start('s', 'ana', null, ofFirst),
      ...start('S', 'ana', 60_000, ofSecond),
      ...start('nul\u0000', 'bo', 5000, ofOther),
    ]
  })

export interface RandomOperationsOptions {
  /** How many random sequences. Default 300, or `TURNLOG_RUNS`. */
  readonly runs?: number | undefined
  /** How many operations a sequence has at most. Default 30. */
  readonly maxLength?: number | undefined
  /** Repeats one failure. */
  readonly seed?: number | undefined
  /** Whether a failure is made as small as possible before it is shown. Default `true`. */
  readonly shrink?: boolean | undefined
}

/** Fails with the smallest sequence of operations that a store answers otherwise than the naive one. */
export async function checkRandomOperations(
  harness: StoreHarness,
  options: RandomOperationsOptions = {},
): Promise<void> {
  const { runs = 300, maxLength = 30, seed, shrink = true } = options
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 4, arbitrary: usualStart }),
      fc.array(fc.tuple(operation, fc.boolean()), { maxLength, size: 'max' }),
      async (opening, steps) => {
        await harness.reset()
        const run = new Run(harness)
        try {
          await run.start()
          for (const step of opening) await run.perform(step, false)
          for (const [step, onSecond] of steps) await run.perform(step, onSecond)
          await run.compareEverything()
        } finally {
          await run.close()
        }
      },
    ),
    { numRuns: runs, endOnFailure: !shrink, ...(seed === undefined ? {} : { seed }) },
  )
}

/** What either side answers: a value, or the code of an error. */
type Answer = { readonly value: unknown } | { readonly error: string }

/** One sequence of operations against two instances of the store and the naive one. */
class Run {
  readonly #naive = new NaiveStore(START)
  readonly #harness: StoreHarness
  #repositories: SessionRepository[] = []
  #services: SessionService[] = []

  constructor(harness: StoreHarness) {
    this.#harness = harness
  }

  async start(): Promise<void> {
    this.#repositories = [await this.#harness.open(), await this.#harness.open()]
    this.#services = this.#repositories.map((repository) =>
      createSessionService(repository, {
        now: () => this.#naive.now,
        onDamage: (damage) => {
          throw new Error(`unexpected damage: ${JSON.stringify(damage)}`)
        },
      }),
    )
  }

  async close(): Promise<void> {
    for (const repository of this.#repositories) await repository.close()
  }

  async perform(step: Operation, onSecond: boolean): Promise<void> {
    const index = onSecond ? 1 : 0
    const service = this.#services[index] as SessionService
    const repository = this.#repositories[index] as SessionRepository
    switch (step.kind) {
      case 'create':
        return this.#create(step, service)
      case 'append':
        return this.#append(step, service)
      case 'appendBoth':
        return this.#appendBoth(step)
      case 'boundary':
        return this.#boundary(step, repository)
      case 'read':
        return this.#read(step, service)
      case 'recall':
        return this.#recall(step, repository)
      case 'list':
        return this.#list(step, service)
      case 'update':
        return this.#update(step, service)
      case 'erase':
        return this.#compare(
          () => service.eraseEvent(step.id, step.eventId),
          () => this.#naive.erase(step.id, step.eventId),
        )
      case 'delete':
        return this.#compare(
          () => service.delete(step.id),
          () => this.#naive.remove(({ id }) => id === step.id) > 0,
        )
      case 'deleteUser':
        return this.#compare(
          () => service.deleteUser(step.userId),
          () => this.#naive.remove(({ userId }) => userId === step.userId),
        )
      case 'sweep': {
        const before = this.#naive.now + step.ahead
        return this.#compare(
          () => service.deleteExpiredSessions({ before }),
          () => this.#naive.remove(({ expiresAt }) => expiresAt !== null && expiresAt <= before),
        )
      }
      case 'wait':
        this.#naive.now += step.milliseconds
        return
      case 'inspect':
        return this.#inspect(step, service, repository)
      case 'reopen':
        await this.close()
        return this.start()
      case 'evict':
        return this.#harness.evict?.()
    }
  }

  /** The whole of both, as the sequence left it. */
  async compareEverything(): Promise<void> {
    for (const [index, service] of this.#services.entries()) {
      for (const id of SESSIONS) {
        const inspection = { kind: 'inspect', id, eventId: 'a', beforeSeq: 5 } as const
        await this.perform(inspection, index === 1)
        for (const excludeArchived of [false, true]) {
          await this.#compare(
            async () => (await service.getEvents(id, { excludeArchived })).map(toView),
            () => this.#naive.read(id, { excludeArchived }),
          )
        }
      }
      for (const userId of USERS) {
        await this.#list({ kind: 'list', userId, order: 'recent', limit: 3 }, service)
      }
    }
  }

  #create(step: OperationOf<'create'>, service: SessionService): Promise<void> {
    const { id, userId, metadata, lifetime, sliding, orFind } = step
    const timeToLive = sliding && lifetime !== null ? { sliding: lifetime } : lifetime
    return this.#compare(
      () =>
        orFind
          ? service.findOrCreate({ id, userId, metadata, timeToLive })
          : service.create({ id, userId, metadata, timeToLive }),
      () => {
        const found = orFind ? this.#naive.find(id) : null
        if (found !== null && found.userId !== userId) throw new NaiveFailure('NOT_OWNER')
        return describeSession(found ?? this.#naive.create(step))
      },
    )
  }

  #append(step: OperationOf<'append'>, service: SessionService): Promise<void> {
    const { id, events, expected } = step
    const expectedVersion =
      expected === 'current' ? (this.#naive.find(id)?.version ?? 0) : (expected ?? undefined)
    return this.#compare(
      async () =>
        (await service.appendEvents(id, events.map(toInput), { expectedVersion })).map(toView),
      () => this.#viewsOf(id, this.#naive.commit(id, { events, expectedVersion })),
    )
  }

  /** Two instances append at the same time: one was first, and that holds for everybody. */
  async #appendBoth({ id, first, second }: OperationOf<'appendBoth'>): Promise<void> {
    const [one, two] = this.#services as [SessionService, SessionService]
    if (this.#naive.find(id) === null) {
      const append = () => one.appendEvents(id, first.map(toInput))
      return this.#compare(append, () => this.#naive.commit(id, { events: first }))
    }
    await Promise.all([
      one.appendEvents(id, first.map(toInput)),
      two.appendEvents(id, second.map(toInput)),
    ])
    const log = (await one.getEvents(id)).map(toView)
    const orders = [
      [first, second],
      [second, first],
    ]
    const outcomes = orders.map((batches) => {
      const copy = this.#naive.copyFor(id)
      for (const events of batches) copy.commit(id, { events })
      return copy
    })
    const matching = outcomes.find((copy) => contentsOf(copy.log(id)) === contentsOf(log))
    const outcome = matching ?? (outcomes[0] as NaiveStore)
    expect(log).toEqual(outcome.log(id))
    this.#naive.sessions = outcome.sessions
  }

  #boundary(step: OperationOf<'boundary'>, repository: SessionRepository): Promise<void> {
    const { id, operationId } = step
    const session = this.#naive.find(id)
    const { summaries, storedSummaries, unknownSummary, ...rest } = step.boundary
    const lastSeq = session?.events.length ?? 0
    const seqs = Array.from({ length: lastSeq + rest.beyond }, (_, index) => index + 1)
    const pick = (mask: number) => seqs.filter((seq) => ((mask >>> (seq % 32)) & 1) === 1)
    const through = Math.max(0, lastSeq - rest.behind) + rest.beyond
    const kept = pick(rest.kept)
    const rewound = (rest.rewound === null ? [] : pick(rest.rewound)).filter(
      (seq) => seq <= through,
    )
    const events = [...summaries.map((event) => ({ ...event, synthetic: true })), ...step.events]
    const summaryIds = [
      ...storedSummaries.flatMap((place) => session?.events[place % (lastSeq || 1)]?.id ?? []),
      ...summaries.map((event) => event.id),
      ...(unknownSummary ? ['an unknown summary'] : []),
    ]
    const expectedVersion =
      step.expectedVersion === 'current' ? (session?.version ?? 0) : step.expectedVersion
    const expectedBoundary =
      step.expectedBoundary === 'current'
        ? (session?.boundaries.at(-1)?.id ?? null)
        : step.expectedBoundary
    // Which id an unnamed boundary gets is for the store to say.
    const named = operationId ?? `named-${session?.boundaries.length ?? 0}-${lastSeq}`
    return this.#compare(
      async () => {
        const result = await repository.commit(id, {
          now: this.#naive.now,
          operationId: named,
          expectedVersion,
          expectedBoundary,
          events: events.map(toRecord),
          boundary: {
            summaries: summaryIds,
            kept: toRanges(kept),
            through,
            rewound: toRanges(rewound),
          },
        })
        return {
          version: result.session.version,
          expiresAt: result.session.expiresAt,
          events: result.events.map(({ seq, archived, rewound }) => [seq, archived, rewound]),
        }
      },
      () => {
        const added = this.#naive.commit(id, {
          operationId: named,
          expectedVersion,
          expectedBoundary,
          events,
          boundary: {
            summaries: summaryIds,
            kept: new Set(kept),
            through,
            rewound: new Set(rewound),
          },
        })
        const { version, expiresAt } = this.#naive.get(id)
        return {
          version,
          expiresAt,
          events: this.#viewsOf(id, added).map(({ seq, archived, rewound }) => [
            seq,
            archived,
            rewound,
          ]),
        }
      },
    )
  }

  #read(step: OperationOf<'read'>, service: SessionService): Promise<void> {
    const { id, filter: options, afterSeq } = step
    return this.#compare(
      async () => {
        if (afterSeq === null) return (await service.getEvents(id, options)).map(toView)
        const events: NaiveView[] = []
        for await (const event of service.iterateEvents(id, options, { afterSeq })) {
          events.push(toView(event))
        }
        return events
      },
      () => this.#naive.read(id, options, afterSeq ?? 0),
    )
  }

  #recall(step: OperationOf<'recall'>, repository: SessionRepository): Promise<void> {
    const { lastN: _, ...options } = step.filter
    const limit = options.pageSize ?? 10
    const page = options.page ?? 0
    const service = createSessionService(repository, { now: () => this.#naive.now })
    return this.#compare(
      async () =>
        (
          await service.recallEvents({ ...options, page, pageSize: limit }, { userId: step.userId })
        ).map(toView),
      () => this.#naive.recall(step.userId, options).slice(page * limit, (page + 1) * limit),
    )
  }

  #list(step: OperationOf<'list'>, service: SessionService): Promise<void> {
    const { userId, order, limit } = step
    return this.#compare(
      async () => {
        const sessions = []
        for (let cursor: string | null = null, pages = 0; pages < 20; pages++) {
          const page = await service.listSessions({ userId, order, limit, cursor })
          sessions.push(...page.sessions)
          cursor = page.cursor
          if (cursor === null) return sessions
        }
        return 'pages that never end'
      },
      () => this.#naive.list(userId, order).map(describeSession),
    )
  }

  #update(step: OperationOf<'update'>, service: SessionService): Promise<void> {
    const { id, metadata, lifetime } = step
    const expiresAt =
      lifetime === undefined || lifetime === null ? lifetime : this.#naive.now + lifetime
    return this.#compare(
      () => service.update(id, { metadata, expiresAt }),
      () => describeSession(this.#naive.update(id, { metadata, expiresAt })),
    )
  }

  async #inspect(
    step: OperationOf<'inspect'>,
    service: SessionService,
    repository: SessionRepository,
  ): Promise<void> {
    const { id, eventId: wanted, beforeSeq } = step
    const { now } = this.#naive
    await this.#compare(
      () => service.findById(id),
      () => {
        const session = this.#naive.find(id)
        return session === null ? null : describeSession(session)
      },
    )
    await this.#compare(
      () => service.getEventVersion(id),
      () => this.#naive.find(id)?.version ?? 0,
    )
    await this.#compare(
      async () => {
        const event = await repository.findEvent(id, wanted, { now })
        return event === null ? null : [event.seq, event.archived, event.rewound]
      },
      () => {
        const event = this.#naive.log(id).find((other) => other.id === wanted)
        return event === undefined ? null : [event.seq, event.archived, event.rewound]
      },
    )
    await this.#compare(
      async () => ({
        all: (await repository.readBoundaries(id, { now })).map(({ position }) => position),
        before: (await repository.readBoundaries(id, { now, beforeSeq })).map(
          ({ position }) => position,
        ),
      }),
      () => {
        const before = this.#naive.boundaryBefore(id, beforeSeq)
        return {
          all: this.#naive.get(id).boundaries.map(({ position }) => position),
          before: before === null ? [] : [before.position],
        }
      },
    )
  }

  #viewsOf(id: string, seqs: readonly (number | null)[]): readonly NaiveView[] {
    const log = this.#naive.log(id)
    return seqs.flatMap((seq) => (seq === null ? [] : (log[seq - 1] ?? [])))
  }

  /** Asks both and expects the same value, or the same error. */
  async #compare(ask: () => Promise<unknown>, askNaive: () => unknown): Promise<void> {
    let actual: Answer
    try {
      actual = { value: (await ask()) ?? null }
    } catch (error) {
      if (!isSessionError(error)) throw error
      actual = { error: error.code }
    }
    let expected: Answer
    try {
      expected = { value: askNaive() ?? null }
    } catch (error) {
      if (!(error instanceof NaiveFailure)) throw error
      expected = { error: error.code }
    }
    expect(actual).toEqual(expected)
  }
}

function toInput(event: GeneratedEvent) {
  const { id, text: content, timestamp: time, role, branch, synthetic } = event
  return { id, message: { role, content }, timestamp: time, branch, synthetic }
}

function toRecord(event: GeneratedEvent) {
  const { id, text: content, timestamp: time, role, branch, synthetic } = event
  const metadata = synthetic ? { synthetic: true } : {}
  const body = JSON.stringify({ message: { role, content }, metadata })
  return { id, timestamp: time, role, branch, synthetic, body }
}

function toView(event: SessionEvent): NaiveView {
  const { metadata, ...rest } = event
  return {
    ...rest,
    message: event.message as NaiveView['message'],
    erased: metadata['erased'] === true,
  }
}

function describeSession(session: NaiveSession) {
  const { id, userId, createdAt, expiresAt, metadata, events } = session
  const last = events.at(-1)
  return {
    id,
    userId,
    createdAt: new Date(createdAt),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    metadata,
    eventCount: events.length,
    lastEventAt: last === undefined ? null : new Date(last.timestamp),
  }
}

function toRanges(seqs: readonly number[]): readonly SeqRange[] {
  const ranges: [number, number][] = []
  for (const seq of seqs) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === seq - 1) last[1] = seq
    else ranges.push([seq, seq])
  }
  return ranges
}

/** Which events there are, and from whom each is. */
function contentsOf(log: readonly NaiveView[]): string {
  return JSON.stringify(
    log.map(({ id, timestamp, message, branch, synthetic }) => {
      return [id, timestamp, message.role, message.content, branch, synthetic]
    }),
  )
}
