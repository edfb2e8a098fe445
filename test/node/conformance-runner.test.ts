// Proves that the runner of the vectors fails what is wrong and skips what it cannot run: a case that
// passes is turned into one that must not.
import { expect, test } from 'vitest'
import { runVectorFile } from '../conformance/runner.ts'
import { vectorFiles } from '../conformance/vector-files.ts'
import { inMemoryHarness } from '../support/in-memory-harness.ts'

type Case = Readonly<Record<string, unknown>> & { readonly name: string }

const harness = inMemoryHarness()

async function outcomeOf(vectorCase: unknown): Promise<string> {
  const [result] = await runVectorFile([vectorCase], harness)
  return result?.outcome ?? 'none'
}

/** What each field of an expectation is when it is wrong. */
function spoil(value: unknown): unknown {
  if (Array.isArray(value)) return [...value, 'nonsense']
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (typeof value === 'string') return `${value} and more`
  if (value === null) return 'something'
  return { ...(value as object), error: undefined, nonsense: 1 }
}

const EXPECTATIONS = [
  'expectIds',
  'userIds',
  'normalized',
  'expectActiveIds',
  'expectArchivedIds',
  'expectTokensSaved',
  'expectLlmCalls',
  'expectFailureCallbacks',
  'expectSystemPrompt',
  'expectFires',
  'expectEventCount',
  'expectTurnCount',
  'expectContains',
  'expectPromptOrder',
]

const casesOf = (file: string) => (vectorFiles[file] ?? []) as readonly Case[]
const everyCase = Object.values(vectorFiles).flat() as readonly Case[]

test.each(EXPECTATIONS)('a wrong %s fails', async (field) => {
  const cases = everyCase.filter(
    (item) =>
      item[field] !== undefined &&
      item['alternative'] === undefined &&
      item['requires'] === undefined &&
      item['priority'] === undefined &&
      // A case whose userIds are ours says nothing by expectIds.
      !(field === 'expectIds' && item['userIds'] !== undefined) &&
      item['expectError'] !== true,
  )
  expect(cases.length).toBeGreaterThan(0)
  for (const item of cases) {
    const spoiled = { ...item, [field]: spoil(item[field]) }
    expect([item.name, await outcomeOf(spoiled)]).toEqual([item.name, 'failed'])
  }
})

test('a wrong answer of a tool fails', async () => {
  for (const file of ['tool-conversation-search', 'tool-cross-session-search']) {
    for (const item of casesOf(file)) {
      if (item['requires'] !== undefined || item['phase'] !== undefined) continue
      const { alternative, ...rest } = item
      const expected = alternative ?? item['expect']
      const wrong = Array.isArray(expected)
        ? 'No results found.'
        : [{ timestamp: '2026-03-02T08:00:00Z', type: 'user', text: 'another' }]
      expect([item.name, await outcomeOf({ ...rest, expect: wrong })]).toEqual([
        item.name,
        'failed',
      ])
    }
  }
})

test('a wrong step of a service fails', async () => {
  let spoiled = 0
  for (const item of casesOf('service')) {
    if (item['alternative'] !== undefined) continue
    const steps = item['steps'] as readonly Readonly<Record<string, unknown>>[]
    if ((await outcomeOf(item)) === 'skipped') continue
    for (const [index, step] of steps.entries()) {
      for (const [field, value] of Object.entries(step)) {
        if (!field.startsWith('expect') || value === 'ok' || field === 'expectedVersion') continue
        if (field === 'expectError' || (field === 'expect' && value === 'error')) continue
        if (field === 'expectSameAs') continue
        if (step['op'] === 'constants') continue
        spoiled++
        const wrong = steps.map((other, place) =>
          place === index ? { ...step, [field]: spoil(value) } : other,
        )
        expect([item.name, index, field, await outcomeOf({ ...item, steps: wrong })]).toEqual([
          item.name,
          index,
          field,
          'failed',
        ])
      }
    }
  }
  expect(spoiled).toBeGreaterThan(80)
})

test('an error that does not come, or comes with other words, fails', async () => {
  const cases = everyCase.filter((item) => item['errorMentions'] !== undefined)
  expect(cases.length).toBeGreaterThan(30)
  for (const item of cases) {
    const spoiled = { ...item, errorMentions: ['a word that no message has'] }
    expect([item.name, await outcomeOf(spoiled)]).toEqual([item.name, 'failed'])
  }
  expect(await outcomeOf({ name: 'x', filter: { lastN: 5 }, expect: 'error' })).toBe('failed')
})

test('cut texts and unordered results are understood', async () => {
  const [first] = casesOf('tool-conversation-search')
  const log = [
    {
      id: 'a',
      sessionId: 's-1',
      timestamp: '2026-03-02T08:00:00Z',
      message: { type: 'user', text: `${'x'.repeat(9000)} needle ${'y'.repeat(9000)}` },
    },
  ]
  const entry = { timestamp: '2026-03-02T08:00:00Z', type: 'user' }
  const ask = (expected: object, more: object = {}) =>
    outcomeOf({
      ...first,
      log,
      args: { innerThought: '', query: 'needle' },
      expect: [expected],
      ...more,
    })
  const cut = { ...entry, textContains: 'x needle y', textMaxLength: 4000, truncated: true }
  expect(await ask(cut)).toBe('passed')
  expect(await ask({ ...cut, textMaxLength: 3999 })).toBe('failed')
  expect(await ask({ ...cut, textContains: 'needles' })).toBe('failed')
  expect(await ask({ ...entry, textContains: 'needle', textMaxLength: 4000 })).toBe('failed')

  const results = [...((first?.['expect'] ?? []) as readonly unknown[])].reverse()
  expect(await outcomeOf({ ...first, expect: results })).toBe('failed')
  expect(await outcomeOf({ ...first, expect: results, unordered: true })).toBe('passed')
  expect(await outcomeOf({ ...first, expect: results.slice(1), unordered: true })).toBe('failed')
})

test('what it cannot run is skipped with the reason', async () => {
  const reasons = async (content: unknown) => {
    const results = await runVectorFile(content, harness)
    return results.map((result) => [
      result.name,
      result.outcome,
      result.outcome === 'passed' ? '' : result.reason,
    ])
  }
  expect(await reasons({ not: 'a list' })).toEqual([
    ['(the file)', 'skipped', 'it is no list of cases'],
  ])
  expect(
    await reasons([
      { name: 'a', requires: 'time travel', log: [], filter: {} },
      { name: 'b', something: 'else' },
      'no case at all',
      { name: 'c', steps: [{ op: 'dance' }] },
      { name: 'd', kind: 'strategy', strategy: { kind: 'dance' }, events: [] },
      { name: 'e', steps: [], alternative: 'it is different' },
      { name: 'f', kind: 'dance' },
      { name: 'g', context: {}, args: {}, expect: [], phase: 'dance' },
    ]),
  ).toEqual([
    ['a', 'skipped', 'it requires time travel'],
    ['b', 'skipped', 'it is of no known shape'],
    ['case 3', 'skipped', 'it is of no known shape'],
    ['c', 'skipped', 'the step "dance" is unknown'],
    ['d', 'skipped', 'the strategy "dance" is unknown'],
    ['e', 'skipped', 'its alternative is prose: it is different'],
    ['f', 'skipped', 'its kind "dance" is unknown'],
    ['g', 'skipped', 'its phase "dance" is unknown'],
  ])
})

test('a case of a free choice may go either way, but no third', async () => {
  const [item] = casesOf('filter-matches').filter(
    ({ priority, alternative }) => priority === 'low' && alternative === undefined,
  )
  expect(await outcomeOf({ ...item, expectIds: ['x'] })).toBe('passed')
  expect(await outcomeOf({ ...item, expectIds: item?.['userIds'], userIds: ['x'] })).toBe('passed')
  expect(await outcomeOf({ ...item, expectIds: ['y'], userIds: ['x'] })).toBe('failed')
})
