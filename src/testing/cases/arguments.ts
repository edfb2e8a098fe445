/** Arguments: what is wrong is refused by name, in every method, and nothing comes of it. */

import type { SessionErrorCode } from '../../core/errors.ts'
import type { EventFilterOptions } from '../../core/event-filter.ts'
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

/** An object that nobody can read. */
function hostile(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const timed = (timestamp: unknown) => ({ ...userEvent('a'), timestamp }) as never
const withMetadata = (metadata: unknown) => ({ ...userEvent('a'), metadata }) as never

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
        ['options', () => service.create(bad(hostile()))],
        ['options', () => service.listSessions(bad('u'))],
        ['options', () => service.deleteExpiredSessions(bad('yesterday'))],
        ['timeToLive', () => service.create({ timeToLive: bad(hostile()) })],
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
      const iterate = (options: object, filter: EventFilterOptions = {}) =>
        service.iterateEvents('s', filter, bad(options))[Symbol.asyncIterator]().next()
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
        ['lastN', () => service.getMessages('s', { lastN: bad('5') }), 'INVALID_FILTER'],
        ['branch', () => service.recallEvents({ branch: bad(5) }), 'INVALID_FILTER'],
        ['filter', () => service.recallEvents(bad(null)), 'INVALID_FILTER'],
        ['afterSeq', () => iterate({ afterSeq: -1 })],
        ['afterSeq', () => iterate({ afterSeq: '2' })],
        ['options', () => iterate(bad('fast'))],
        ['to', () => iterate({}, { to: '2026-03-02' }), 'INVALID_FILTER'],
        ['options', () => service.recallEvents({}, bad([]))],
        ['order', () => service.listSessions({ order: bad('oldest') })],
        ['limit', () => service.listSessions({ limit: 0 })],
        ['limit', () => service.listSessions({ limit: 1001 })],
        ['cursor', () => service.listSessions({ cursor: 'next' })],
        ['expectedVersion', () => service.appendEvents('s', [], { expectedVersion: -1 })],
        ['expectedVersion', () => service.appendEvents('s', [], { expectedVersion: bad('2') })],
        ['events', () => service.appendEvents('s', bad(hostile()))],
        ['event', () => service.appendEvent('s', bad(hostile())), 'INVALID_EVENT'],
        ['timestamp', () => service.appendEvent('s', timed(hostile())), 'INVALID_EVENT'],
        [
          'timestamp',
          () => service.appendEvent('s', timed('2026-03-01T12:00:00')),
          'INVALID_EVENT',
        ],
        ['metadata', () => service.appendEvent('s', withMetadata(hostile())), 'INVALID_EVENT'],
        ['filter', () => service.getEvents('s', bad(hostile())), 'INVALID_FILTER'],
        ['from', () => service.getEvents('s', { from: bad(hostile()) }), 'INVALID_FILTER'],
      ])
      assertEqual((await service.getEvents('s')).length, 2, 'how many events there are')
    },
  },
  {
    name: 'arguments: following, compacting, editing and importing',
    async run({ service }) {
      await createLog(service, 2)
      const bad = (value: unknown) => value as never
      const trigger = () => true
      const strategy = () => null
      const listener = () => undefined
      await assertRefusals([
        ['listener', () => service.subscribe('s', bad(null))],
        ['options', () => service.subscribe('s', listener, bad('fast'))],
        ['afterSeq', () => service.subscribe('s', listener, { afterSeq: -1 })],
        // More than a timer can wait: it would not wait at all.
        ['pollInterval', () => service.subscribe('s', listener, { pollInterval: 2 ** 31 })],
        ['onError', () => service.subscribe('s', listener, { onError: bad('console') })],
        ['trigger', () => service.compact('s', bad({ strategy }))],
        ['strategy', () => service.compact('s', bad({ trigger }))],
        ['signal', () => service.compact('s', { trigger, strategy, signal: bad({}) })],
        [
          'estimateTokens',
          () => service.compact('s', { trigger, strategy, estimateTokens: bad(4) }),
        ],
        ['target', () => service.rewind('s', bad('e1'))],
        ['target', () => service.rewind('s', bad({ before: 'e1', after: 'e1' }))],
        ['target', () => service.rewind('s', bad({ before: null, after: null }))],
        ['before', () => service.rewind('s', { before: bad(1) })],
        ['after', () => service.rewind('s', { after: '' })],
        ['input', () => service.importSession(bad(null))],
        ['input', () => service.importSession(bad(5))],
        ['options', () => service.importSession('', bad('s'))],
      ])
      assertEqual((await service.getEvents('s')).length, 2, 'how many events there are')
    },
  },
]
