/** Large events: up to 8 MiB each and 24 MiB a batch, kept unit for unit. */

import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import { idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** A text whose pieces all differ, so that a swapped or lost one shows. */
function longText(units: number, alphabet: string): string {
  let text = ''
  for (let index = 0; text.length < units; index++) {
    text += `${index}${alphabet.repeat(10)}`
  }
  return text.slice(0, units).toWellFormed()
}

export const largeEventCases: readonly StoreCase[] = [
  {
    name: 'large events: 3 MB of ASCII comes back unit for unit',
    async run({ service }) {
      await service.create({ id: 's' })
      const content = longText(3_000_000, 'abcdefghij ')
      await service.appendEvent('s', userEvent('before'))
      await service.appendEvent('s', userEvent('big', content))
      await service.appendEvent('s', userEvent('after'))
      const log = await service.getEvents('s')
      assertEqual(idsOf(log), ['before', 'big', 'after'], 'the log')
      assertTrue(log[1]?.message.content === content, 'the text is the same')
      assertEqual(
        idsOf(await service.getEvents('s', { keyword: content.slice(-50) })),
        ['big'],
        'its end is found',
      )
    },
  },
  {
    name: 'large events: a million three-byte characters, and emoji on every edge',
    async run({ service }) {
      await service.create({ id: 's' })
      const chinese = longText(1_000_000, '悬空引用清零')
      const emoji = longText(600_001, '👩‍👩‍👧🏷')
      await service.appendEvents('s', [userEvent('chinese', chinese), userEvent('emoji', emoji)])
      const [first, second] = await service.getEvents('s')
      assertTrue(first?.message.content === chinese, 'the Chinese text is the same')
      assertTrue(second?.message.content === emoji, 'the emoji are the same')
    },
  },
  {
    name: 'large events: two parts of 1.5 MB in one event',
    async run({ service }) {
      await service.create({ id: 's' })
      const text = longText(1_500_000, 'one "quoted" \\ part\n')
      const output = longText(1_500_000, 'another')
      const content = [
        { type: 'text', text },
        {
          type: 'tool-result',
          toolCallId: 'c',
          toolName: 't',
          output: { type: 'text', value: output },
        },
      ]
      await service.appendEvent('s', {
        id: 'big',
        message: { role: 'assistant', content },
        metadata: { note: 'kept' },
      })
      const [event] = await service.getEvents('s')
      assertTrue(
        JSON.stringify(event?.message.content) === JSON.stringify(content),
        'both parts are the same',
      )
      assertEqual(event?.metadata, { note: 'kept' }, 'the metadata')
    },
  },
  {
    name: 'large events: 9 MB is refused with both sizes, and the next append works',
    async run({ service }) {
      await service.create({ id: 's' })
      const error = await assertFails(
        () => service.appendEvent('s', userEvent('big', 'x'.repeat(9_000_000))),
        'EVENT_TOO_LARGE',
        'an event of 9 MB',
        ['8388608'],
      )
      assertEqual(error.details?.['limit'], 8 << 20, 'details.limit')
      assertTrue(Number(error.details?.['size']) > 9_000_000, 'details.size is the size')
      await assertFails(
        () => service.appendEvents('s', [userEvent('a'), userEvent('big', '长'.repeat(2_900_000))]),
        'EVENT_TOO_LARGE',
        'a batch with one of 8.7 MB in UTF-8',
        ['events[1]'],
      )
      assertEqual(await service.getEvents('s'), [], 'the log')
      assertEqual((await service.appendEvent('s', userEvent('small'))).seq, 1, 'the next seq')
    },
  },
  {
    name: 'large events: one at the limit, and a batch at its limit',
    async run({ service }) {
      await service.create({ id: 's' })
      // What JSON adds around the text: {"message":{"role":"user","content":""},"metadata":{}}
      const around = JSON.stringify({ message: { role: 'user', content: '' }, metadata: {} }).length
      const content = longText((8 << 20) - around, 'abcdefghijklmnop')
      const events = ['a', 'b', 'c'].map((id) => userEvent(id, content))
      await service.appendEvents('s', events)
      const texts: string[] = []
      for await (const event of service.iterateEvents('s'))
        texts.push(event.message.content as string)
      assertEqual(
        texts.map((text) => text === content),
        [true, true, true],
        'the texts are the same',
      )
      await assertFails(
        () =>
          service.appendEvents('s', [
            ...events.map((event) => ({ ...event, id: `${event.id}2` })),
            userEvent('d'),
          ]),
        'EVENT_TOO_LARGE',
        'a batch above the limit',
        ['25165824'],
      )
      assertEqual((await service.findById('s'))?.eventCount, 3, 'how many events there are')
    },
  },
  {
    name: 'large events: a large repeat changes nothing, a large summary is a summary',
    async run({ service }) {
      await service.create({ id: 's' })
      const content = 'y'.repeat(2_500_000)
      await service.appendEvent('s', userEvent('big', content, { synthetic: true }))
      const again = await service.appendEvent('s', userEvent('big', 'z'.repeat(2_500_000)))
      assertTrue(again.message.content === content, 'the stored text is returned')
      assertEqual(again.synthetic, true, 'synthetic')
      assertEqual(idsOf(await service.getEvents('s', { excludeSynthetic: true })), [], 'real ones')
    },
  },
]
