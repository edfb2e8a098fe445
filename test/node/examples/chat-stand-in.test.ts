// The stand-in of examples/browser-chat: what its rules say to a prompt.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { decide, tellingWords } from '../../../examples/browser-chat/src/model/stand-in.ts'

const user = (text: string): LanguageModelV4Prompt[number] => ({
  role: 'user',
  content: [{ type: 'text', text }],
})
const answer = (text: string): LanguageModelV4Prompt[number] => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
})
const found = (value: string): LanguageModelV4Prompt[number] => ({
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: '1',
      toolName: 'conversation_search',
      output: { type: 'text', value },
    },
  ],
})
const hit = (text: string, type = 'user') => ({ timestamp: '2025-06-01T12:00:00Z', type, text })

test.for([
  ['What did I say about my bicycle?', ['bicycle']],
  ['Where is the harbour feast, and when?', ['harbour', 'feast']],
  ['咖啡店在哪里？', ['咖啡店', '哪里', '在']],
  ['Где велосипед?', ['велосипед', 'Где']],
  ['Who are they?', []],
  ['???', []],
] as const)('the telling words of %s', ([question, words]) => {
  expect(tellingWords(question)).toEqual([...words])
})

test('it says what it is, once, and stores what is no question', () => {
  expect(decide([user('It rains.')], true)).toMatchObject({
    type: 'text',
    text: expect.stringContaining('not a language model'),
  })
  expect(decide([user('It rains.'), answer('Stored.'), user('It pours.')], true)).toEqual({
    type: 'text',
    text: 'Stored.',
  })
})

test('a question is searched word by word until something is found, which is quoted', () => {
  const question = 'Where is the harbour feast?'
  expect(decide([user(question)], true)).toMatchObject({
    type: 'tool-call',
    toolName: 'conversation_search',
    input: { query: 'harbour' },
  })
  const onlyItself = found(JSON.stringify([hit(question)]))
  expect(decide([user(question), onlyItself], true)).toMatchObject({ input: { query: 'feast' } })
  const other = found(JSON.stringify([hit('The feast is in June.\nBring bread.'), hit(question)]))
  expect(decide([user(question), onlyItself, other], true)).toEqual({
    type: 'text',
    text:
      'I searched this conversation for “feast” and found one message:\n\n' +
      '> The feast is in June.\n> Bring bread.\n> — You, 2025-06-01',
  })
  const nothing = found('No results found.')
  expect(decide([user(question), onlyItself, nothing], true)).toEqual({
    type: 'text',
    text: 'I searched this conversation for “harbour”, “feast” and found nothing but your question.',
  })
})

test('it quotes neither its own quotations nor half a character', () => {
  const question = 'What about lanterns?'
  const long = `${'a'.repeat(279)}😀 lanterns`
  const hits = [hit('I searched this conversation for “lanterns” and …', 'assistant'), hit(long)]
  const said = decide([user(question), found(JSON.stringify(hits))], true)
  expect(said).toMatchObject({ type: 'text', text: expect.stringContaining('found one message') })
  expect(said.type === 'text' && said.text.isWellFormed()).toBe(true)
})

test('a stopped answer goes on where it stopped', () => {
  const question = user('Where is the feast?')
  const result = found(JSON.stringify([hit('The feast is in June.')]))
  const whole = decide([question, result], false)
  if (whole.type !== 'text') throw new Error('it has called a tool')
  const begun = whole.text.slice(0, 30)
  const rest = decide([question, result, answer(begun), user('Continue where you stopped.')], false)
  expect(rest).toEqual({ type: 'text', text: whole.text.slice(30).trimStart() })
  const end = decide(
    [question, result, answer(whole.text), user('Continue where you stopped.')],
    false,
  )
  expect(end).toEqual({ type: 'text', text: 'There is no more to say.' })
})
