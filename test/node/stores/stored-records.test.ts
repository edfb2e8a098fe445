import { expect, test } from 'vitest'
import {
  fromStoredEvent,
  LONG_BODY,
  toStoredEvent,
} from '../../../src/stores/indexeddb/stored-records.ts'

test('the largest event that keeps its body is no large value of the browser', () => {
  const event = {
    id: '中'.repeat(512),
    seq: Number.MAX_SAFE_INTEGER,
    timestamp: 8.64e15,
    latestTimestamp: 8.64e15 - 1,
    role: 'assistant' as const,
    branch: '中'.repeat(4096),
    synthetic: true,
    body: '中'.repeat(LONG_BODY),
  }
  const { stored, body } = toStoredEvent(Number.MAX_SAFE_INTEGER, event)
  expect(body).toBeNull()
  // Two bytes for each unit, with room for what the browser adds. Chromium's limit is 64 KiB.
  expect(2 * JSON.stringify(stored).length).toBeLessThan(63 << 10)
  expect(toStoredEvent(1, { ...event, body: `${event.body}x` }).body).not.toBeNull()
})

test('an id comes back as it was, and one of another session is damage', () => {
  for (const id of ['e1', '1:e1', ':', '12:', 'ø:\u0000 ']) {
    const event = {
      id,
      seq: 1,
      timestamp: 5,
      latestTimestamp: 5,
      role: 'user' as const,
      branch: null,
      synthetic: false,
      body: '{}',
    }
    const { stored } = toStoredEvent(12, event)
    expect(fromStoredEvent(stored)).toEqual(event)
    expect(fromStoredEvent({ ...stored, session: 1 })).toEqual({
      seq: 1,
      reason: 'its field "id" is missing or damaged',
    })
  }
})
