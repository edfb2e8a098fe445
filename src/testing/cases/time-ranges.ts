/** Time ranges: both ends inclusive, right for events that came late as well. */

import { assertEqual } from '../assertions.ts'
import { boundaryCommit, idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

const START = Date.parse('2026-03-02T08:00:00Z')

export const timeRangeCases: readonly StoreCase[] = [
  {
    name: 'time ranges: both ends are inclusive, to the millisecond',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents(
        's',
        [-1, 0, 1, 999, 1000, 1001].map((offset) =>
          userEvent(`${offset}`, 'x', { timestamp: START + offset }),
        ),
      )
      const read = async (from: number | null, to: number | null) =>
        idsOf(
          await service.getEvents('s', {
            from: from === null ? null : START + from,
            to: to === null ? null : new Date(START + to),
          }),
        )
      assertEqual(await read(0, 1000), ['0', '1', '999', '1000'], 'a second')
      assertEqual(await read(1, 999), ['1', '999'], 'inside')
      assertEqual(await read(1, 1), ['1'], 'one moment')
      assertEqual(await read(2, 998), [], 'a gap')
      assertEqual(await read(null, 0), ['-1', '0'], 'up to')
      assertEqual(await read(1000, null), ['1000', '1001'], 'from')
      assertEqual(await read(1001, -1), [], 'from after to')
    },
  },
  {
    name: 'time ranges: an instant is the same in every notation',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents(
        's',
        [0, 60, 120].map((minutes) =>
          userEvent(`${minutes}`, 'x', { timestamp: START + minutes * 60_000 }),
        ),
      )
      for (const from of [
        '2026-03-02T09:00:00Z',
        '2026-03-02T11:00:00+02:00',
        '2026-03-02t03:30:00.000999-05:30',
        new Date(START + 3_600_000),
        START + 3_600_000,
      ]) {
        assertEqual(idsOf(await service.getEvents('s', { from })), ['60', '120'], String(from))
      }
    },
  },
  {
    name: 'time ranges: events that came late are found, in log order',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      const minutes = [10, 20, 5, 30, 30, 12, 40, 1, 35, 40, 0, 50, 20]
      await service.appendEvents(
        's',
        minutes.map((minute, index) =>
          userEvent(`${index}@${minute}`, 'x', { timestamp: START + minute * 60_000 }),
        ),
      )
      const read = async (from: number, to: number, more: object = {}) =>
        idsOf(
          await service.getEvents('s', {
            from: START + from * 60_000,
            to: START + to * 60_000,
            ...more,
          }),
        )
      const expected = (from: number, to: number) =>
        minutes.flatMap((minute, index) =>
          minute >= from && minute <= to ? [`${index}@${minute}`] : [],
        )
      for (const [from, to] of [
        [0, 60],
        [10, 20],
        [0, 0],
        [5, 12],
        [30, 30],
        [35, 40],
        [41, 49],
        [50, 60],
        [20, 20],
      ] as const) {
        assertEqual(await read(from, to), expected(from, to), `minutes ${from} to ${to}`)
      }
      assertEqual(await read(5, 30, { lastN: 3 }), expected(5, 30).slice(-3), 'the newest three')
      assertEqual(
        await read(5, 30, { page: 1, pageSize: 3 }),
        expected(5, 30).slice(3, 6),
        'the second page',
      )
      await repository.commit(
        's',
        boundaryCommit(clock.now, {
          kept: [
            [2, 3],
            [6, 9],
          ],
          through: 13,
        }),
      )
      assertEqual(
        await read(5, 35, { excludeArchived: true }),
        ['1@20', '2@5', '5@12', '8@35'],
        'of the view',
      )
    },
  },
  {
    name: 'time ranges: many events of one moment',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents(
        's',
        Array.from({ length: 300 }, (_, index) =>
          userEvent(`e${index}`, 'x', { timestamp: START }),
        ),
      )
      await service.appendEvent('s', userEvent('later', 'x', { timestamp: START + 1 }))
      assertEqual((await service.getEvents('s', { from: START, to: START })).length, 300, 'then')
      assertEqual(idsOf(await service.getEvents('s', { from: START + 1 })), ['later'], 'after')
      assertEqual((await service.getEvents('s', { to: START - 1 })).length, 0, 'before')
      assertEqual(
        idsOf(await service.getEvents('s', { to: START, page: 2, pageSize: 100 })).slice(0, 2),
        ['e200', 'e201'],
        'the third page',
      )
    },
  },
  {
    name: 'time ranges: before 1970, and at the ends of time',
    async run({ service }) {
      await service.create({ id: 's' })
      const times = [-8.64e15, -14_182_940_000, -1, 0, 1, 8.64e15]
      await service.appendEvents(
        's',
        times.map((timestamp) => userEvent(`${timestamp}`, 'x', { timestamp })),
      )
      const log = await service.getEvents('s')
      assertEqual(
        log.map(({ timestamp }) => timestamp.getTime()),
        times,
        'the timestamps',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { to: -1 })),
        ['-8640000000000000', '-14182940000', '-1'],
        'before 1970',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { from: 0, to: 1 })),
        ['0', '1'],
        'the first two moments',
      )
      assertEqual(
        (await service.getEvents('s', { from: -8.64e15, to: 8.64e15 })).length,
        6,
        'all of time',
      )
    },
  },
  {
    name: 'time ranges: one event from the future hides nothing that follows',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', [
        userEvent('now', 'x', { timestamp: START }),
        userEvent('future', 'x', { timestamp: START * 2 }),
        ...Array.from({ length: 50 }, (_, index) =>
          userEvent(`e${index}`, 'x', { timestamp: START + index }),
        ),
      ])
      assertEqual(
        idsOf(await service.getEvents('s', { from: START + 10, to: START + 12 })),
        ['e10', 'e11', 'e12'],
        'three of those that follow',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { from: START + 50 })),
        ['future'],
        'the future',
      )
    },
  },
]
