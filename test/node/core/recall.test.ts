import { EventFilter } from 'turnlog'
import { type LogSource, recallLogs, type SessionRecord } from 'turnlog/store'
import { expect, test } from 'vitest'

const session = (id: string, lastSeq: number): SessionRecord => ({
  number: 1,
  id,
  userId: 'ana',
  createdAt: 0,
  expiresAt: null,
  slidingTimeToLive: null,
  metadata: '{}',
  lastSeq,
  version: lastSeq,
  lastEventAt: null,
  latestTimestamp: null,
  boundary: null,
})

test('of many large matches only the places are kept; those of the answer are read again', async () => {
  // Events of 2 MB that all match; the last ones come first in the answer.
  const count = 40
  const bodyOf = (seq: number) =>
    JSON.stringify({ message: { role: 'user', content: `word ${seq} ${'x'.repeat(2e6)}` } })
  let reads = 0
  const source: LogSource = {
    async read(ranges) {
      const [[seq]] = ranges as [[number, number]]
      reads++
      return [
        {
          seq,
          id: `e${seq}`,
          timestamp: count - seq,
          latestTimestamp: count,
          role: 'user' as const,
          branch: null,
          synthetic: false,
          body: bodyOf(seq),
        },
      ]
    },
    latestTimestampAt: async () => count,
    lateSeqs: async () => [],
  }
  const answer = await recallLogs(
    {
      now: 0,
      userId: 'ana',
      filter: EventFilter.of({ keyword: 'word' }).toJSON(),
      offset: 1,
      limit: 10,
    },
    [session('s', count)],
    () => source,
  )
  expect(reads).toBe(count + 4) // four at a time; the third did not fit
  // An answer ends at 4 Mi units: two such events.
  expect(answer.events.map(({ id }) => id)).toEqual(['e39', 'e38'])
  expect(answer.events.map(({ body }) => body)).toEqual([bodyOf(39), bodyOf(38)])
  expect(answer.complete).toBe(false)
})
