// Random logs for property tests: what agents leave behind, and worse.
import fc from 'fast-check'
import type { EventInput, Message } from 'turnlog'

/** An event of a random log, still without an id. */
export type RandomEvent = Pick<EventInput, 'message' | 'branch'>

type Part = Readonly<Record<string, unknown>> & { readonly type: string }

// So few that ids come again in later turns, in parallel calls and on several branches.
const callId = fc.constantFrom('A', 'B', 'C')
const branch = fc.oneof(
  { weight: 6, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.constantFrom('root.a', 'root.b') },
  { weight: 1, arbitrary: fc.constant('') },
)

const call = (id: string): Part => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'look',
  input: { id },
})
const result = (id: string): Part => ({
  type: 'tool-result',
  toolCallId: id,
  toolName: 'look',
  output: { type: 'text', value: `seen ${id}` },
})
const request = (id: string): Part => ({
  type: 'tool-approval-request',
  approvalId: `ok-${id}`,
  toolCallId: id,
})
const response = (id: string): Part => ({
  type: 'tool-approval-response',
  approvalId: `ok-${id}`,
  approved: true,
})

const said = (role: Message['role'], text: string): Message => ({ role, content: text })
const parts = (role: Message['role'], content: readonly Part[]): Message => ({ role, content })

const looseMessage: fc.Arbitrary<Message> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(said('user', 'a question')) },
  { weight: 3, arbitrary: fc.constant(said('assistant', 'an answer')) },
  { weight: 1, arbitrary: fc.constant(said('system', 'a rule')) },
  {
    weight: 4,
    arbitrary: fc
      .array(callId, { minLength: 1, maxLength: 3 })
      .map((ids) => parts('assistant', [{ type: 'text', text: 'let me see' }, ...ids.map(call)])),
  },
  {
    weight: 4,
    arbitrary: fc
      .array(callId, { minLength: 1, maxLength: 3 })
      .map((ids) => parts('tool', ids.map(result))),
  },
  {
    // A tool that the provider runs itself: call and result in one message, or a result of elsewhere.
    weight: 1,
    arbitrary: fc
      .tuple(callId, callId)
      .map(([one, other]) => parts('assistant', [call(one), result(other)])),
  },
  {
    weight: 1,
    arbitrary: callId.map((id) => parts('assistant', [call(id), request(id)])),
  },
  { weight: 1, arbitrary: callId.map((id) => parts('tool', [response(id)])) },
)

/** Events in any order at all: results before calls, calls without results, nothing but branches. */
const looseLog: fc.Arbitrary<readonly RandomEvent[]> = fc.array(
  fc.record({ message: looseMessage, branch }),
  { maxLength: 24 },
)

/** A turn as a well-behaved agent leaves it, with parallel calls whose results come in any order. */
const orderlyTurn: fc.Arbitrary<readonly RandomEvent[]> = fc
  .tuple(
    fc.array(fc.uniqueArray(callId, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
    fc.boolean(),
    fc.boolean(),
    fc.constantFrom(null, 'root.a'),
  )
  .chain(([rounds, isSplit, isAnswered, worker]) =>
    fc
      .tuple(...rounds.map((ids) => fc.shuffledSubarray(ids, { minLength: ids.length })))
      .map((orders) => {
        const steps = rounds.flatMap((ids, index): RandomEvent[] => {
          const order = orders[index] ?? []
          return [
            { message: parts('assistant', ids.map(call)), branch: worker },
            ...(isSplit
              ? order.map((id) => ({ message: parts('tool', [result(id)]), branch: worker }))
              : [{ message: parts('tool', order.map(result)), branch: worker }]),
          ]
        })
        const delegated =
          worker === null ? [] : [{ message: said('user', 'do it'), branch: worker }]
        return [
          { message: said('user', 'a question'), branch: null },
          ...delegated,
          ...steps,
          ...(isAnswered ? [{ message: said('assistant', 'an answer'), branch: null }] : []),
        ]
      }),
  )

const orderlyLog = fc.array(orderlyTurn, { maxLength: 7 }).map((turns) => turns.flat())

/** A log of up to some thirty events. */
export const randomLog: fc.Arbitrary<readonly RandomEvent[]> = fc.oneof(
  looseLog,
  orderlyLog,
  fc.tuple(orderlyLog, looseLog).map((logs) => logs.flat()),
)

/** For properties: as many cases as are asked for may take as long as they take. */
export const patient = { timeout: 3_600_000 }

/** How many cases a property is tried with; more by `TURNLOG_RUNS`. */
export function runs(least: number): number {
  return Math.max(least, Number(process.env['TURNLOG_RUNS'] ?? 0))
}
