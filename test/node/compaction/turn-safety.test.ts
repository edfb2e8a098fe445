// keepSafely: what of a proposal is really kept, for one example of each rule and for random logs.
import fc from 'fast-check'
import { countTurns, keepSafely, type Message, type SessionEvent, startsTurn } from 'turnlog'
import { describe, expect, test } from 'vitest'
import { patient, type RandomEvent, randomLog, runs } from '../../support/random-conversation.ts'
import { findUnsafe, requiredOf } from '../../support/turn-safety.ts'

/** A view of events that are named e1, e2, … */
function viewOf(events: readonly (RandomEvent & { readonly synthetic?: boolean })[]) {
  return events.map(
    ({ message, branch, synthetic }, index): SessionEvent => ({
      id: `e${index + 1}`,
      sessionId: 's',
      seq: index + 1,
      timestamp: new Date(index),
      message,
      metadata: {},
      branch: branch ?? null,
      synthetic: synthetic ?? false,
      archived: false,
      rewound: false,
    }),
  )
}

const user: RandomEvent = { message: { role: 'user', content: 'question' } }
const assistant: RandomEvent = { message: { role: 'assistant', content: 'answer' } }
const system: RandomEvent = { message: { role: 'system', content: 'rule' } }
const calls = (...ids: readonly string[]): RandomEvent => ({
  message: {
    role: 'assistant',
    content: ids.map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 't', input: {} })),
  },
})
const results = (...ids: readonly string[]): RandomEvent => ({
  message: {
    role: 'tool',
    content: ids.map((id) => ({ type: 'tool-result', toolCallId: id, toolName: 't', output: 1 })),
  },
})
const on = (branch: string, event: RandomEvent): RandomEvent => ({ ...event, branch })

/** The numbers of the events that are kept when these are wanted. */
function keep(events: Parameters<typeof viewOf>[0], wanted: readonly number[]): number[] {
  const kept = keepSafely(viewOf(events), new Set(wanted.map((number) => `e${number}`)))
  return kept.map(({ seq }) => seq)
}

describe('a rule at a time', () => {
  test('the newest turn stays whole, whatever is wanted', () => {
    expect(keep([user, assistant, user, calls('A'), results('A'), assistant], [])).toEqual([
      3, 4, 5, 6,
    ])
    expect(keep([user], [])).toEqual([1])
    expect(keep([], [])).toEqual([])
  })

  test('without any turn everything stays', () => {
    expect(keep([assistant, on('root.a', user), system], [])).toEqual([1, 2, 3])
  })

  test('an older turn stays with its question or not at all', () => {
    const log = [user, assistant, assistant, user]
    expect(keep(log, [2, 3])).toEqual([4])
    expect(keep(log, [1, 3])).toEqual([1, 3, 4])
  })

  test('a preamble and system messages stand before the first question', () => {
    const log = [assistant, system, user, system, assistant, user]
    expect(keep(log, [1, 2])).toEqual([1, 2, 6])
    expect(keep(log, [4, 5])).toEqual([4, 6])
  })

  test('events of branches belong to the turn they are in, and start none', () => {
    const log = [user, on('root.a', user), on('root.a', assistant), assistant, user]
    expect(keep(log, [2, 3, 4])).toEqual([5])
    expect(keep(log, [1, 2])).toEqual([1, 2, 5])
  })

  test('parallel calls and their results are one, in any order and in separate messages', () => {
    const log = [user, calls('A', 'B'), results('B'), results('A'), assistant, user]
    for (const missing of [2, 3, 4]) {
      const wanted = [1, 2, 3, 4, 5].filter((number) => number !== missing)
      expect(keep(log, wanted)).toEqual([1, 5, 6])
    }
    expect(keep(log, [1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('a result that comes before its call, or a turn later, is tied to it', () => {
    expect(keep([user, results('A'), calls('A'), user], [1, 2])).toEqual([1, 4])
    // The newest turn holds the result: the call stays, and with it the question that it answers.
    expect(keep([user, calls('A'), assistant, user, results('A')], [])).toEqual([1, 2, 4, 5])
  })

  test('an id that comes again belongs to the nearest call that still waits', () => {
    const log = [user, calls('A'), results('A'), user, calls('A'), results('A'), user]
    expect(keep(log, [4, 5, 6])).toEqual([4, 5, 6, 7])
    expect(keep(log, [1, 2, 4, 5, 6])).toEqual([1, 4, 5, 6, 7])
  })

  test('equal ids on two branches are two exchanges', () => {
    const log = [
      user,
      on('root.a', calls('A')),
      on('root.b', calls('A')),
      on('root.a', results('A')),
      on('root.b', results('A')),
      user,
    ]
    expect(keep(log, [1, 2, 3, 4])).toEqual([1, 2, 4, 6])
    expect(keep(log, [1, 2, 3, 5])).toEqual([1, 3, 5, 6])
  })

  test('a call of the newest turn that waits stays; an older one may go', () => {
    expect(keep([user, calls('A'), user, calls('B')], [])).toEqual([3, 4])
    expect(keep([user, calls('A'), user, calls('B')], [1, 2])).toEqual([1, 2, 3, 4])
  })

  test('a result without a call stays with its turn, and goes with it', () => {
    const log = [user, results('X'), assistant, user]
    expect(keep(log, [1])).toEqual([1, 2, 4])
    expect(keep(log, [2, 3])).toEqual([4])
  })

  test('a message with an orphan and half of an exchange brings the other half along', () => {
    const log = [user, calls('A'), results('A', 'X'), assistant, user]
    expect(keep(log, [1, 4])).toEqual([1, 2, 3, 4, 5])
    // The other half is in a turn that goes: then this one goes as well.
    const across = [user, calls('A'), user, results('A', 'X'), assistant, user]
    expect(keep(across, [3, 5])).toEqual([6])
  })

  test('an approval and its answer are tied as a call and its result are', () => {
    const asks: Message = {
      role: 'assistant',
      content: [{ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'A' } as never],
    }
    const answers: Message = {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId: 'p', approved: true } as never],
    }
    expect(keep([user, { message: asks }, user, { message: answers }], [])).toEqual([1, 2, 3, 4])
  })

  test('summaries are as the strategy wants them, and open no turn', () => {
    const summary = { ...user, synthetic: true }
    const log = [summary, { ...assistant, synthetic: true }, user, assistant, user]
    expect(keep(log, [1])).toEqual([1, 5])
    expect(countTurns(viewOf(log))).toBe(2)
    expect(viewOf(log).map(startsTurn)).toEqual([false, false, true, false, true])
  })

  test('one message with thousands of calls, answered one by one, is no problem', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => `call-${index}`)
    const log = [user, calls(...ids), ...ids.map((id) => results(id)), user]
    expect(keep(log, [])).toEqual([20_003])
    expect(keep([...log.slice(0, -1)], []).length).toBe(20_002)
  })
})

describe('random logs and random proposals', () => {
  const view = randomLog.map(viewOf)
  const proposal = fc.tuple(view, fc.infiniteStream(fc.boolean())).map(([events, flags]) => ({
    events,
    wanted: new Set(events.filter(() => flags.next().value === true).map(({ id }) => id)),
  }))
  const idsOf = (events: Iterable<SessionEvent>) => new Set(Array.from(events, ({ id }) => id))

  test('what is kept is safe', patient, () => {
    fc.assert(
      fc.property(proposal, ({ events, wanted }) => {
        expect(findUnsafe(events, idsOf(keepSafely(events, wanted)))).toEqual([])
      }),
      { numRuns: runs(2000) },
    )
  })

  test('keeping again keeps the same, of the whole view and of what is left', patient, () => {
    fc.assert(
      fc.property(proposal, ({ events, wanted }) => {
        const kept = keepSafely(events, wanted)
        expect(keepSafely(events, idsOf(kept))).toEqual(kept)
        expect(keepSafely(kept, idsOf(kept))).toEqual(kept)
      }),
      { numRuns: runs(2000) },
    )
  })

  test('a safe proposal is kept to the letter', patient, () => {
    fc.assert(
      fc.property(proposal, ({ events, wanted }) => {
        const safe = new Set([...wanted, ...idsOf(requiredOf(events))])
        fc.pre(findUnsafe(events, safe).length === 0)
        expect(idsOf(keepSafely(events, wanted))).toEqual(safe)
      }),
      { numRuns: runs(1000) },
    )
  })

  test('nothing is lost when all is wanted, and only the newest turn is forced', patient, () => {
    fc.assert(
      fc.property(view, (events) => {
        expect(keepSafely(events, idsOf(events))).toEqual(events)
        expect(new Set(keepSafely(events, new Set()))).toEqual(requiredOf(events))
      }),
      { numRuns: runs(1000) },
    )
  })
})
