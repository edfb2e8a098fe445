// What an instance of the IndexedDB store remembers of its appends: bounded, and never what may have
// changed since.
import { expect, test } from 'vitest'
import type { EventRecord } from '../../../src/core/session-repository.ts'
import { createRecentEvents } from '../../../src/stores/indexeddb/recent-events.ts'

function events(count: number, first = 1, more: Partial<EventRecord> = {}): EventRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `e${first + index}`,
    seq: first + index,
    timestamp: 0,
    latestTimestamp: 0,
    role: 'user',
    branch: null,
    synthetic: false,
    body: '{}',
    ...more,
  }))
}

test('a batch of any size is taken; what is too much is not kept', () => {
  const recent = createRecentEvents()
  recent.add(1, events(10), 7, 7)
  recent.add(2, events(400_000), 8, 8)
  expect(recent.count).toBe(0)
  recent.add(2, events(3, 400_001), 8, 8)
  expect(recent.of(2, 8)([400_001, 400_003])).toHaveLength(3)
  expect(recent.count).toBe(3)
})

test('long ids and branches count as well as bodies', () => {
  for (const field of ['id', 'branch', 'body']) {
    const recent = createRecentEvents()
    for (let session = 1; session <= 1000; session++) {
      recent.add(session, events(1, 1, { [field]: 'x'.repeat(4096) }), 1, 1)
    }
    expect(recent.count).toBeLessThan(300)
    expect(recent.of(1000, 1)([1, 1])).toHaveLength(1)
  }
})

test('events go on only from those before them, under the stamp that these were left with', () => {
  const recent = createRecentEvents()
  recent.add(1, events(3), 7, 7)
  recent.add(1, events(2, 4), 8, 7)
  expect(
    recent
      .of(
        1,
        8,
      )([2, 5])
      ?.map(({ seq }) => seq),
  ).toEqual([2, 3, 4, 5])
  expect(recent.of(1, 7)([2, 5])).toBeNull()
  expect(recent.of(1, 8)([2, 6])).toBeNull()
  // A gap: another instance appended.
  recent.add(1, events(2, 7), 8, 8)
  expect(recent.of(1, 8)([5, 7])).toBeNull()
  expect(recent.of(1, 8)([7, 8])).toHaveLength(2)
  // Another stamp: something was erased.
  recent.add(1, events(1, 9), 10, 9)
  expect(recent.of(1, 10)([8, 9])).toBeNull()
  recent.dropBefore(new Map([[1, 10]]))
  expect(recent.count).toBe(0)
})
