// What a commit writes when a caller that is not the service, such as an HTTP client, asks for it.
import { createInMemoryRepository } from 'turnlog/in-memory'
import { type NewBoundary, planCommit, type SessionRecord } from 'turnlog/store'
import { expect, test } from 'vitest'

const now = 1_700_000_000_000
const session: SessionRecord = {
  number: 1,
  id: 's',
  userId: 'ana',
  createdAt: now,
  expiresAt: null,
  slidingTimeToLive: null,
  metadata: '{}',
  lastSeq: 5,
  version: 5,
  lastEventAt: now,
  latestTimestamp: now,
  boundary: null,
}
const event = (id: string, seq: number) => ({
  id,
  seq,
  timestamp: now,
  latestTimestamp: now,
  role: 'assistant' as const,
  branch: null,
  synthetic: true,
  body: '{"message":{"role":"assistant","content":"sum"},"metadata":{"synthetic":true}}',
})

function boundaryOf(change: Partial<NewBoundary>) {
  const boundary = { summaries: [], kept: [], through: 5, rewound: [], ...change }
  const stored = new Map([['sum', event('sum', 2)]])
  const commit = { now, events: [], boundary, operationId: 'op' }
  return planCommit('s', commit, { session, stored, operationStored: false }).boundary
}

test('what is rewound ends where the log ends: later events are not taken out beforehand', () => {
  expect(boundaryOf({ rewound: [[4, 1_000_000]] })?.rewound).toEqual([[4, 5]])
  expect(boundaryOf({ rewound: [[-5, 2]], kept: [[1, 5]] })).toMatchObject({
    rewound: [[1, 2]],
    kept: [[3, 5]],
  })
})

test('what is kept ends where the log ends', () => {
  expect(boundaryOf({ kept: [[3, 1_000_000]], through: 1_000_000 })?.kept).toEqual([[3, 5]])
})

test('a summary that is named twice stands once in the view', () => {
  expect(boundaryOf({ summaries: ['sum', 'sum'] })?.summaries).toEqual([2])
})

test('a sliding lifetime ends at the last instant that a Date holds', () => {
  const lasting = { ...session, slidingTimeToLive: 8.64e15 }
  const commit = { now, events: [{ ...event('new', 0) }] }
  const plan = planCommit('s', commit, {
    session: lasting,
    stored: new Map(),
    operationStored: false,
  })
  expect(new Date(plan.session.expiresAt as number).toISOString()).toBe(
    '+275760-09-13T00:00:00.000Z',
  )
})

test('a creation that is repeated by its name says again that it created', async () => {
  const { number, ...input } = session
  const repository = createInMemoryRepository()
  const create = async (creation?: string) =>
    (await repository.createSession(input, { now, creation })).created
  expect(await create('one')).toBe(true)
  expect(await create('one')).toBe(true)
  expect(await create('two')).toBe(false)
  expect(await create()).toBe(false)
})
