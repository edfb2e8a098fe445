/** Subscribing: every change once and in order, from this and every other instance. */

import type { SessionChange } from '../../core/follow.ts'
import type { SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import { answerEvent, createLog, idsOf, numbers, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** Milliseconds between looks at the store; hints make it faster where there are some. */
const POLL_INTERVAL = 20

/** Subscribes, and can wait until what was heard satisfies a condition. */
async function listenTo(service: SessionService, afterSeq?: number) {
  const changes: SessionChange[] = []
  const seqs: number[] = []
  let wake: () => void = () => undefined
  const stop = await service.subscribe(
    's',
    (change) => {
      changes.push(change)
      if (change.type === 'appended') seqs.push(...change.events.map(({ seq }) => seq))
      wake()
    },
    { pollInterval: POLL_INTERVAL, afterSeq },
  )
  return {
    stop,
    seqs,
    /** The kinds of changes, events by their ids. */
    get heard(): string[] {
      return changes.flatMap((change) =>
        change.type === 'appended' ? idsOf(change.events) : [`(${change.type})`],
      )
    },
    async until(isEnough: (heard: readonly string[]) => boolean): Promise<void> {
      while (!isEnough(this.heard)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

export const subscribingCases: readonly StoreCase[] = [
  {
    name: 'subscribing: appends, compactions, rewinds and the deletion are heard in order',
    async run({ service }) {
      await createLog(service, 2)
      const listening = await listenTo(service)
      await service.appendEvents('s', [userEvent('q'), answerEvent('a')])
      await listening.until((heard) => heard.includes('a'))
      await service.compact('s', {
        trigger: () => true,
        strategy: (view) => ({ summaries: [], keep: idsOf(view.slice(-2)) }),
      })
      await listening.until((heard) => heard.includes('(compacted)'))
      await service.rewind('s', { after: 'q' })
      await listening.until((heard) => heard.includes('(rewound)'))
      await service.appendEvent('s', answerEvent('b'))
      await listening.until((heard) => heard.includes('b'))
      await service.delete('s')
      await listening.until((heard) => heard.includes('(deleted)'))
      assertEqual(
        listening.heard,
        ['q', 'a', '(compacted)', '(rewound)', 'b', '(deleted)'],
        'what was heard',
      )
    },
  },
  {
    name: 'subscribing: what other instances append is heard once, in order',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const listening = await listenTo(service)
      const others = [await openService(), await openService()]
      await Promise.all(
        others.map(async (other, index) => {
          for (let count = 0; count < 15; count++) {
            await other.appendEvent('s', userEvent(`${index}-${count}`))
          }
        }),
      )
      await listening.until((heard) => heard.length >= 30)
      assertEqual(listening.seqs, numbers(1, 30), 'the seqs that were heard')
      listening.stop()
    },
  },
  {
    name: 'subscribing: from a seq on, what is there already comes first',
    async run({ service }) {
      await createLog(service, 5)
      const listening = await listenTo(service, 2)
      await service.appendEvent('s', userEvent('e6'))
      await listening.until((heard) => heard.includes('e6'))
      assertEqual(listening.heard, ['e3', 'e4', 'e5', 'e6'], 'what was heard')
      listening.stop()
    },
  },
  {
    name: 'subscribing: who stopped hears no more',
    async run({ service }) {
      await service.create({ id: 's' })
      const stopped = await listenTo(service)
      const going = await listenTo(service)
      await service.appendEvent('s', userEvent('a'))
      await stopped.until((heard) => heard.includes('a'))
      await going.until((heard) => heard.includes('a'))
      stopped.stop()
      stopped.stop()
      await service.appendEvent('s', userEvent('b'))
      await going.until((heard) => heard.includes('b'))
      assertEqual(stopped.heard, ['a'], 'what the one heard who stopped')
      going.stop()
    },
  },
  {
    name: 'subscribing: a session created anew under the id is another one',
    async run({ service, openService }) {
      await createLog(service, 2)
      const listening = await listenTo(service)
      const other = await openService()
      await other.delete('s')
      await other.create({ id: 's' })
      await other.appendEvent('s', userEvent('of the new one'))
      await listening.until((heard) => heard.includes('(deleted)'))
      assertEqual(listening.heard, ['(deleted)'], 'what was heard')
      listening.stop()
    },
  },
  {
    name: 'subscribing: to an unknown session fails',
    async run({ service }) {
      await assertFails(
        () => service.subscribe('nowhere', () => undefined),
        'SESSION_NOT_FOUND',
        'subscribing',
      )
      assertTrue((await service.findById('nowhere')) === null, 'no session came of it')
    },
  },
]
