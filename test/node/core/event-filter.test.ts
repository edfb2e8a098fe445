// EventFilter: what it accepts, what it refuses, and that it never changes.

import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import {
  EventFilter,
  type EventFilterOptions,
  type FilterableEvent,
  isSessionError,
  type MessageType,
} from 'turnlog'
import { describe, expect, test } from 'vitest'

const NOON = Date.UTC(2026, 2, 2, 12)

function event(
  change: Partial<FilterableEvent> & { readonly text?: string } = {},
): FilterableEvent {
  const { text = 'text', ...rest } = change
  return {
    timestamp: new Date(NOON),
    message: { role: 'user', content: text },
    branch: null,
    synthetic: false,
    archived: false,
    rewound: false,
    ...rest,
  }
}

const options: fc.Arbitrary<EventFilterOptions> = fc
  .record(
    {
      from: fc.constantFrom(0, new Date(NOON), '2026-03-02T12:00:00+02:00', null),
      to: fc.constantFrom(NOON, new Date(8.64e15), null),
      messageTypes: fc.subarray<MessageType>(['user', 'assistant', 'system', 'tool']),
      excludeSynthetic: fc.boolean(),
      excludeArchived: fc.boolean(),
      excludeRewound: fc.boolean(),
      keyword: fc.constantFrom('Straße', ' ', 'İ', 'ΣΑΣ', '\ud83d', null),
      keywords: fc.array(fc.constantFrom('A', '', 'ß', ' b ')),
      matchMode: fc.constantFrom('any' as const, 'all' as const),
      branch: fc.constantFrom('', 'a.b', 'A', null),
      lastN: fc.integer({ min: 1, max: 9 }),
    },
    { requiredKeys: [] },
  )
  .chain((rest) =>
    rest.lastN === undefined
      ? fc
          .record({ page: fc.nat(3), pageSize: fc.integer({ min: 1, max: 5 }) })
          .map((paging) => ({ ...rest, ...paging }))
      : fc.constant(rest),
  )

describe('building', () => {
  test('null, undefined and absent are alike, in every field', () => {
    const fields = Object.keys(EventFilter.all().toJSON())
    for (const nothing of [null, undefined]) {
      const filter = EventFilter.of(Object.fromEntries(fields.map((field) => [field, nothing])))
      expect(filter.toJSON()).toEqual(EventFilter.all().toJSON())
    }
  })

  test('a filter is itself, options are read once', () => {
    const filter = EventFilter.lastN(3)
    expect(EventFilter.of(filter)).toBe(filter)
    const given = { messageTypes: ['user'] as MessageType[], keywords: ['A'], from: new Date(NOON) }
    const read = EventFilter.of(given)
    const json = read.toJSON()
    given.messageTypes.push('tool')
    given.keywords.push('B')
    given.from.setTime(0)
    expect(read.toJSON()).toEqual(json)
  })

  test('the builder says the same as the options, and goes on', () => {
    const builder = EventFilter.builder().keyword('A').lastN(5).excludeSynthetic(true)
    const first = builder.build()
    expect(first.toJSON()).toEqual(
      EventFilter.of({ keyword: 'A', lastN: 5, excludeSynthetic: true }).toJSON(),
    )
    expect(builder.lastN(6).build().lastN).toBe(6)
    expect(first.lastN).toBe(5)
  })

  test('the factories', () => {
    const jsonOf = (given: EventFilterOptions) => EventFilter.of(given).toJSON()
    const cases: readonly (readonly [EventFilter, EventFilterOptions])[] = [
      [EventFilter.all(), {}],
      [EventFilter.active(), { excludeArchived: true }],
      [EventFilter.lastN(2), { lastN: 2 }],
      [EventFilter.realOnly(), { excludeSynthetic: true }],
      [EventFilter.forBranch(''), { branch: '' }],
      [EventFilter.keywordSearch('A'), { keyword: 'a', page: 0, pageSize: 10 }],
      [EventFilter.keywordSearch('A', 1, 5), { keyword: 'a', page: 1, pageSize: 5 }],
      [
        EventFilter.keywordsSearch(new Set(['A', 'B']), 'all', 2, 3),
        { keywords: ['a', 'b'], matchMode: 'all', page: 2, pageSize: 3 },
      ],
    ]
    for (const [filter, given] of cases) expect(filter.toJSON()).toEqual(jsonOf(given))
    for (const make of [
      () => EventFilter.lastN(undefined as never),
      () => EventFilter.keywordSearch(null as never),
      () => EventFilter.keywordsSearch(undefined as never),
      () => EventFilter.forBranch(null as never),
    ]) {
      expect(make).toThrow(/is required/)
    }
  })

  test('a field that is wrong is refused by name', () => {
    const bad: Readonly<Record<string, readonly unknown[]>> = {
      from: ['2026-03-02', '2026-03-02T12:00:00', 'now', Number.NaN, new Date('x'), {}, true],
      to: ['12:00:00Z', Number.POSITIVE_INFINITY, []],
      messageTypes: ['user', ['robot'], [null], 5, { user: true }],
      excludeSynthetic: ['true', 1, 0],
      excludeArchived: ['false', {}],
      excludeRewound: ['', []],
      lastN: [0, -1, 2.5, '5', Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, true],
      keyword: [5, ['a'], {}],
      keywords: ['a', [5], 5, { 0: 'a' }],
      matchMode: ['most', 'ANY', 1, true],
      page: [-1, 0.5, '0'],
      pageSize: [0, -1, 1.5, '1'],
      branch: [5, {}, ['a']],
      since: [1],
    }
    for (const [field, values] of Object.entries(bad)) {
      for (const value of values) {
        const rest = field === 'page' ? { pageSize: 1 } : {}
        try {
          EventFilter.of({ ...rest, [field]: value } as EventFilterOptions)
          expect.unreachable(`${field}: ${String(value)}`)
        } catch (error) {
          expect(error).toSatisfy(isSessionError)
          expect(error).toMatchObject({
            code: 'INVALID_FILTER',
            message: expect.stringContaining(field),
          })
        }
      }
    }
    for (const given of [null, undefined, 5, 'all', [], [{}]]) {
      expect(() => EventFilter.of(given as never)).toThrow(/filter must be an object/)
    }
    expect(() => EventFilter.of({ lastN: 1, pageSize: 1 })).toThrow(/lastN.*pageSize/)
    expect(() => EventFilter.of({ page: 1 })).toThrow(/page needs pageSize/)
  })

  test('the keyword shows in plain lower case, and is looked for folded', () => {
    expect(EventFilter.of({ keyword: 'STRASSE ΝΟΜΟΣ' }).keyword).toBe('strasse νομος')
    expect(EventFilter.of({ keywords: ['B', ' ', 'a', 'B'] }).keywords).toEqual(['b', 'a', 'b'])
    expect(EventFilter.of({ keyword: 'STRASSE' }).matches(event({ text: 'Straße' }))).toBe(true)
    expect(EventFilter.of({ keyword: '\u00a0\u3000' }).keyword).toBeNull()
    expect(EventFilter.of({ keyword: '\ufeff\u2028' }).keyword).toBeNull()
    // What trim() leaves is a keyword, also when nobody sees it.
    for (const keyword of ['\u200b', '\u180e', '\u0085', '\0']) {
      expect(EventFilter.of({ keyword }).keyword).toBe(keyword)
      expect(EventFilter.of({ keyword }).matches(event({ text: 'a b' }))).toBe(false)
      expect(EventFilter.of({ keyword }).matches(event({ text: `a${keyword}b` }))).toBe(true)
    }
  })

  test('a page is never -0, which JSON turns into 0', () => {
    expect(EventFilter.of({ page: -0, pageSize: 1 }).page).toBe(0)
    expect(EventFilter.keywordSearch('a', -0).toJSON().page).toBe(0)
  })

  test('half a character is U+FFFD in what is looked for and in what is looked through', () => {
    const finds = (keyword: string, text: string) =>
      EventFilter.of({ keyword }).matches(event({ text }))
    expect(finds('\ud83d', 'broken \ud83d here')).toBe(true)
    expect(finds('\udc00', 'broken \ud83d here')).toBe(true)
    expect(finds('\ud83d', 'whole 😀')).toBe(false)
  })
})

describe('immutability', () => {
  test('nothing of a filter can be changed', () => {
    const filter = EventFilter.of({ messageTypes: ['user'], keywords: ['a'], from: NOON, lastN: 2 })
    const before = JSON.stringify(filter)
    expect(Object.isFrozen(filter)).toBe(true)
    expect(() => Object.assign(filter, { lastN: 5 })).toThrow(TypeError)
    expect(() => (filter.messageTypes as MessageType[]).push('tool')).toThrow(TypeError)
    expect(() => (filter.keywords as string[]).push('b')).toThrow(TypeError)
    filter.from?.setTime(0)
    expect(JSON.stringify(filter)).toBe(before)
  })
})

describe('JSON', () => {
  test('a filter comes back from its JSON, whatever transport it took', () => {
    fc.assert(
      fc.property(options, (given) => {
        const filter = EventFilter.of(given)
        const json = filter.toJSON()
        expect(JSON.parse(JSON.stringify(filter))).toEqual(json)
        expect(EventFilter.fromJSON(JSON.parse(JSON.stringify(filter))).toJSON()).toEqual(json)
        expect(structuredClone(json)).toEqual(json)
        expect(Object.keys(json)).toHaveLength(13)
      }),
    )
  })

  test('instants of another realm, and at the ends of time', () => {
    const foreign: Date = runInNewContext(`new Date(${NOON})`)
    expect(EventFilter.of({ from: foreign }).from).toEqual(new Date(NOON))
    for (const time of [-8.64e15, 8.64e15, -1, 0]) {
      const filter = EventFilter.of({ from: time, to: time })
      expect(EventFilter.fromJSON(filter.toJSON()).toJSON()).toEqual(filter.toJSON())
    }
  })
})

describe('merge', () => {
  const merged = (one: EventFilterOptions, other: EventFilterOptions) => {
    try {
      return EventFilter.of(one).merge(other).toJSON()
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_FILTER' })
      return 'refused'
    }
  }

  test('with all() on either side changes nothing; with itself neither', () => {
    fc.assert(
      fc.property(options, (given) => {
        const json = EventFilter.of(given).toJSON()
        expect(merged(given, {})).toEqual(json)
        expect(merged({}, given)).toEqual(json)
        expect(merged(given, given)).toEqual(json)
      }),
    )
  })

  test('what the other sets wins, flags are either, the rest stays', () => {
    fc.assert(
      fc.property(options, options, (one, other) => {
        const result = merged(one, other)
        const [base, over] = [EventFilter.of(one).toJSON(), EventFilter.of(other).toJSON()]
        if (result === 'refused') {
          expect(Boolean(base.lastN ?? over.lastN) && Boolean(base.pageSize ?? over.pageSize)).toBe(
            true,
          )
          return
        }
        for (const field of Object.keys(base) as (keyof typeof base)[]) {
          const expected = field.startsWith('exclude')
            ? base[field] || over[field]
            : (over[field] ?? base[field])
          expect([field, result[field]]).toEqual([field, expected])
        }
      }),
    )
  })

  test('is associative where it is allowed', () => {
    fc.assert(
      fc.property(options, options, options, (a, b, c) => {
        const left = merged(a, b)
        const right = merged(b, c)
        fc.pre(left !== 'refused' && right !== 'refused')
        expect(merged(left as EventFilterOptions, c)).toEqual(
          merged(a, right as EventFilterOptions),
        )
      }),
    )
  })

  test('lastN with pageSize is refused and names both', () => {
    expect(() => EventFilter.lastN(5).merge({ pageSize: 5 })).toThrow(/lastN.*pageSize/)
    expect(() => EventFilter.of({ page: 1, pageSize: 5 }).merge(EventFilter.lastN(1))).toThrow(
      /lastN.*pageSize/,
    )
  })
})

describe('matches and apply', () => {
  test.each<[string, EventFilterOptions, Partial<FilterableEvent> & { text?: string }, boolean]>([
    ['from is inclusive', { from: NOON }, {}, true],
    ['from excludes a millisecond before', { from: NOON + 1 }, {}, false],
    ['to is inclusive', { to: NOON }, {}, true],
    ['to excludes a millisecond after', { to: NOON - 1 }, {}, false],
    ['an archived event', { excludeArchived: true }, { archived: true }, false],
    ['a rewound event is not active either', { excludeArchived: true }, { rewound: true }, false],
    ['an archived event is not rewound', { excludeRewound: true }, { archived: true }, true],
    ['a rewound event', { excludeRewound: true }, { rewound: true }, false],
    ['a summary', { excludeSynthetic: true }, { synthetic: true }, false],
    ['the root is visible', { branch: 'a' }, { branch: null }, true],
    ['an ancestor is visible', { branch: 'a.b.c' }, { branch: 'a.b' }, true],
    ['a child is not', { branch: 'a.b' }, { branch: 'a.b.c' }, false],
    ['agent_1 is no ancestor of agent_10', { branch: 'a.10' }, { branch: 'a.1' }, false],
    ['an underscore is no wildcard', { branch: 'rootXa' }, { branch: 'root_a' }, false],
    ['the empty branch is a branch of its own', { branch: 'a' }, { branch: '' }, false],
    ['and sees itself', { branch: '' }, { branch: '' }, true],
    ['an empty text matches no keyword', { keyword: 'a' }, { text: '' }, false],
    ['a blank keyword is none', { keyword: ' ' }, { text: '' }, true],
    ['any', { keywords: ['x', 'ext'] }, {}, true],
    ['all', { keywords: ['x', 'y'], matchMode: 'all' }, {}, false],
    ['a keyword and keywords', { keyword: 't', keywords: ['nowhere'] }, {}, false],
  ])('%s', (_, given, change, expected) => {
    expect(EventFilter.of(given).matches(event(change))).toBe(expected)
  })

  test('lastN and pages come after every other criterion', () => {
    const log = Array.from({ length: 20 }, (_, index) => ({
      ...event({ text: index % 3 === 0 ? 'red' : 'blue' }),
      index,
    }))
    const indexes = (given: EventFilterOptions) =>
      EventFilter.of(given)
        .apply(log)
        .map(({ index }) => index)
    expect(indexes({ keyword: 'red', lastN: 3 })).toEqual([12, 15, 18])
    expect(indexes({ keyword: 'red', page: 1, pageSize: 3 })).toEqual([9, 12, 15])
    expect(indexes({ keyword: 'red', page: 3, pageSize: 3 })).toEqual([])
    expect(indexes({ pageSize: 2 })).toEqual([0, 1])
    expect(indexes({ lastN: 1000 })).toHaveLength(20)
    expect(indexes({ page: 2 ** 40, pageSize: 2 ** 52 })).toEqual([])
  })

  test('walking all pages gives every match once', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.integer({ min: 1, max: 9 }), (length, pageSize) => {
        const log = Array.from({ length }, (_, index) => ({ ...event(), index }))
        const walked = []
        for (let page = 0; page * pageSize <= length; page++) {
          walked.push(...EventFilter.of({ page, pageSize }).apply(log))
        }
        expect(walked).toEqual(log)
      }),
    )
  })

  test('only text parts are text', () => {
    const message = {
      role: 'assistant' as const,
      content: [
        { type: 'text', text: 'naïve' },
        { type: 'reasoning', text: 'thought' },
        { type: 'tool-call', toolCallId: '1', toolName: 'called', input: { word: 'input' } },
        { type: 'text', text: 'second' },
      ],
    }
    const finds = (keyword: string) => EventFilter.of({ keyword }).matches(event({ message }))
    expect(['NAÏVE', 'second', 'naïve\nsecond'].map(finds)).toEqual([true, true, true])
    expect(['thought', 'called', 'input', 'naïve second', 'text'].map(finds)).toEqual(
      Array.from({ length: 5 }, () => false),
    )
  })

  test('the two halves of matches agree with it', () => {
    fc.assert(
      fc.property(options, fc.constantFrom('a', 'Straße ß b', ''), (given, text) => {
        const filter = EventFilter.of(given)
        const one = event({ text, branch: 'a' })
        expect(filter.matches(one)).toBe(
          filter.matchesEnvelope(one, one.message.role) && filter.matchesText(one.message),
        )
      }),
    )
  })
})
