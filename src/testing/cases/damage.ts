/** Damage: one unreadable record makes no other unreadable, and is reported. */

import type { DamageReport } from '../../core/session-service.ts'
import { assertEqual, assertTrue } from '../assertions.ts'
import { ALL_EVENTS, createLog, idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const damageCases: readonly StoreCase[] = [
  {
    name: 'damage: the rest is returned, and the damage reported',
    needs: ['damage'],
    async run({ openService, damage }) {
      const reports: DamageReport[] = []
      const service = await openService({ onDamage: (report) => reports.push(report) })
      await createLog(service, 5)
      await damage('s', 3)
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2', 'e4', 'e5'], 'the log')
      assertTrue(reports.length >= 1, 'a report of the damage')
      for (const report of reports) {
        assertEqual([report.sessionId, report.seq], ['s', 3], 'the session and seq of the report')
        assertTrue(report.reason.length > 0, 'a reason')
      }
    },
  },
  {
    name: 'damage: every kind of read gives the rest',
    needs: ['damage'],
    async run({ openService, damage }) {
      const service = await openService({ onDamage: () => undefined })
      await createLog(service, 6)
      await damage('s', 2)
      const ids = async (filter: object) => idsOf(await service.getEvents('s', filter))
      assertEqual(await ids({ keyword: 'e' }), ['e1', 'e3', 'e4', 'e5', 'e6'], 'a search')
      assertEqual(await ids({ lastN: 3 }), ['e4', 'e5', 'e6'], 'the newest')
      assertEqual(
        await ids({ messageTypes: ['user'], lastN: 2 }),
        ['e5', 'e6'],
        'the newest of a type',
      )
      assertEqual(await ids({ excludeArchived: true }), ['e1', 'e3', 'e4', 'e5', 'e6'], 'the view')
      assertEqual(await ids({ from: 0 }), ['e1', 'e3', 'e4', 'e5', 'e6'], 'a time range')
      const iterated = []
      for await (const event of service.iterateEvents('s')) iterated.push(event)
      assertEqual(idsOf(iterated), ['e1', 'e3', 'e4', 'e5', 'e6'], 'an iteration')
    },
  },
  {
    name: 'damage: appending goes on, also when the last event is the damaged one',
    needs: ['damage'],
    async run({ openService, damage }) {
      const service = await openService({ onDamage: () => undefined })
      await createLog(service, 3)
      await damage('s', 3)
      assertEqual((await service.appendEvent('s', userEvent('next'))).seq, 4, 'the next seq')
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2', 'next'], 'the log')
      assertEqual(await service.delete('s'), true, 'delete')
      await createLog(service, 2)
      assertEqual(idsOf(await service.getEvents('s')), ['e1', 'e2'], 'a new log of the same id')
    },
  },
  {
    name: 'damage: recalling gives the rest and names the session',
    needs: ['damage'],
    async run({ service, repository, clock, damage }) {
      await createLog(service, 2, 's')
      await createLog(service, 2, 't')
      await damage('s', 1)
      const answer = await repository.recallEvents({
        now: clock.now,
        userId: 'ana',
        filter: { ...ALL_EVENTS, keyword: 'e' },
        offset: 0,
        limit: 10,
      })
      assertEqual(
        answer.events.map(({ sessionId, id }) => `${sessionId}/${id}`),
        ['s/e2', 't/e1', 't/e2'],
        'the rest',
      )
      assertEqual(
        answer.damage.map(({ sessionId, seq }) => [sessionId, seq]),
        [['s', 1]],
        'the damage',
      )
    },
  },
  {
    name: 'damage: other sessions know nothing of it',
    needs: ['damage'],
    async run({ openService, damage }) {
      const reports: DamageReport[] = []
      const service = await openService({ onDamage: (report) => reports.push(report) })
      await createLog(service, 3, 's')
      await createLog(service, 3, 't')
      await damage('s', 1)
      assertEqual((await service.getEvents('t')).length, 3, 'how many events the other has')
      assertEqual(reports, [], 'the reports')
    },
  },
]
