/** Arguments: what is wrong is refused by name, in every method, and nothing comes of it. */

import type { SessionErrorCode } from '../../core/errors.ts'
import { assertEqual, assertFails } from '../assertions.ts'
import { createLog, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** What is called, the field that the error has to name, and the code when it is another one. */
type Refusal = readonly [field: string, call: () => unknown, code?: SessionErrorCode]

async function assertRefusals(refusals: readonly Refusal[]): Promise<void> {
  for (const [index, [field, call, code = 'INVALID_ARGUMENT']] of refusals.entries()) {
    await assertFails(async () => call(), code, `call ${index + 1}, a bad ${field}`, [field])
  }
}

export const argumentCases: readonly StoreCase[] = [
  {
    name: 'arguments: a session that is created or changed',
    async run({ service, openService }) {
      await service.create({ id: 's', metadata: { kept: true } })
      const nobodys = await openService({ defaultUserId: null })
      const bad = (value: unknown) => value as never
      await assertRefusals([
        ['userId', () => nobodys.create({ id: 't' })],
        ['userId', () => nobodys.listSessions()],
        ['userId', () => nobodys.recallEvents({ keyword: 'a' })],
        ['timeToLive', () => service.create({ timeToLive: Number.NaN })],
        ['timeToLive', () => service.create({ timeToLive: bad('60') })],
        ['timeToLive', () => service.create({ timeToLive: bad({}) })],
        ['timeToLive', () => service.create({ timeToLive: { sliding: Number.POSITIVE_INFINITY } })],
        ['metadata', () => service.create({ metadata: bad('text') })],
        ['metadata', () => service.create({ metadata: bad([1]) })],
        ['metadata', () => service.create({ metadata: { long: 'x'.repeat(300_000) } })],
        ['metadata', () => service.update('s', { metadata: bad(5) })],
        ['metadata', () => service.update('s', { metadata: { long: 'x'.repeat(300_000) } })],
        ['expiresAt', () => service.update('s', { expiresAt: '2026-03-02' })],
        ['expiresAt', () => service.update('s', { expiresAt: new Date('garbage') })],
        ['change', () => service.update('s', bad('text'))],
        ['options', () => service.create(bad('s'))],
        ['options', () => service.findOrCreate(bad([]))],
        ['before', () => service.deleteExpiredSessions({ before: 'yesterday' })],
        ['before', () => service.deleteExpiredSessions({ before: Number.NaN })],
      ])
      const { sessions } = await service.listSessions()
      assertEqual(sessions.length, 1, 'how many sessions there are')
      assertEqual(sessions[0]?.metadata, { kept: true }, 'the metadata')
    },
  },
  {
    name: 'arguments: metadata that an update makes too large changes nothing',
    async run({ service }) {
      const large = 'x'.repeat(200_000)
      await service.create({ id: 's', metadata: { first: large } })
      await assertRefusals([
        ['metadata', () => service.update('s', { metadata: { second: large } })],
      ])
      await service.update('s', { metadata: { first: null } })
      const { metadata } = await service.update('s', { metadata: { second: large } })
      assertEqual(Object.keys(metadata), ['second'], 'the keys of the metadata')
    },
  },
  {
    name: 'arguments: reads and appends',
    async run({ service }) {
      await createLog(service, 2)
      const bad = (value: unknown) => value as never
      const iterate = (options: object) =>
        service.iterateEvents('s', {}, bad(options))[Symbol.asyncIterator]().next()
      await assertRefusals([
        ['events', () => service.appendEvents('s', bad('text'))],
        ['events', () => service.appendEvents('s', bad({ length: 1 }))],
        [
          'events[1]',
          () => service.appendEvents('s', [userEvent('a'), bad(null)]),
          'INVALID_EVENT',
        ],
        ['options', () => service.appendEvents('s', [userEvent('a')], bad(5))],
        ['rest', () => service.appendMessage('s', { role: 'user', content: 'a' }, bad('text'))],
        ['filter', () => service.getEvents('s', bad('all')), 'INVALID_FILTER'],
        ['filter', () => service.getMessages('s', bad([])), 'INVALID_FILTER'],
        ['lastN', () => service.recallEvents({ lastN: 5 }), 'INVALID_FILTER'],
        ['afterSeq', () => iterate({ afterSeq: -1 })],
        ['afterSeq', () => iterate({ afterSeq: '2' })],
        ['listener', () => service.subscribe('s', bad(null))],
        ['trigger', () => service.compact('s', bad({ strategy: () => null }))],
        ['strategy', () => service.compact('s', bad({ trigger: () => true }))],
      ])
      assertEqual((await service.getEvents('s')).length, 2, 'how many events there are')
    },
  },
]
