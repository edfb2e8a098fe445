// npm run demo does what it says, on its own conversation and on a file in LoCoMo's format, and notices
// a store that loses messages.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../scripts/entries.ts'

test('three stores agree on the conversation that comes with the project', async () => {
  const { code, output } = await runDemo()
  expect(output).toContain('64 messages between Mira and Guide in 8 sittings')
  expect(output).toContain('in Latin, Greek, Cyrillic, Chinese and Japanese letters.')
  expect(output).toContain('Stored, of 64 messages: in memory 64, IndexedDB 64, Durable Object 64.')
  expect(output.match(/events leave the view/g)).toHaveLength(3)
  expect(output).toContain('The prompt sees 24 of 70 events')
  // The same answer twice, side by side, in letters that were written otherwise.
  expect(output).toMatch(/conversation_search {"query":"οδός"}\n.*IndexedDB +│ Durable Object/)
  expect(output).toMatch(
    /Thessaloniki. Their address is ΟΔΌΣ +│ +Thessaloniki. Their address is ΟΔΌΣ/,
  )
  expect(output).toContain('No longer in the prompt, and found: D1:3.')
  expect(output.match(/\d+ hits on +\d+ pages: identical in all three/g)).toHaveLength(5)
  expect(output).toContain('The three stores agree in everything.')
  expect(output).not.toMatch(/different|not found/i)
  expect(code).toBe(0)
})

test.for([
  [
    'indexeddb',
    'IndexedDB',
    'Stored, of 64 messages: in memory 64, IndexedDB 60, Durable Object 64.',
  ],
  [
    'worker',
    'Durable Object',
    'Stored, of 64 messages: in memory 64, IndexedDB 64, Durable Object 60.',
  ],
] as const)('a store that loses messages is noticed: %s', async ([store, title, counts]) => {
  const { code, output } = await runDemo('--sabotage', store)
  expect(output).toContain(counts)
  expect(output).toContain('THE STORES DISAGREE')
  expect(output).toContain(`${title} has another log of radio-film than the reference`)
  expect(output).toMatch(/words .* pages: \d+ DIFFERENT/)
  expect(code).toBe(1)
})

test("a file in LoCoMo's format, of two conversations", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnlog-demo-'))
  try {
    const file = join(folder, 'conversations.json')
    await writeFile(file, JSON.stringify([sample('first', 90), sample('second', 41)]))
    const { code, output } = await runDemo('--data', file)
    expect(output).toContain('131 messages, and 2 in Chinese, which the demo adds')
    expect(output).toContain(
      'Stored, of 133 messages: in memory 133, IndexedDB 133, Durable Object 133.',
    )
    expect(output).toMatch(/first: 91 messages; compactions archived \d+, \d+, \d+/)
    expect(output).toContain('conversation_search {"query":"lantern3"}')
    expect(output).toContain('The three stores agree in everything.')
    expect(code).toBe(0)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test.for([
  [['--data', 'missing.json'], 'missing.json cannot be read'],
  [['--data', 'package.json'], 'must be a JSON array of conversations'],
  [['--sabotage', 'memory'], 'is "indexeddb" or "worker", not "memory"'],
  [['--fast'], '--fast'],
] as const)('wrong options are explained: %s', async ([options, message]) => {
  const { code, output } = await runDemo(...options)
  expect(output).toContain(message)
  expect(output).toContain('npm run demo [-- OPTIONS]')
  expect(code).toBe(2)
})

async function runDemo(...options: readonly string[]): Promise<{ code: number; output: string }> {
  const { INIT_CWD: _, ...env } = process.env
  const child = spawn(process.execPath, ['scripts/demo.ts', ...options], { cwd: root, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code = await new Promise<number>((resolve) => child.once('close', resolve))
  return { code, output }
}

/** A conversation with evidence in the old part and, as in LoCoMo, things that have to be put up with. */
function sample(id: string, turns: number) {
  const said = Array.from({ length: turns }, (_, index) => ({
    speaker: index % 3 === 1 ? 'Bo' : 'Ana',
    dia_id: `D${index < 20 ? 1 : 10}:${index}`,
    text: `We carried lantern${index} to harbour ${index % 7}.`,
    blip_caption: 'a photo',
  }))
  return {
    sample_id: id,
    conversation: {
      speaker_a: 'Ana',
      speaker_b: 'Bo',
      session_10: said.slice(20),
      session_10_date_time: '12:05 am on 29 February, 2024',
      session_1: said.slice(0, 20),
      session_1_date_time: '12:30 pm on 8 May, 2023',
      session_2_date_time: '1:00 pm on 9 May, 2023',
    },
    qa: [
      { question: 'Who slept?', evidence: [], category: 5, adversarial_answer: 'Bo' },
      { question: 'When?', answer: 2023, evidence: ['D1:2'], category: 2 },
      {
        question: 'What did they carry?',
        answer: 'lantern3',
        evidence: ['D1:3; D9:9'],
        category: 1,
      },
    ],
  }
}
