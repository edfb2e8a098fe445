// Random logs through three compactions and a rewind in a row, with every strategy and with nonsense.
import fc from 'fast-check'
import {
  type CompactionStrategy,
  formatEvent,
  recursiveSummarization,
  type SessionEvent,
  slidingWindow,
  tokenCount,
  turnWindow,
} from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'
import { LogWitness } from '../../support/log-invariants.ts'
import { patient, type RandomEvent, randomLog, runs } from '../../support/random-conversation.ts'
import { findUnsafe, requiredOf, turnsOf } from '../../support/turn-safety.ts'

interface Case {
  readonly strategy: CompactionStrategy
  /** What a strategy promises of the view that it leaves, the newest turn and what it needs aside. */
  readonly fits: (kept: readonly SessionEvent[]) => boolean
}

const real = (events: readonly SessionEvent[]) => events.filter((event) => !event.synthetic)
const ofRoot = (events: readonly SessionEvent[]) =>
  real(events).filter((event) => event.branch === null)
const cost = (events: readonly SessionEvent[]) =>
  events.reduce((sum, event) => sum + formatEvent(event).length, 0)

const size = fc.integer({ min: 1, max: 9 })

const cases: Readonly<Record<string, fc.Arbitrary<Case>>> = {
  slidingWindow: size.map((maxEvents) => ({
    strategy: slidingWindow({ maxEvents }),
    fits: (kept) => ofRoot(kept).length <= maxEvents,
  })),
  turnWindow: size.map((maxTurns) => ({
    strategy: turnWindow({ maxTurns }),
    fits: (kept) =>
      real(kept).filter(({ message, branch }) => message.role === 'user' && branch === null)
        .length <= maxTurns,
  })),
  tokenCount: fc.integer({ min: 1, max: 400 }).map((maxTokens) => ({
    strategy: tokenCount({ maxTokens, estimateTokens: (text) => text.length }),
    fits: (kept) => cost(kept) <= maxTokens,
  })),
  recursiveSummarization: size.map((maxEventsToKeep) => ({
    strategy: recursiveSummarization({
      maxEventsToKeep,
      overlapSize: maxEventsToKeep - 1,
      summarize: ({ prompt }) => `A summary of ${prompt.length} characters.`,
    }),
    fits: (kept) => ofRoot(kept).length <= maxEventsToKeep,
  })),
}

/** Proposals that no sane strategy makes. */
const nonsense: fc.Arbitrary<CompactionStrategy> = fc
  .tuple(
    fc.infiniteStream(fc.boolean()),
    fc.constantFrom('subset', 'unknown', 'repeated', 'reversed', 'wrecked'),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([flags, kind, count]) => (view) => {
    const ids = view.map(({ id }) => id).filter(() => flags.next().value === true)
    const summaries = Array.from({ length: count }, (_, index) => ({
      message: { role: 'user' as const, content: `nonsense ${index}` },
      metadata: { index },
    }))
    if (kind === 'unknown') return { summaries, keep: [...ids, 'nobody', ''] }
    if (kind === 'repeated') return { summaries, keep: [...ids, ...ids] }
    if (kind === 'reversed') return { summaries, keep: [...ids].reverse() }
    if (kind === 'wrecked') (view as SessionEvent[]).length = 0
    return { summaries, keep: ids }
  })

const logs = fc.tuple(randomLog, randomLog, randomLog)
const anyTarget = fc.tuple(fc.nat(), fc.boolean())

async function runThrough(
  strategy: CompactionStrategy,
  portions: readonly (readonly RandomEvent[])[],
  [target, isBefore]: readonly [number, boolean],
  fits: Case['fits'] | null,
): Promise<void> {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  const witness = new LogWitness(service, 's')
  let number = 0
  for (const portion of portions) {
    await service.appendEvents(
      's',
      portion.map((event) => ({ ...event, id: `e${++number}` })),
    )
    const { view } = await witness.check()
    const result = await service.compact('s', { trigger: () => true, strategy })
    expect(['compacted', 'nothing-to-archive']).toContain(result.status)
    const after = await witness.check()
    expect(after.view).toEqual(result.compactedEvents)

    const kept = new Set(after.view.map(({ id }) => id))
    expect(findUnsafe(view, kept)).toEqual([])
    expect(result.archivedEvents.map(({ id }) => id)).toEqual(
      view.map(({ id }) => id).filter((id) => !kept.has(id)),
    )
    expect(result.eventsRemoved).toBe(result.archivedEvents.length)
    if (fits === null) continue
    const summaries = view.filter((event) => event.synthetic)
    if (fits([...summaries, ...real(view)])) expect(result.status).toBe('nothing-to-archive')
    // No more than promised, the newest turn and what belongs to it aside.
    const forced = requiredOf(view)
    const old = after.view.filter((event) => !isNew(event, view))
    expect(fits(old.filter((event) => event.synthetic || !hasId(forced, event)))).toBe(true)
    if (isOneTurn(forced, view) && !fits(old)) {
      expect(real(old).every((event) => hasId(forced, event))).toBe(true)
    }
  }

  const { log, view } = await witness.check()
  const candidates = log.filter((event) => !event.rewound)
  const event = candidates[target % Math.max(1, candidates.length)]
  if (event === undefined) return
  const wasVisible = view.some(({ id }) => id === event.id)
  const removed = await service.rewind('s', isBefore ? { before: event.id } : { after: event.id })
  const { view: rest, log: all } = await witness.check()
  expect(rest.some(({ id }) => id === event.id)).toBe(!isBefore)
  // Nothing that was said after the target is left in the view; summaries are judged elsewhere.
  expect(real(rest).filter(({ seq }) => seq > event.seq && !event.synthetic)).toEqual([])
  // What lies after the target is undone wherever it was, unless there was nothing to undo, or the
  // target is a summary: then what it stands for is older.
  const tail = all.filter(({ seq }) => seq > event.seq)
  const isUndone = tail.every((other) => other.rewound || rest.some(({ id }) => id === other.id))
  expect(isUndone || removed === 0 || (wasVisible && event.synthetic)).toBe(true)

  // And once more, on what a rewind left.
  const result = await service.compact('s', { trigger: () => true, strategy })
  expect(['compacted', 'nothing-to-archive']).toContain(result.status)
  const last = await witness.check()
  expect(findUnsafe(rest, new Set(last.view.map(({ id }) => id)))).toEqual([])
}

function hasId(events: Iterable<SessionEvent>, { id }: SessionEvent): boolean {
  return [...events].some((event) => event.id === id)
}

function isOneTurn(events: ReadonlySet<SessionEvent>, view: readonly SessionEvent[]): boolean {
  const turns = turnsOf(view)
  return new Set(Array.from(events, (event) => turns.get(event))).size === 1
}

function isNew(event: SessionEvent, view: readonly SessionEvent[]): boolean {
  return event.synthetic && !view.some(({ id }) => id === event.id)
}

test.each(Object.entries(cases))('%s', patient, async (_, strategyCase) => {
  await fc.assert(
    fc.asyncProperty(strategyCase, logs, anyTarget, ({ strategy, fits }, portions, target) =>
      runThrough(strategy, portions, target, fits),
    ),
    { numRuns: runs(500) },
  )
})

test('nonsense', patient, async () => {
  await fc.assert(
    fc.asyncProperty(nonsense, logs, anyTarget, (strategy, portions, target) =>
      runThrough(strategy, portions, target, null),
    ),
    { numRuns: runs(500) },
  )
})
