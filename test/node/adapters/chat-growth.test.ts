// Messages that grow at random, saved at random moments by random copies of them.
import { convertToModelMessages, type ModelMessage, validateUIMessages } from 'ai'
import fc from 'fast-check'
import { createSessionMemory } from 'turnlog'
import { createChatHistory } from 'turnlog/ai-sdk'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'
import { runs } from '../../support/random-conversation.ts'
import { answer, everyPart, question, toolStates } from '../../support/ui-messages.ts'

/** The states that one tool part goes through. */
const lives: readonly (readonly string[])[] = [
  ['input-streaming', 'input-available', 'output-available, preliminary', 'output-available, text'],
  ['input-available', 'output-error'],
  ['input-streaming without input', 'output-error without input'],
  ['approval-requested', 'approval-responded, granted', 'output-error, after approval'],
  ['approval-requested', 'approval-responded, refused', 'output-denied'],
  ['output-available, by the provider'],
]

const loose = Object.entries(everyPart)
  .filter(([name, part]) => !name.includes('tool') && (part as { type: string }).type !== 'text')
  .map(([, part]) => part)

/** A part as it looks after a number of moments. */
type Growing = (moment: number, id: string) => object

const growing: fc.Arbitrary<Growing> = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }).map(
    (text): Growing =>
      (moment) => {
        const characters = [...text]
        const length = Math.min(
          characters.length,
          Math.ceil((characters.length * (moment + 1)) / 4),
        )
        const state = length === characters.length ? 'done' : 'streaming'
        return { type: 'text', text: characters.slice(0, length).join(''), state }
      },
  ),
  fc.constantFrom(...loose).map(
    (part): Growing =>
      () =>
        part,
  ),
  fc.constantFrom(...lives).map(
    (states): Growing =>
      (moment, id) => {
        const state = states[Math.min(moment, states.length - 1)] ?? ''
        const { approval, ...part } = toolStates[state] as { approval?: object }
        const own = approval === undefined ? {} : { approval: { ...approval, id: `ok ${id}` } }
        return { type: 'tool-look', ...part, ...own, toolCallId: id }
      },
  ),
)

test('whatever is saved when, the newest copy comes back, and the model is told everything once', async () => {
  const moments = fc.array(fc.tuple(fc.nat({ max: 24 }), fc.boolean()), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(growing, { minLength: 1, maxLength: 6 }),
      moments,
      async (parts, at) => {
        const service = createInMemorySessionService<ModelMessage>({ defaultUserId: 'ana' })
        const history = createChatHistory(service)
        // One part after the other, four moments each.
        const copy = (moment: number) =>
          answer(
            'a',
            ...parts.flatMap((part, index) =>
              moment >= 4 * index ? [part(moment - 4 * index, `T${index}`)] : [],
            ),
          )
        await history.save('s', [question('u', 'Go')])
        let newest = 0
        for (const [moment, isStale] of at) {
          // A copy of an earlier moment comes from somebody who has seen less.
          if (!isStale) newest = Math.max(newest, moment)
          await history.save('s', [copy(isStale ? Math.min(moment, newest) : newest)])
        }
        newest = 30
        await history.save('s', [copy(newest)])
        const stored = [question('u', 'Go'), copy(newest)]
        const loaded = await history.load('s')
        expect(loaded).toEqual(JSON.parse(JSON.stringify(stored)))
        expect(await validateUIMessages({ messages: loaded })).toEqual(loaded)
        await convertToModelMessages(loaded)
        const events = (await service.getEvents('s')).length
        await history.save('s', loaded)
        expect((await service.getEvents('s')).length).toBe(events)

        const run = await createSessionMemory(service).begin({ sessionId: 's', messages: [] })
        const told = run.messages.flatMap(({ content }) =>
          typeof content === 'string' ? [] : (content as { type: string; toolCallId?: string }[]),
        )
        for (const kind of ['tool-call', 'tool-result']) {
          const ids = told.filter(({ type }) => type === kind).map(({ toolCallId }) => toolCallId)
          expect(new Set(ids).size).toBe(ids.length)
        }
        const texts = (list: readonly { type: string }[]) =>
          list.flatMap((part) =>
            part.type === 'text' ? (part as unknown as { text: string }).text : [],
          )
        const own = loaded[1]?.parts ?? []
        const words = texts(own.filter(({ type }) => type === 'text')).join('')
        const said = texts(
          run.messages
            .filter(({ role }) => role === 'assistant')
            .flatMap(({ content }) => content as { type: string }[]),
        )
        expect(said.join('')).toBe(words)
      },
    ),
    { numRuns: runs(300) },
  )
})
