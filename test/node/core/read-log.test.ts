// Reading a log with an index, and damage met on the way, against the definition: EventFilter.apply on what is left of the log.
import { EventFilter, type EventFilterOptions } from 'turnlog'
import { expect, test } from 'vitest'
import { encodeBody } from '../../../src/core/event-input.ts'
import { type LogIndex, type LogSource, readLog } from '../../../src/core/read-log.ts'
import type { EventRecord, SessionRecord } from '../../../src/core/session-repository.ts'

const SIZE = 100
const LOG = Array.from({ length: SIZE }, (_, index): EventRecord => {
  const body = encodeBody({ role: 'user', content: `word ${index + 1}` }, {})
  const timestamp = 1000 * (index + 1)
  return {
    id: `e${index + 1}`,
    seq: index + 1,
    timestamp,
    latestTimestamp: timestamp,
    role: 'user',
    branch: null,
    synthetic: false,
    body,
  }
})
const SESSION: SessionRecord = {
  number: 1,
  id: 's',
  userId: 'u',
  createdAt: 0,
  expiresAt: null,
  slidingTimeToLive: null,
  metadata: '{}',
  lastSeq: SIZE,
  version: SIZE,
  lastEventAt: null,
  latestTimestamp: null,
  boundary: null,
}

/** The log without some events. */
function damagedSource(missing: ReadonlySet<number>, index?: LogIndex): LogSource {
  const left = LOG.map((event) => (missing.has(event.seq) ? null : event))
  return {
    index,
    read: async (ranges) =>
      ranges.flatMap(([first, last]) =>
        left.slice(first - 1, last).filter((event) => event !== null),
      ),
    latestTimestampAt: async (seq) => left[seq - 1]?.latestTimestamp ?? null,
    lateSeqs: async () => [],
  }
}

/** Says of every event that it matches, ten at a time, also of those that have been lost since. */
function createIndex(through: number, asked: (number | null)[] = []): LogIndex {
  return {
    worthwhile: 1,
    through,
    async *match(_filter, ranges, backwards, wanted) {
      const seqs = ranges.flatMap(([first, last]) => LOG.slice(first - 1, last))
      const portions = []
      for (let start = 0; start < seqs.length; start += 10) {
        portions.push(seqs.slice(start, start + 10).map(({ seq }) => seq))
      }
      for (const portion of backwards ? portions.reverse() : portions) {
        asked.push(wanted)
        yield { seqs: portion, certain: true, covered: portion.at(backwards ? 0 : -1) ?? 0 }
      }
    },
  }
}

function definition(missing: ReadonlySet<number>, filter: EventFilter): number[] {
  const left = LOG.filter(({ seq }) => !missing.has(seq)).map((event) => ({
    ...event,
    timestamp: new Date(event.timestamp),
    message: { role: event.role, content: `word ${event.seq}` },
    archived: false,
    rewound: false,
  }))
  return filter.apply(left).map(({ seq }) => seq)
}

async function read(missing: ReadonlySet<number>, options: EventFilterOptions, index?: LogIndex) {
  const filter = EventFilter.of(options)
  const answer = await readLog(damagedSource(missing, index), SESSION, {
    now: 0,
    filter: filter.toJSON(),
  })
  return { seqs: answer.events.map(({ seq }) => seq), expected: definition(missing, filter) }
}

test('a time range is found around any event that is lost', async () => {
  for (let lost = 1; lost <= SIZE; lost++) {
    for (const options of [{ to: 80_000 }, { from: 20_000 }, { from: 20_000, to: 80_000 }]) {
      const { seqs, expected } = await read(new Set([lost]), options)
      expect(seqs, `${lost} ${JSON.stringify(options)}`).toEqual(expected)
    }
  }
})

test('what an index knows and the log has lost makes no gap: the next matches take its place', async () => {
  const keyword = 'word'
  for (const lost of [1, 2, 9, 10, 11, 99, 100]) {
    const missing = new Set([lost, lost + 1])
    for (const options of [
      { keyword, page: 0, pageSize: 3 },
      { keyword, page: 0, pageSize: 12 },
      { keyword, lastN: 3 },
      { keyword, lastN: 12 },
      { keyword, lastN: 99 },
    ]) {
      const { seqs, expected } = await read(missing, options, createIndex(SIZE))
      expect(seqs, `${lost} ${JSON.stringify(options)}`).toEqual(expected)
    }
  }
})

test('an index is asked for no more than what is missing still', async () => {
  const asked: (number | null)[] = []
  // Ten of them are newer than the index.
  const { seqs, expected } = await read(
    new Set(),
    { keyword: 'word', lastN: 12 },
    createIndex(SIZE - 10, asked),
  )
  expect(seqs).toEqual(expected)
  expect(asked).toEqual([2])
})

test('a view whose newest summary comes before what is in the index, and beyond it', async () => {
  const boundary = {
    id: 'b',
    position: 90,
    summaries: [90],
    kept: [[20, 80]] as const,
    rewound: [],
    appended: 1,
    createdAt: 0,
  }
  const view = [
    90,
    ...LOG.slice(19, 80).map(({ seq }) => seq),
    ...LOG.slice(90).map(({ seq }) => seq),
  ]
  for (const portion of [{}, { page: 1, pageSize: 10 }, { page: 2, pageSize: 20 }, { lastN: 30 }]) {
    const filter = EventFilter.of({ keyword: 'word', excludeArchived: true, ...portion })
    const answer = await readLog(
      damagedSource(new Set(), createIndex(50)),
      { ...SESSION, boundary },
      { now: 0, filter: filter.toJSON() },
    )
    const expected =
      filter.lastN !== null
        ? view.slice(-filter.lastN)
        : filter.pageSize === null
          ? view
          : view.slice((filter.page ?? 0) * filter.pageSize).slice(0, filter.pageSize)
    expect(answer.events.map(({ seq }) => seq)).toEqual(expected)
  }
})

test('a cursor that wants nothing more, which no read gives, is answered with nothing', async () => {
  const filter = EventFilter.of({ keyword: 'word' }).toJSON()
  const cursor = { boundary: null, remaining: [[1, SIZE]] as const, skip: 0, take: 0 }
  for (const index of [undefined, createIndex(SIZE)]) {
    const answer = await readLog(damagedSource(new Set(), index), SESSION, {
      now: 0,
      filter,
      cursor,
    })
    expect(answer).toMatchObject({ events: [], damage: [], next: null })
  }
})
