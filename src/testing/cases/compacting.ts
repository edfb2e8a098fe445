/** Compacting and editing the view through the service: one boundary each, whoever else is at work. */

import type { CompactionStrategy } from '../../core/compact.ts'
import type { EventInput } from '../../core/session.ts'
import type { SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails } from '../assertions.ts'
import { answerEvent, idsOf, seqsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** Questions `q1` … and answers `a1` … in a session `s`. */
async function createTurns(service: SessionService, count: number): Promise<void> {
  await service.create({ id: 's' })
  const events: EventInput[] = []
  for (let turn = 1; turn <= count; turn++) {
    events.push(userEvent(`q${turn}`), answerEvent(`a${turn}`))
  }
  await service.appendEvents('s', events)
}

/** Keeps the last `count` events and puts a summary in place of the rest. */
function keepLast(count: number, summary: string): CompactionStrategy {
  return (view) => ({
    summaries: [{ message: { role: 'assistant', content: summary } }],
    keep: idsOf(view.slice(-count)),
  })
}

const trigger = () => true

async function viewOf(service: SessionService): Promise<string[]> {
  const view = await service.getEvents('s', { excludeArchived: true })
  return view.map(({ id, synthetic, message }) => (synthetic ? String(message.content) : id))
}

export const compactingCases: readonly StoreCase[] = [
  {
    name: 'compacting: again and again, each event stays found once, with its id and time',
    async run({ service }) {
      await createTurns(service, 6)
      const before = await service.getEvents('s')
      for (const round of [1, 2, 3]) {
        const result = await service.compact('s', { trigger, strategy: keepLast(4, `sum${round}`) })
        assertEqual(result.status, 'compacted', 'the status')
        assertEqual(await viewOf(service), [`sum${round}`, 'q5', 'a5', 'q6', 'a6'], 'the view')
        assertEqual(idsOf(result.compactedEvents).length, 5, 'the view that compact gave')
      }
      const log = await service.getEvents('s', { excludeSynthetic: true })
      assertEqual(
        log.map((event) => ({ ...event, archived: false })),
        before,
        'the real events of the log',
      )
      const found = await service.getEvents('s', { keyword: 'q3' })
      assertEqual(idsOf(found), ['q3'], 'a search for an archived question')
    },
  },
  {
    name: 'compacting: events that come meanwhile stay in the view',
    async run({ service, openService }) {
      await createTurns(service, 4)
      const other = await openService()
      const result = await service.compact('s', {
        trigger,
        strategy: async (view, context) => {
          await other.appendEvents('s', [userEvent('q5'), answerEvent('a5')])
          return keepLast(2, 'sum')(view, context)
        },
      })
      assertEqual(result.status, 'compacted', 'the status')
      assertEqual(await viewOf(service), ['sum', 'q4', 'a4', 'q5', 'a5'], 'the view')
    },
  },
  {
    name: 'compacting: of two services at once one compacts, and one summary is in the view',
    async run({ service, openService }) {
      await createTurns(service, 6)
      const other = await openService()
      let arrived = 0
      let meet: () => void = () => undefined
      const both = new Promise<void>((resolve) => {
        meet = resolve
      })
      const strategy: CompactionStrategy = async (view, context) => {
        arrived++
        if (arrived === 2) meet()
        await both
        return keepLast(2, 'sum')(view, context)
      }
      const results = await Promise.all([
        service.compact('s', { trigger, strategy }),
        other.compact('s', { trigger, strategy }),
      ])
      assertEqual(
        results.map(({ status }) => status).sort(),
        ['compacted', 'conflict'],
        'what came of both',
      )
      assertEqual(await viewOf(service), ['sum', 'q6', 'a6'], 'the view')
      assertEqual((await service.getEvents('s')).length, 13, 'how many events the log has')
    },
  },
  {
    name: 'compacting: one that fails changes nothing',
    async run({ service }) {
      await createTurns(service, 3)
      const before = await service.getEvents('s')
      const failing: readonly CompactionStrategy[] = [
        () => {
          throw new Error('the model is offline')
        },
        keepLast(2, '  '),
      ]
      for (const strategy of failing) {
        const { status } = await service.compact('s', { trigger, strategy })
        assertEqual(status, 'failed', 'the status')
        assertEqual(await service.getEvents('s'), before, 'the log')
        assertEqual(await service.getEventVersion('s'), 6, 'the version')
      }
      const { status } = await service.compact('s', {
        trigger: () => false,
        strategy: keepLast(2, 'sum'),
      })
      assertEqual(status, 'not-triggered', 'the status of one that is not triggered')
    },
  },
  {
    name: 'editing: a question is edited, an answer regenerated, and the view is right each time',
    async run({ service }) {
      await createTurns(service, 2)
      assertEqual(await service.rewind('s', { before: 'q2' }), 2, 'how many events left the view')
      await service.appendEvents('s', [userEvent('q2 edited'), answerEvent('first try')])
      assertEqual(await viewOf(service), ['q1', 'a1', 'q2 edited', 'first try'], 'after the edit')
      await service.rewind('s', { after: 'q2 edited' })
      await service.appendEvent('s', answerEvent('second try'))
      assertEqual(await viewOf(service), ['q1', 'a1', 'q2 edited', 'second try'], 'regenerated')
      const shown = await service.getEvents('s', { excludeRewound: true })
      assertEqual(idsOf(shown), ['q1', 'a1', 'q2 edited', 'second try'], 'for people')
      const log = await service.getEvents('s')
      assertEqual(
        idsOf(log.filter(({ rewound }) => rewound)),
        ['q2', 'a2', 'first try'],
        'what was rewound',
      )
      assertEqual(seqsOf(log), [1, 2, 3, 4, 5, 6, 7], 'the seqs of the log')
    },
  },
  {
    name: 'editing: rewinding to an archived event gives the view of that moment',
    async run({ service }) {
      await createTurns(service, 3)
      await service.compact('s', { trigger, strategy: keepLast(2, 'sum1') })
      await service.appendEvents('s', [userEvent('q4'), answerEvent('a4')])
      await service.compact('s', { trigger, strategy: keepLast(2, 'sum2') })
      await service.appendEvents('s', [userEvent('q5'), answerEvent('a5')])
      assertEqual(await viewOf(service), ['sum2', 'q4', 'a4', 'q5', 'a5'], 'the view before')
      await service.rewind('s', { after: 'q3' })
      assertEqual(await viewOf(service), ['q1', 'a1', 'q2', 'a2', 'q3'], 'the view of that moment')
      const log = await service.getEvents('s')
      assertEqual(log.length, 12, 'how many events the log has')
      assertEqual(
        log.filter(({ rewound }) => rewound).length,
        7,
        'how many are rewound: what came after q3',
      )
    },
  },
  {
    name: 'editing: clearing archives the whole view, summaries too',
    async run({ service }) {
      await createTurns(service, 3)
      await service.compact('s', { trigger, strategy: keepLast(2, 'sum') })
      assertEqual(await service.clearView('s'), 3, 'how many events left the view')
      assertEqual(await viewOf(service), [], 'the view')
      assertEqual(await service.clearView('s'), 0, 'clearing it again')
      await service.appendEvent('s', userEvent('anew'))
      assertEqual(await viewOf(service), ['anew'], 'the view then')
      assertEqual((await service.getEvents('s', { keyword: 'q1' })).length, 1, 'a search')
    },
  },
  {
    name: 'editing: an edit, an append and a compaction at once keep each other',
    async run({ service, openService }) {
      await createTurns(service, 4)
      const other = await openService()
      await Promise.all([
        service.rewind('s', { before: 'q4' }),
        other.appendEvent('s', userEvent('meanwhile')),
        other.compact('s', { trigger, strategy: keepLast(4, 'sum') }),
      ])
      const log = await service.getEvents('s', { excludeSynthetic: true })
      assertEqual(log.length, 9, 'how many real events the log has')
      assertEqual(idsOf(log).includes('meanwhile'), true, 'the appended event is there')
      const rewound = idsOf(log.filter((event) => event.rewound))
      assertEqual(rewound.slice(0, 2), ['q4', 'a4'], 'what was rewound')
      assertEqual((await viewOf(service)).includes('q4'), false, 'whether q4 is in the view')
    },
  },
  {
    name: 'editing: unknown and rewound targets are refused',
    async run({ service }) {
      await createTurns(service, 2)
      await assertFails(() => service.rewind('s', { before: 'x' }), 'EVENT_NOT_FOUND', 'unknown')
      await service.rewind('s', { before: 'q2' })
      await assertFails(() => service.rewind('s', { after: 'q2' }), 'INVALID_ARGUMENT', 'rewound')
      for (const target of [null, {}, { before: 5 }, { before: 'q1', after: 'q1' }]) {
        await assertFails(
          () => service.rewind('s', target as never),
          'INVALID_ARGUMENT',
          JSON.stringify(target),
        )
      }
      assertEqual(await viewOf(service), ['q1', 'a1'], 'the view')
    },
  },
]
