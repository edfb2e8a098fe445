/** The stored form: plain JSON data, a snapshot, the same in every store. */

import type { EventInput } from '../../core/session.ts'
import { assertEqual, assertFails, assertPresent } from '../assertions.ts'
import { userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** Wraps an object and everything in it, as reactive frameworks do. */
function reactive<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, key, receiver) {
      const value: unknown = Reflect.get(object, key, receiver)
      return typeof value === 'object' && value !== null ? reactive(value) : value
    },
  })
}

export const storedFormCases: readonly StoreCase[] = [
  {
    name: 'stored form: a reactive Proxy is stored as plain data',
    async run({ service }) {
      await service.create({ id: 's', metadata: reactive({ tags: ['a'] }) })
      const plain = {
        id: 'e',
        message: { role: 'assistant', content: [{ type: 'text', text: 'hi', nested: { a: [1] } }] },
        metadata: { steps: [{ name: 'one' }] },
      }
      await service.appendEvent('s', reactive(plain) as EventInput)
      const [event] = await service.getEvents('s')
      assertEqual<unknown>(event?.message, plain.message, 'the message')
      assertEqual<unknown>(event?.metadata, plain.metadata, 'the metadata')
      assertEqual((await service.findById('s'))?.metadata, { tags: ['a'] }, 'the session metadata')
    },
  },
  {
    name: 'stored form: later changes by the caller reach nothing',
    async run({ service }) {
      const sessionMetadata = { list: [1] }
      await service.create({ id: 's', metadata: sessionMetadata })
      const message = { role: 'user' as const, content: [{ type: 'text', text: 'before' }] }
      const metadata = { list: ['before'] }
      const appending = service.appendEvent('s', { id: 'e', message, metadata })
      const appended = await appending
      for (const part of message.content) part.text = 'after'
      metadata.list.push('after')
      sessionMetadata.list.push(2)
      const [read] = await service.getEvents('s')
      for (const [name, event] of Object.entries({ appended, read })) {
        assertEqual<unknown>(
          event?.message.content,
          [{ type: 'text', text: 'before' }],
          `the message ${name}`,
        )
        assertEqual<unknown>(event?.metadata, { list: ['before'] }, `the metadata ${name}`)
      }
      assertEqual((await service.findById('s'))?.metadata, { list: [1] }, 'the session metadata')
    },
  },
  {
    name: 'stored form: changing what a read gave reaches nothing',
    async run({ service }) {
      await service.create({ id: 's', metadata: { list: [1] } })
      await service.appendEvent('s', {
        id: 'e',
        message: { role: 'user', content: [{ type: 'text', text: 'x' }] as never },
      })
      const [event] = await service.getEvents('s')
      const [part] = assertPresent(event, 'the event').message.content as unknown as {
        text: string
      }[]
      if (part !== undefined) part.text = 'changed'
      const session = (await service.findById('s')) as { metadata: { list: number[] } } | null
      session?.metadata.list.push(2)
      assertEqual<unknown>(
        (await service.getMessages('s'))[0]?.content,
        [{ type: 'text', text: 'x' }],
        'the message',
      )
      assertEqual((await service.findById('s'))?.metadata, { list: [1] }, 'the session metadata')
    },
  },
  {
    name: 'stored form: undefined is dropped in objects and null in arrays, null stays',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvent('s', {
        message: { role: 'user', content: 'x', extra: undefined, kept: null } as never,
        metadata: {
          gone: undefined,
          nothing: null,
          list: [undefined, null, 1],
          // biome-ignore lint/suspicious/noSparseArray: callers have them
          hole: [, 2] as never,
        },
      })
      const [event] = await service.getEvents('s')
      assertEqual<unknown>(
        event?.message,
        { role: 'user', content: 'x', kept: null },
        'the message',
      )
      assertEqual<unknown>(
        event?.metadata,
        { nothing: null, list: [null, null, 1], hole: [null, 2] },
        'the metadata',
      )
    },
  },
  {
    name: 'stored form: toJSON is honoured; Date and URL become their strings',
    async run({ service }) {
      await service.create({ id: 's' })
      class Money {
        readonly amount = 5
        toJSON() {
          return { euro: this.amount, at: new Date(0) }
        }
      }
      await service.appendEvent('s', {
        message: {
          role: 'user',
          content: [{ type: 'image', image: new URL('https://example.com/a b') }] as never,
        },
        metadata: {
          price: new Money(),
          at: new Date('2026-03-02T08:00:00Z'),
          class: new (class {
            a = 1
          })(),
        },
      })
      const [event] = await service.getEvents('s')
      assertEqual<unknown>(
        event?.message.content,
        [{ type: 'image', image: 'https://example.com/a%20b' }],
        'the message',
      )
      assertEqual<unknown>(
        event?.metadata,
        {
          price: { euro: 5, at: '1970-01-01T00:00:00.000Z' },
          at: '2026-03-02T08:00:00.000Z',
          class: { a: 1 },
        },
        'the metadata',
      )
    },
  },
  {
    name: 'stored form: binary becomes base64',
    async run({ service }) {
      await service.create({ id: 's' })
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      await service.appendEvent('s', {
        message: {
          role: 'user',
          content: [
            { type: 'file', mediaType: 'a/b', data: bytes },
            { type: 'file', mediaType: 'a/b', data: bytes.subarray(1, 3) },
            { type: 'file', mediaType: 'a/b', data: bytes.slice(250).buffer },
            { type: 'file', mediaType: 'a/b', data: new Uint8Array() },
          ] as never,
        },
      })
      const [event] = await service.getEvents('s')
      const data = (
        assertPresent(event, 'the event').message.content as unknown as { data: string }[]
      ).map((part) => part.data)
      assertEqual(data.slice(1), ['AQI=', '+vv8/f7/', ''], 'the short ones')
      assertEqual(data[0]?.length, 344, 'the length of 256 bytes')
      assertEqual(data[0]?.slice(0, 24), 'AAECAwQFBgcICQoLDA0ODxAR', 'its beginning')
    },
  },
  {
    name: 'stored form: lone surrogates become U+FFFD, in keys as well; everything else is kept',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvent(
        's',
        userEvent('e', 'a\ud83d b\udc00 🏷 \u0000 \u2028 \ufeff', {
          metadata: { 'k\ud800': 'v\udfff' },
        }),
      )
      const [event] = await service.getEvents('s')
      assertEqual(event?.message.content, 'a\ufffd b\ufffd 🏷 \u0000 \u2028 \ufeff', 'the text')
      assertEqual<unknown>(event?.metadata, { 'k\ufffd': 'v\ufffd' }, 'the metadata')
    },
  },
  {
    name: 'stored form: what JSON cannot hold is refused with its path, and nothing stored',
    async run({ service }) {
      await service.create({ id: 's' })
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      const bad: Readonly<Record<string, unknown>> = {
        'metadata.execute': { execute: () => 1 },
        'metadata.nested.list[1]': { nested: { list: [1, Number.NaN] } },
        'metadata.infinite': { infinite: Number.POSITIVE_INFINITY },
        'metadata.big': { big: 1n },
        'metadata.symbol': { symbol: Symbol('s') },
        'metadata.map': { map: new Map([['a', 1]]) },
        'metadata.set': { set: new Set([1]) },
        'metadata.self': cycle,
        'metadata["odd key"]': { 'odd key': () => 1 },
      }
      for (const [path, metadata] of Object.entries(bad)) {
        await assertFails(
          () => service.appendEvent('s', userEvent('e', 'x', { metadata: metadata as never })),
          'INVALID_EVENT',
          path,
          [path],
        )
        await assertFails(
          () => service.update('s', { metadata: metadata as never }),
          'INVALID_ARGUMENT',
          `${path} of a session`,
          [path],
        )
      }
      await assertFails(
        () =>
          service.appendMessage('s', {
            role: 'tool',
            content: [
              { type: 'tool-result', toolCallId: 'c', toolName: 't', output: { value: [1n] } },
            ] as never,
          }),
        'INVALID_EVENT',
        'a bigint in a message',
        ['message.content[0].output.value[0]'],
      )
      assertEqual(await service.getEvents('s'), [], 'the log')
      assertEqual((await service.findById('s'))?.metadata, {}, 'the session metadata')
    },
  },
  {
    name: 'stored form: unknown parts and keys are kept, odd keys included',
    async run({ service }) {
      await service.create({ id: 's' })
      const message = JSON.parse(
        '{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"1","approved":false},' +
          '{"type":"custom","__proto__":{"a":1},"2":"two","1":"one","":"empty"}],' +
          '"providerOptions":{"x":{"cache":[true,1.5e-7,-0.1,123456789012345680000]}}}',
      )
      const metadata = JSON.parse('{"__proto__":1,"toString":"x","a.b":{"c d":null}}')
      await service.appendEvent('s', { message, metadata })
      const [event] = await service.getEvents('s')
      assertEqual(JSON.stringify(event?.message), JSON.stringify(message), 'the message')
      assertEqual(JSON.stringify(event?.metadata), JSON.stringify(metadata), 'the metadata')
    },
  },
  {
    name: 'stored form: synthetic is mirrored in the metadata, whichever way it was said',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', [
        userEvent('flag', 'x', { synthetic: true, metadata: { a: 1 } }),
        userEvent('metadata', 'x', { metadata: { synthetic: true } }),
        userEvent('neither', 'x', { synthetic: false }),
        userEvent('text', 'x', { metadata: { synthetic: 'yes' } }),
      ])
      const log = await service.getEvents('s')
      assertEqual(
        log.map(({ synthetic }) => synthetic),
        [true, true, false, false],
        'synthetic',
      )
      assertEqual<unknown>(
        log.map(({ metadata }) => metadata),
        [{ a: 1, synthetic: true }, { synthetic: true }, {}, { synthetic: 'yes' }],
        'the metadata',
      )
      const real = await service.getEvents('s', { excludeSynthetic: true })
      assertEqual(
        real.map(({ id }) => id),
        ['neither', 'text'],
        'the real ones',
      )
    },
  },
  {
    name: 'stored form: flags and numbers come back with their types',
    async run({ service }) {
      await service.create({ id: 's' })
      const metadata = { yes: true, no: false, zero: 0, minus: -0, five: 5, text: '5', half: 0.5 }
      await service.appendEvent('s', userEvent('5', '5', { metadata, branch: '5', timestamp: 5 }))
      const [event] = await service.getEvents('s')
      assertEqual<unknown>(event?.metadata, { ...metadata, minus: 0 }, 'the metadata')
      assertEqual<unknown>(
        [event?.id, event?.branch, event?.synthetic, event?.archived, event?.rewound, event?.seq],
        ['5', '5', false, false, false, 1],
        'id, branch, synthetic, archived, rewound, seq',
      )
      assertEqual(event?.timestamp, new Date(5), 'the timestamp')
    },
  },
  {
    name: 'stored form: a timestamp is the same instant however it is given, or refused',
    async run({ service }) {
      await service.create({ id: 's' })
      const instant = Date.parse('2026-03-02T08:30:00.123Z')
      const given = [
        instant,
        instant + 0.9,
        new Date(instant),
        '2026-03-02T08:30:00.123Z',
        '2026-03-02t09:30:00.1239+01:00',
        '2026-03-01T23:00:00.123456789-09:30',
      ]
      await service.appendEvents(
        's',
        given.map((timestamp, index) => userEvent(`e${index}`, 'x', { timestamp })),
      )
      for (const event of await service.getEvents('s')) {
        assertEqual(event.timestamp, new Date(instant), `the timestamp of ${event.id}`)
      }
      for (const timestamp of [
        Number.NaN,
        new Date('garbage'),
        '2026-03-02',
        '2026-03-02T08:30:00',
        '',
        9e15,
        {},
        true,
      ]) {
        await assertFails(
          () => service.appendEvent('s', userEvent('bad', 'x', { timestamp: timestamp as never })),
          'INVALID_EVENT',
          `the timestamp ${String(timestamp)}`,
          ['timestamp'],
        )
      }
      assertEqual((await service.getEvents('s')).length, given.length, 'how many events there are')
    },
  },
  {
    name: 'stored form: tool calls and results keep their ids and order',
    async run({ service }) {
      await service.create({ id: 's' })
      const call = (id: string) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: 'same',
        input: { id },
      })
      const result = (id: string) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: 'same',
        output: { type: 'json', value: { of: id } },
      })
      const messages = [
        { role: 'user', content: 'both, please' },
        { role: 'assistant', content: [call('A'), call('B')] },
        { role: 'tool', content: [result('B'), result('A')] },
        { role: 'assistant', content: 'done' },
      ] as const
      for (const message of messages) await service.appendMessage('s', message as never)
      assertEqual<unknown>(await service.getMessages('s'), [...messages], 'the messages')
    },
  },
  {
    name: 'stored form: malformed messages are refused with their path',
    async run({ service }) {
      await service.create({ id: 's' })
      const bad: Readonly<Record<string, unknown>> = {
        'message ': undefined,
        'message.role': { role: 'robot', content: 'x' },
        'message.content': { role: 'user', content: null },
        'message.content[1]': { role: 'user', content: [{ type: 'text', text: 'x' }, 'y'] },
        'message.content[0].text': { role: 'user', content: [{ type: 'text' }] },
        'message.content[0].toolCallId': { role: 'assistant', content: [{ type: 'tool-call' }] },
      }
      for (const [path, message] of Object.entries(bad)) {
        await assertFails(
          () => service.appendEvent('s', { message } as never),
          'INVALID_EVENT',
          path,
          [path],
        )
      }
      for (const event of [null, undefined, 'text', 5]) {
        await assertFails(
          () => service.appendEvent('s', event as never),
          'INVALID_EVENT',
          `the event ${String(event)}`,
        )
      }
      const fields: Readonly<Record<string, unknown>> = {
        branch: 5,
        synthetic: 'yes',
        metadata: [1],
        sessionId: 'another',
      }
      for (const [field, value] of Object.entries(fields)) {
        await assertFails(
          () => service.appendEvent('s', userEvent('e', 'x', { [field]: value })),
          'INVALID_EVENT',
          `${field}: ${JSON.stringify(value)}`,
          [field],
        )
      }
      assertEqual(await service.getEvents('s'), [], 'the log')
    },
  },
]
