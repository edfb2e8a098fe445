// The search structure against EventFilter.apply: blocks of a few events, so that every edge is met,
// some of them damaged or missing, and an unsealed tail.
import * as fc from 'fast-check'
import { EventFilter, type EventFilterOptions, type MessageType } from 'turnlog'
import { expect, test } from 'vitest'
import { placeOf, viewRanges } from '../../../src/core/boundary.ts'
import { encodeBody } from '../../../src/core/event-input.ts'
import { type LogSource, readLog } from '../../../src/core/read-log.ts'
import {
  normalizeRanges,
  rangesInclude,
  rangesOf,
  subtractRanges,
} from '../../../src/core/seq-ranges.ts'
import type {
  Boundary,
  EventRecord,
  ReadAnswer,
  ReadCursor,
  SessionRecord,
} from '../../../src/core/session-repository.ts'
import type { StoredBlock } from '../../../src/search/block.ts'
import { decodeGroup, groupOf, type StoredGroup } from '../../../src/search/directory.ts'
import { type BlockSource, createLogIndex } from '../../../src/search/log-index.ts'
import { recallBlocks } from '../../../src/search/recall-blocks.ts'
import { Sealing, withEntries } from '../../../src/search/sealing.ts'
import { mayContain, sequencesOf, signatureOf } from '../../../src/search/signature.ts'

const words = [
  'ab',
  'a',
  'Straße',
  'STRASSE',
  '中文',
  '文',
  'é',
  'cat',
  'concat',
  'ς',
  'Σ',
  '🏷',
  'b c',
  '%',
]
const texts = fc
  .array(fc.constantFrom(...words, ' ', '\u0000'), { maxLength: 5 })
  .map((parts) => parts.join(''))
const events = fc.array(
  fc.record({
    text: texts,
    role: fc.constantFrom<MessageType>('user', 'assistant', 'system', 'tool'),
    branch: fc.constantFrom(null, null, 'a', 'a.b', 'a.bc', ''),
    synthetic: fc.boolean(),
    timestamp: fc.integer({ min: 0, max: 20 }),
  }),
  { maxLength: 60, size: 'max' }, // fast-check would make hardly more than ten.
)
const filters = fc.record<EventFilterOptions>(
  {
    keyword: fc.constantFrom(...words, 'nowhere', 'zz'),
    keywords: fc.array(fc.constantFrom(...words, 'q'), { maxLength: 3 }),
    matchMode: fc.constantFrom('any', 'all'),
    messageTypes: fc.subarray<MessageType>(['user', 'assistant', 'tool'], { minLength: 1 }),
    excludeSynthetic: fc.boolean(),
    branch: fc.constantFrom('a', 'a.b', 'c'),
    from: fc.integer({ min: 0, max: 20 }),
    to: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: [] },
)
const portions = fc.oneof(
  fc.constant({}),
  fc.record({ lastN: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ pageSize: fc.integer({ min: 1, max: 5 }), page: fc.integer({ min: 0, max: 4 }) }),
)

/** Events of two sessions, sealed as a store does it. */
function seal(records: ReadonlyMap<number, readonly EventRecord[]>, through: number) {
  const blocks = new Map<number, StoredBlock>()
  const groups = new Map<number, StoredGroup>()
  const firsts = new Map([...records.keys()].map((session) => [session, 1]))
  for (let block = 0; ; block++) {
    const sealing = new Sealing({ events: 4, units: 40 })
    for (const [session, log] of records) {
      const first = firsts.get(session) ?? 1
      const tail = log.slice(first - 1, through)
      if (tail.length > 0 && !sealing.add(session, tail, [first, first + tail.length - 1])) break
    }
    const sealed = sealing.seal()
    if (!sealed?.block) return { blocks, groups }
    blocks.set(block, sealed.block.stored)
    const group = groupOf(block)
    const entries = [sealed.block.entryOf(block)]
    groups.set(group, withEntries(groups.get(group) ?? null, entries) as StoredGroup)
    for (const [session, first] of sealed.firsts) firsts.set(session, first)
  }
}

const DAMAGES = ['none', 'block', 'text', 'group', 'groupText', 'signatures'] as const

/** The blocks as a store gives them, some of them missing or damaged. */
function damagedSource(
  { blocks, groups }: ReturnType<typeof seal>,
  damaged: readonly number[],
  kind: (typeof DAMAGES)[number],
): BlockSource {
  const groupCount = groups.size
  for (const number of damaged) {
    const block = blocks.get(number)
    const place = number % groupCount
    const group = groups.get(place)
    if (kind === 'block') blocks.delete(number)
    if (kind === 'text' && block !== undefined) blocks.set(number, { ...block, text: 'x' })
    if (kind === 'group') groups.delete(place)
    if (group === undefined) continue
    if (kind === 'groupText') groups.set(place, { ...group, entries: '[' })
    if (kind === 'signatures') {
      groups.set(place, { ...group, signatures: group.signatures.slice(0, -60) })
    }
  }
  return {
    async readGroups([first, last]) {
      return [...groups]
        .filter(([number]) => number >= first && number <= last)
        .sort(([a], [b]) => a - b)
        .map(([, group]) => group)
    },
    async readBlocks(numbers) {
      return numbers.map((number) => blocks.get(number) ?? null)
    },
    async readEnds() {
      const last = (numbers: Iterable<number>) => [...numbers].sort((a, b) => b - a)[0] ?? null
      return { group: last(groups.keys()), block: last(blocks.keys()) }
    },
    damaged: () => undefined,
  }
}

/** Events as the definition sees them. */
function viewsOf(log: readonly EventRecord[], sessionId: string) {
  return log.map((record) => ({
    sessionId,
    seq: record.seq,
    timestamp: new Date(record.timestamp),
    message: {
      role: record.role,
      content: JSON.parse(record.body).message.content as string,
    },
    branch: record.branch,
    synthetic: record.synthetic,
    archived: false,
    rewound: false,
  }))
}

test('answers equal EventFilter.apply, whatever is damaged', async () => {
  await fc.assert(
    fc.asyncProperty(
      events,
      events,
      filters,
      portions,
      fc.nat(60),
      fc.array(fc.nat(20), { maxLength: 2 }),
      fc.constantFrom(...DAMAGES),
      async (first, second, filter, portion, through, damaged, kind) => {
        const logs = new Map([first, second].map((log, index) => [index + 1, recordsOf(log)]))
        const source = damagedSource(seal(logs, through), damaged, kind)
        const log = logs.get(1) ?? []
        const wanted = EventFilter.of({ ...filter, ...portion })
        const answer = await readLog(
          logSource(log, createLogIndex(source, 1, Math.min(through, log.length), 1)),
          sessionOf(log),
          {
            now: 0,
            filter: wanted.toJSON(),
          },
        )
        const expected = wanted.apply(viewsOf(log, 's1'))
        expect(answer.events.map(({ seq }) => seq)).toEqual(expected.map(({ seq }) => seq))
        expect(answer.next).toBeNull()
      },
    ),
    { numRuns: Number(process.env['TURNLOG_RUNS'] ?? 600) },
  )
})

/** What a boundary keeps, takes out and puts first, as bits of `seq`; how large each event is. */
const views = fc.record({
  kept: fc.nat(),
  rewound: fc.nat(),
  summaries: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 2 }),
  since: fc.nat(8),
  padding: fc.constantFrom(0, 0, 250_000),
})
/** Most events match these. */
const wideFilters = fc.constantFrom<EventFilterOptions>(
  { keyword: 'A' },
  { keywords: ['zz', 'a'], excludeSynthetic: true },
  { messageTypes: ['user', 'assistant', 'tool'] },
  { branch: 'a.b' },
)
const viewFilters = fc.record({ excludeArchived: fc.boolean(), excludeRewound: fc.boolean() })
const largePortions = fc.oneof(
  portions,
  fc.constantFrom({ lastN: 40 }, { pageSize: 25, page: 0 }, { pageSize: 25, page: 1 }),
)

test('so do answers in several parts, from a view', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(events, events, events),
      wideFilters,
      largePortions,
      viewFilters,
      views,
      fc.nat(100),
      async ([first, second, other], filter, portion, viewFilter, view, through) => {
        const matching = [...first, ...second].map((event) => ({
          ...event,
          text: `${event.text}a`,
        }))
        const log = recordsOf(matching, view.padding)
        const logs = new Map([
          [1, log],
          [2, recordsOf(other)],
        ])
        const boundary = boundaryOf(log.length, view)
        const source = damagedSource(seal(logs, through), [], 'none')
        const wanted = EventFilter.of({ ...filter, ...portion, ...viewFilter })
        const seqs: number[] = []
        for (let cursor: ReadCursor | undefined, parts = 0; ; parts++) {
          expect(parts).toBeLessThan(100)
          const answer: ReadAnswer = await readLog(
            logSource(log, createLogIndex(source, 1, Math.min(through, log.length), 1)),
            { ...sessionOf(log), boundary },
            { now: 0, filter: wanted.toJSON(), cursor },
          )
          seqs.push(...answer.events.map(({ seq }) => seq))
          if (answer.next === null) break
          cursor = answer.next
        }
        const all = viewsOf(log, 's1').map((event) => ({
          ...event,
          ...placeOf(boundary, event.seq),
        }))
        const inOrder = wanted.excludeArchived
          ? viewRanges(boundary, log.length).flatMap(([from, to]) => all.slice(from - 1, to))
          : all
        expect(seqs).toEqual(wanted.apply(inOrder).map(({ seq }) => seq))
      },
    ),
    // Without shrinking: logs of 30 MB take too long.
    { numRuns: Number(process.env['TURNLOG_RUNS'] ?? 200), endOnFailure: true },
  )
})

function boundaryOf(
  lastSeq: number,
  {
    kept,
    rewound,
    summaries,
    since,
  }: Omit<typeof views extends fc.Arbitrary<infer View> ? View : never, 'padding'>,
): Boundary | null {
  const position = lastSeq - since
  if (position <= 0) return null
  const seqs = Array.from({ length: position }, (_, index) => index + 1)
  const pick = (mask: number) => rangesOf(seqs.filter((seq) => ((mask >>> (seq % 32)) & 1) === 1))
  const isThere = (seq: number) => seq <= position && !rangesInclude(pick(rewound), seq)
  const first = summaries.filter(isThere)
  return {
    id: 'boundary',
    position,
    summaries: first,
    kept: subtractRanges(pick(kept), normalizeRanges([...pick(rewound), ...rangesOf(first)])),
    rewound: pick(rewound),
    appended: 0,
    createdAt: 0,
  }
}

test('a recall over sessions does so too, and passes over the sessions of others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(events, events, events),
      filters,
      fc.nat(30),
      fc.record({ offset: fc.nat(6), limit: fc.integer({ min: 1, max: 6 }) }),
      fc.array(fc.nat(20), { maxLength: 2 }),
      fc.constantFrom(...DAMAGES),
      async (generated, filter, through, page, damaged, kind) => {
        const logs = new Map(generated.map((log, index) => [index + 1, recordsOf(log)]))
        const source = damagedSource(seal(logs, through), damaged, kind)
        const sessions = new Map([...logs].map(([number, log]) => [number, sessionOf(log, number)]))
        sessions.delete(3) // of somebody else
        const answer = await recallBlocks(
          { now: 0, userId: 'u', filter: EventFilter.of(filter).toJSON(), ...page },
          {
            blocks: source,
            tails: async () =>
              [...logs].flatMap(([session, log]) =>
                log.length > through ? [{ session, first: through + 1, last: log.length }] : [],
              ),
            session: async (number) => sessions.get(number) ?? null,
            sessions: async () => [...sessions.values()],
            open: ({ number }) => logSource(logs.get(number) ?? []),
          },
        )
        const expected = [...sessions]
          .flatMap(([number, { id }]) =>
            EventFilter.of(filter).apply(viewsOf(logs.get(number) ?? [], id)),
          )
          .map(({ sessionId, seq, timestamp }) => ({ sessionId, seq, time: timestamp.getTime() }))
          .sort(
            (a, b) => a.time - b.time || a.sessionId.localeCompare(b.sessionId) || a.seq - b.seq,
          )
          .slice(page.offset, page.offset + page.limit)
        expect(
          answer.events.map(({ sessionId, seq, timestamp }) => ({
            sessionId,
            seq,
            time: timestamp,
          })),
        ).toEqual(expected)
      },
    ),
    { numRuns: Number(process.env['TURNLOG_RUNS'] ?? 600) },
  )
})

test('signatures that are cut short are damage, and do not hide words', () => {
  const log = recordsOf([
    { text: 'hidden', role: 'user', branch: null, synthetic: false, timestamp: 0 },
  ])
  const group = seal(new Map([[1, log]]), 1).groups.get(0) as StoredGroup
  expect(decodeGroup(group)).toHaveLength(1)
  for (const end of [0, 1, 60, group.signatures.length - 1]) {
    const signatures = group.signatures.slice(0, end)
    expect(() => decodeGroup({ ...group, signatures }), `${end}`).toThrow('signatures')
  }
})

test('a term is found wherever it stands, of any length and script', async () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '中', '\ud83c', 'é', '\u0000'),
    maxLength: 12,
  })
  await fc.assert(
    fc.property(fc.array(text), text, text, text, (others, before, term, after) => {
      const signature = signatureOf([...others, before + term + after])
      expect(mayContain(signature, sequencesOf(term))).toBe(true)
    }),
  )
})

test('most blocks without a term are passed over, also for short ones', () => {
  const words = Array.from({ length: 4000 }, (_, index) => `w${(index * 7919).toString(36)}`)
  const signature = signatureOf(words.map((word) => `said ${word} again`))
  const absent = Array.from({ length: 1000 }, (_, index) =>
    String.fromCharCode(0x4e00 + index * 7, 0x5e00 + index * 5),
  )
  const kept = absent.filter((term) => mayContain(signature, sequencesOf(term)))
  expect(kept.length).toBeLessThan(50)
})

function recordsOf(
  log: readonly {
    text: string
    role: MessageType
    branch: string | null
    synthetic: boolean
    timestamp: number
  }[],
  padding = 0,
) {
  const metadata = padding === 0 ? {} : { padding: 'x'.repeat(padding) }
  let latestTimestamp = 0
  return log.map(({ text, role, ...rest }, index): EventRecord => {
    latestTimestamp = Math.max(latestTimestamp, rest.timestamp)
    const body = encodeBody({ role, content: text }, metadata)
    return { ...rest, id: `e${index + 1}`, seq: index + 1, role, body, latestTimestamp }
  })
}

function logSource(
  log: readonly EventRecord[],
  index?: ReturnType<typeof createLogIndex>,
): LogSource {
  return {
    index,
    async read(ranges) {
      return ranges.flatMap(([first, last]) => log.slice(first - 1, last))
    },
    async latestTimestampAt(seq) {
      return log[seq - 1]?.latestTimestamp ?? null
    },
    async lateSeqs(from, to) {
      return log
        .filter(
          ({ timestamp, latestTimestamp }) =>
            timestamp < latestTimestamp && timestamp >= from && timestamp <= to,
        )
        .map(({ seq }) => seq)
    },
  }
}

function sessionOf(log: readonly EventRecord[], number = 1): SessionRecord {
  return {
    number,
    id: `s${number}`,
    userId: 'u',
    createdAt: 0,
    expiresAt: null,
    slidingTimeToLive: null,
    metadata: '{}',
    lastSeq: log.length,
    version: log.length,
    lastEventAt: null,
    latestTimestamp: null,
    boundary: null,
  }
}
