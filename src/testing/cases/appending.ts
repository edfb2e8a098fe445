/** Appending: `seq` without gaps, repeats that change nothing, batches that are one write. */

import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import { createLog, idsOf, numbers, seqsOf, userEvent, userEvents } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const appendingCases: readonly StoreCase[] = [
  {
    name: 'appending: an event comes back as it was given',
    async run({ service, clock }) {
      await service.create({ id: 's' })
      const appended = await service.appendEvent('s', {
        id: 'first',
        message: { role: 'assistant', content: [{ type: 'text', text: 'hello' }] as never },
        timestamp: '2026-03-02T09:30:00.250+01:00',
        metadata: { model: 'm-1', nested: { list: [1, null, 'two'] } },
        branch: 'orchestrator.writer',
      })
      const expected = {
        id: 'first',
        sessionId: 's',
        seq: 1,
        timestamp: new Date('2026-03-02T08:30:00.250Z'),
        message: { role: 'assistant', content: [{ type: 'text', text: 'hello' }] },
        metadata: { model: 'm-1', nested: { list: [1, null, 'two'] } },
        branch: 'orchestrator.writer',
        synthetic: false,
        archived: false,
        rewound: false,
      } as const
      assertEqual(appended, expected, 'the appended event')
      assertEqual(await service.getEvents('s'), [expected], 'the log')
      const plain = await service.appendEvent('s', { message: { role: 'user', content: '' } })
      assertTrue(plain.id.length === 36, 'an event without an id gets a UUID')
      assertEqual(plain.timestamp, new Date(clock.now), 'the timestamp of an event without one')
      assertEqual(plain.branch, null, 'the branch of an event without one')
      assertEqual(plain.metadata, {}, 'the metadata of an event without any')
    },
  },
  {
    name: 'appending: seq counts from 1 without gaps, per session',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.create({ id: 't' })
      const seqs: number[] = []
      for (const id of ['a', 'b', 'c']) {
        seqs.push((await service.appendEvent('s', userEvent(id))).seq)
        seqs.push((await service.appendEvent('t', userEvent(id))).seq)
      }
      seqs.push(...seqsOf(await service.appendEvents('s', userEvents(2))))
      assertEqual(seqs, [1, 1, 2, 2, 3, 3, 4, 5], 'the given seqs')
      assertEqual(idsOf(await service.getEvents('s')), ['a', 'b', 'c', 'e1', 'e2'], 'the log')
      assertEqual(idsOf(await service.getEvents('t')), ['a', 'b', 'c'], 'the other log')
    },
  },
  {
    name: 'appending: the session counts its events and knows when the last one was',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvent('s', userEvent('a', 'a', { timestamp: 5_000 }))
      await service.appendEvent('s', userEvent('b', 'b', { timestamp: 2_000 }))
      const session = await service.findById('s')
      assertEqual(session?.eventCount, 2, 'eventCount')
      assertEqual(session?.lastEventAt, new Date(2_000), 'lastEventAt, of the event appended last')
    },
  },
  {
    name: 'appending: 50 at once get 50 different seqs without gaps',
    async run({ service }) {
      await service.create({ id: 's' })
      const appended = await Promise.all(
        userEvents(50).map((event) => service.appendEvent('s', event)),
      )
      const seqs = seqsOf(appended).sort((a, b) => a - b)
      assertEqual(seqs, numbers(1, 50), 'the given seqs')
      const log = await service.getEvents('s')
      assertEqual(seqsOf(log), numbers(1, 50), 'the seqs of the log')
      assertEqual(new Set(idsOf(log)).size, 50, 'how many ids the log has')
    },
  },
  {
    name: 'appending: two instances at once lose and double nothing',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const other = await openService()
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          Promise.all([
            service.appendEvent('s', userEvent(`first-${index}`)),
            other.appendEvents('s', [userEvent(`other-${index}`), userEvent(`more-${index}`)]),
          ]),
        ),
      )
      const log = await service.getEvents('s')
      assertEqual(seqsOf(log), numbers(1, 60), 'the seqs of the log')
      assertEqual(new Set(idsOf(log)).size, 60, 'how many ids the log has')
      assertEqual(await other.getEvents('s'), log, 'the log as the other instance reads it')
    },
  },
  {
    name: 'appending: the same id at once from two instances is stored once',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const other = await openService()
      const results = await Promise.all([
        service.appendEvent('s', userEvent('same', 'from one')),
        other.appendEvent('s', userEvent('same', 'from the other')),
      ])
      assertEqual(seqsOf(results), [1, 1], 'the seqs that both were given')
      assertEqual(results[0], results[1], 'what both were given')
      assertEqual((await service.getEvents('s')).length, 1, 'how many events there are')
    },
  },
  {
    name: 'appending: a stored id changes nothing and gives the stored event',
    async run({ service }) {
      await service.create({ id: 's' })
      const stored = await service.appendEvent('s', userEvent('a', 'the first text'))
      await service.appendEvent('s', userEvent('b'))
      const again = await service.appendEvent('s', userEvent('a', 'another text'))
      assertEqual(again, stored, 'the event that the repeat gave')
      assertEqual(idsOf(await service.getEvents('s')), ['a', 'b'], 'the log')
      assertEqual(await service.getEventVersion('s'), 2, 'the version')
    },
  },
  {
    name: 'appending: an id twice in a batch is stored once, the first time',
    async run({ service }) {
      await service.create({ id: 's' })
      const events = await service.appendEvents('s', [
        userEvent('a', 'one'),
        userEvent('b', 'two'),
        userEvent('a', 'three'),
      ])
      assertEqual(idsOf(events), ['a', 'b', 'a'], 'one result for each given event')
      assertEqual(seqsOf(events), [1, 2, 1], 'their seqs')
      assertEqual(
        (await service.getMessages('s')).map(({ content }) => content),
        ['one', 'two'],
        'the texts of the log',
      )
    },
  },
  {
    name: 'appending: a batch skips what is stored and appends the rest in order',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', [userEvent('b'), userEvent('d')])
      const events = await service.appendEvents(
        's',
        ['a', 'b', 'c', 'd', 'e'].map((id) => userEvent(id)),
      )
      assertEqual(idsOf(events), ['a', 'b', 'c', 'd', 'e'], 'one result for each given event')
      assertEqual(seqsOf(events), [3, 1, 4, 2, 5], 'their seqs')
      assertEqual(idsOf(await service.getEvents('s')), ['b', 'd', 'a', 'c', 'e'], 'the log')
    },
  },
  {
    name: 'appending: an empty batch changes nothing',
    async run({ service }) {
      const [event] = await createLog(service, 1)
      assertEqual(await service.appendEvents('s', []), [], 'the result')
      assertEqual(await service.getEvents('s'), event === undefined ? [] : [event], 'the log')
      assertEqual(await service.getEventVersion('s'), 1, 'the version')
    },
  },
  {
    name: 'appending: a batch with one bad event stores none',
    async run({ service }) {
      await service.create({ id: 's' })
      await assertFails(
        () =>
          service.appendEvents('s', [
            userEvent('a'),
            userEvent('b', 'b', { metadata: { execute: () => 1 } }),
            userEvent('c'),
          ]),
        'INVALID_EVENT',
        'a batch with a function in the second event',
        ['events[1].metadata.execute'],
      )
      assertEqual(await service.getEvents('s'), [], 'the log')
      assertEqual(seqsOf(await service.appendEvents('s', userEvents(2))), [1, 2], 'the next seqs')
    },
  },
  {
    name: 'appending: batches of 101 and 1,000 events',
    async run({ service }) {
      await service.create({ id: 's' })
      assertEqual(
        seqsOf(await service.appendEvents('s', userEvents(101, 'a'))),
        numbers(1, 101),
        'the seqs of 101',
      )
      const mixed = [...userEvents(101, 'a'), ...userEvents(899, 'b')]
      assertEqual(
        seqsOf(await service.appendEvents('s', mixed)),
        numbers(1, 1000),
        'the seqs of 1,000, of which 101 are stored',
      )
      assertEqual(idsOf(await service.getEvents('s')), idsOf(mixed as { id: string }[]), 'the log')
    },
  },
  {
    name: 'appending: to an unknown session fails and creates none',
    async run({ service }) {
      await assertFails(
        () => service.appendEvent('nowhere', userEvent('a')),
        'SESSION_NOT_FOUND',
        'appending to a session that never was',
        ['nowhere'],
      )
      assertEqual(await service.findById('nowhere'), null, 'the session')
      await service.create({ id: 's' })
      await service.delete('s')
      await assertFails(
        () => service.appendEvents('s', userEvents(3)),
        'SESSION_NOT_FOUND',
        'appending to a deleted session',
      )
      await assertFails(
        () => service.appendEvents('s', []),
        'SESSION_NOT_FOUND',
        'appending nothing to a deleted session',
      )
      assertEqual(await service.findById('s'), null, 'the deleted session')
    },
  },
  {
    name: 'appending: ids are scoped to the session',
    async run({ service }) {
      await createLog(service, 2, 's')
      await createLog(service, 3, 't')
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2'], 'the log')
      assertEqual(idsOf(await service.getEvents('t')), ['e1', 'e2', 'e3'], 'the other log')
    },
  },
  {
    name: 'appending: an answer after an unanswered question leaves earlier answers alone',
    async run({ service }) {
      await service.create({ id: 's' })
      const message = (role: 'user' | 'assistant', content: string) => ({ role, content })
      await service.appendMessage('s', message('user', 'question 1'))
      const first = await service.appendMessage('s', message('assistant', 'answer 1'))
      await service.appendMessage('s', message('user', 'question 2, never answered'))
      await service.appendMessage('s', message('user', 'question 3'))
      const last = await service.appendMessage('s', message('assistant', 'answer 1'))
      assertTrue(last.id !== first.id, 'an event without an id is a new one, whatever it says')
      assertEqual(seqsOf(await service.getEvents('s')), numbers(1, 5), 'the seqs of the log')
    },
  },
]
