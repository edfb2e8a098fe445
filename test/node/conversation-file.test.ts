// Files in LoCoMo's format are read as they are meant, or refused by what is wrong with them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readConversations } from '../../scripts/conversation-file.ts'
import { root } from '../../scripts/entries.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnlog-conversation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function read(content: unknown) {
  const file = join(folder, 'conversations.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return readConversations(file)
}

const conversation = {
  speaker_a: 'Ana',
  speaker_b: 'Bo',
  session_2: [{ speaker: 'Bo', dia_id: 'D2:1', text: 'Later' }],
  session_2_date_time: '12:05 am on 29 February, 2024',
  session_1: [
    { speaker: 'Ana', dia_id: 'D1:1', text: 'First', blip_caption: 'a dog' },
    { speaker: 'Bo', dia_id: 'D1:2', text: 'Second' },
  ],
  session_1_date_time: '12:30 pm on 8 May, 2023',
  session_3_date_time: '1:56 pm on 9 May, 2023',
}

test('turns come in the order of the sittings, half a minute apart', () => {
  const [first] = read([{ sample_id: 'one', conversation }])
  expect(first).toMatchObject({ id: 'one', speakers: ['Ana', 'Bo'] })
  expect(first?.turns).toEqual([
    { id: 'D1:1', role: 'user', text: 'First', timestamp: Date.UTC(2023, 4, 8, 12, 30) },
    { id: 'D1:2', role: 'assistant', text: 'Second', timestamp: Date.UTC(2023, 4, 8, 12, 30, 30) },
    { id: 'D2:1', role: 'assistant', text: 'Later', timestamp: Date.UTC(2024, 1, 29, 0, 5) },
  ])
})

test('evidence is told apart, and what names no turn is left out', () => {
  const qa = [
    { question: 'What?', answer: 2023, evidence: ['D1:1; D2:1', 'D1:2,D9:9', 'D'], category: 1 },
    { question: 'Why?', evidence: [], category: 5 },
  ]
  expect(read([{ conversation, qa }])[0]?.questions).toEqual([
    {
      question: 'What?',
      answer: '2023',
      evidence: ['D1:1', 'D2:1', 'D1:2'],
      category: 1,
      query: null,
    },
    { question: 'Why?', answer: '', evidence: [], category: 5, query: null },
  ])
})

const [turn] = conversation.session_1

test.for([
  ['no JSON', '{', 'cannot be read'],
  ['an object', {}, 'must be a JSON array'],
  ['no samples', [], 'must be a JSON array'],
  [
    'no speaker',
    [{ conversation: { speaker_a: 'Ana' } }],
    'sample 0: conversation.speaker_b must be',
  ],
  ['no turns', [{ conversation: { speaker_a: 'Ana', speaker_b: 'Bo' } }], 'has no turns'],
  [
    'no time',
    [{ conversation: { ...conversation, session_1_date_time: 'noon' } }],
    '"noon" is not',
  ],
  ['a third speaker', [{ conversation: { ...conversation, speaker_b: 'Cy' } }], 'is said by "Bo"'],
  ['an id twice', [{ conversation: { ...conversation, session_2: [turn] } }], 'comes twice'],
] as const)('%s is refused', ([, content, problem]) => {
  expect(() => read(content)).toThrow(problem)
})

test('the conversation of the project is one in its format, with answers in its old part', () => {
  const [own, ...rest] = readConversations(join(root, 'examples/conversation.json'))
  expect(rest).toEqual([])
  expect(own?.turns).toHaveLength(64)
  for (const { query, evidence } of own?.questions ?? []) {
    expect(evidence.length).toBeGreaterThan(0)
    expect(query).toMatch(/\S/)
  }
})
