// The Zod schemas of the tools' arguments are the JSON Schemas that the tools themselves carry.
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { conversationSearchSchema, crossSessionSearchSchema, type JsonObject } from 'turnlog'
import { conversationSearchArguments, crossSessionSearchArguments } from 'turnlog/zod'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const tools = [
  {
    name: 'conversation_search',
    json: conversationSearchSchema,
    zod: conversationSearchArguments,
    sample: { innerThought: 'They mentioned a town.', query: 'Lisbon', page: 2 },
  },
  {
    name: 'cross_session_search',
    json: crossSessionSearchSchema,
    zod: crossSessionSearchArguments,
    sample: {
      innerThought: 'What do they like?',
      query: 'tea, coffee',
      matchMode: 'ALL',
      since: '2025-06-01T12:00:00Z',
      page: 0,
    },
  },
]

describe.for(tools)('$name', ({ json, zod, sample }) => {
  const isValid = new Ajv2020().compile(json)

  test('Zod writes the same JSON Schema, besides the bounds of exact integers', () => {
    const { $schema, ...written } = z.toJSONSchema(zod)
    expect($schema).toBe('https://json-schema.org/draft/2020-12/schema')
    const page = (written.properties as Record<string, object>)['page']
    expect(page).toMatchObject({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    })
    expect(withoutBounds(written)).toEqual(json)
  })

  test('every argument is described', () => {
    const properties = Object.values(json['properties'] as Record<string, JsonObject>)
    for (const { description } of properties) expect(description).toMatch(/\w{3}.*[.;]/)
  })

  test('both accept a full sample and one without what is optional', () => {
    const { innerThought, query } = sample
    for (const value of [sample, { innerThought, query }]) {
      expect(isValid(value)).toBe(true)
      expect(zod.parse(value)).toEqual(value)
    }
  })

  test('both refuse the same wrong values', () => {
    const wrong: readonly unknown[] = [
      null,
      'Lisbon',
      42,
      [],
      [sample],
      {},
      { query: 'Lisbon' },
      { innerThought: 'hm' },
      { ...sample, sessionId: 'of another' },
      { ...sample, page: 1.5 },
      { ...sample, page: '1' },
      { ...sample, page: null },
      { ...sample, query: ['Lisbon'] },
      JSON.parse(`{ "innerThought": "hm", "query": "x", "__proto__": { "page": 1 } }`),
    ]
    for (const value of wrong) {
      expect([value, isValid(value)]).toEqual([value, false])
      expect([value, zod.safeParse(value).success]).toEqual([value, false])
    }
  })

  test('both judge any value alike', () => {
    let accepted = 0
    fc.assert(
      fc.property(anyArguments(Object.keys(sample)), (value) => {
        const verdict = isValid(value)
        if (verdict) accepted++
        expect(zod.safeParse(value).success).toBe(verdict)
      }),
      { numRuns: 2000 },
    )
    expect(accepted).toBeGreaterThan(50) // otherwise the property says nothing
  })

  test('an integer that is not exact is what they differ in', () => {
    const value = { ...sample, page: 2 ** 53 }
    expect(isValid(value)).toBe(true)
    expect(zod.safeParse(value).success).toBe(false)
  })
})

test('the types of the arguments are those that the schemas say', () => {
  expectTypeOf<z.infer<typeof conversationSearchArguments>>().toEqualTypeOf<{
    innerThought: string
    query: string
    page?: number | undefined
  }>()
  expectTypeOf<z.infer<typeof crossSessionSearchArguments>>().toEqualTypeOf<{
    innerThought: string
    query: string
    matchMode?: string | undefined
    since?: string | undefined
    page?: number | undefined
  }>()
})

/** Objects with the right names and mostly right values, and anything else that JSON can say. */
function anyArguments(names: readonly string[]): fc.Arbitrary<unknown> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'binary' }) },
    { weight: 4, arbitrary: fc.maxSafeInteger() },
    { weight: 1, arbitrary: fc.double({ noNaN: true, min: -1e6, max: 1e6 }) },
    { weight: 1, arbitrary: fc.jsonValue().map(withExactIntegers) },
  )
  const likely = fc.record(
    {
      innerThought: fc.oneof({ weight: 9, arbitrary: fc.string() }, value),
      query: fc.oneof({ weight: 9, arbitrary: fc.string() }, value),
      page: fc.oneof({ weight: 9, arbitrary: fc.maxSafeInteger() }, value),
      matchMode: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('any', 'all') }, value),
      since: fc.oneof({ weight: 9, arbitrary: fc.string() }, value),
    },
    { requiredKeys: [] },
  )
  const known = likely.map((given) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name))),
  )
  return fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 1, arbitrary: likely },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...names, 'other', '__proto__'), value) },
    { weight: 1, arbitrary: fc.jsonValue().map(withExactIntegers) },
  )
}

/** JSON values hold numbers beyond what is compared here. */
function withExactIntegers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) =>
    typeof item === 'number' && Math.abs(item) > Number.MAX_SAFE_INTEGER ? 0 : item,
  )
}

function withoutBounds(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema), (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    const { minimum, maximum, ...rest } = item as Record<string, unknown>
    const isExact = minimum === Number.MIN_SAFE_INTEGER && maximum === Number.MAX_SAFE_INTEGER
    return isExact ? rest : item
  })
}
