/** Watching: hints that a session changed. */

import type { SessionRepository } from '../../core/session-repository.ts'
import { assertEqual, assertTrue } from '../assertions.ts'
import { boundaryCommit, createLog, idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** Watches, and can wait until a session was hinted at since the last time. */
function watchFor(repository: SessionRepository, watched?: string) {
  let heard = new Set<string>()
  let wake: () => void = () => undefined
  const stop = repository.watch(
    (sessionId) => {
      heard.add(sessionId)
      wake()
    },
    { sessionId: watched },
  )
  return {
    stop,
    get heard() {
      return [...heard]
    },
    async next(sessionId: string): Promise<void> {
      while (!heard.has(sessionId)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      heard = new Set()
    },
  }
}

export const watchingCases: readonly StoreCase[] = [
  {
    name: 'watching: every kind of change is hinted at, with its session',
    async run({ service, repository, clock }) {
      const watch = watchFor(repository)
      await createLog(service, 3)
      await watch.next('s')
      await service.appendEvent('s', userEvent('more'))
      await watch.next('s')
      await repository.commit('s', boundaryCommit(clock.now, { kept: [[4, 4]], through: 4 }))
      await watch.next('s')
      await service.eraseEvent('s', 'e1')
      await watch.next('s')
      await service.update('s', { metadata: { a: 1 } })
      await watch.next('s')
      await service.delete('s')
      await watch.next('s')
      watch.stop()
    },
  },
  {
    name: 'watching: after a hint the change can be read',
    async run({ service, repository }) {
      await service.create({ id: 's' })
      const counts: Promise<number>[] = []
      const stop = repository.watch((sessionId) => {
        counts.push(service.getEvents(sessionId).then((events) => events.length))
      })
      const watch = watchFor(repository)
      await service.appendEvent('s', userEvent('a'))
      await watch.next('s')
      assertTrue((await Promise.all(counts)).includes(1), 'a listener that reads sees the event')
      stop()
      watch.stop()
    },
  },
  {
    name: 'watching: other instances hear of it',
    needs: ['hints'],
    async run({ service, open, openService }) {
      const watch = watchFor(await open(), 's')
      const other = await openService()
      await createLog(service, 1)
      await watch.next('s')
      await other.appendEvent('s', userEvent('from another'))
      await watch.next('s')
      await service.delete('s')
      await watch.next('s')
      watch.stop()
    },
  },
  {
    name: 'watching: who stopped hears no more, the others do',
    async run({ service, repository }) {
      const stopped = watchFor(repository)
      const going = watchFor(repository)
      await service.create({ id: 's' })
      await stopped.next('s')
      await going.next('s')
      stopped.stop()
      stopped.stop()
      await service.appendEvent('s', userEvent('a'))
      await going.next('s')
      assertEqual(stopped.heard, [], 'what the one heard who stopped')
      going.stop()
    },
  },
  {
    name: 'watching: a listener may write itself',
    async run({ service, repository }) {
      const watch = watchFor(repository)
      await service.create({ id: 's' })
      await watch.next('s')
      const answered: Promise<unknown>[] = []
      const stop = repository.watch((sessionId) => {
        if (answered.length === 0)
          answered.push(service.appendEvent(sessionId, userEvent('answer')))
      })
      await service.appendEvent('s', userEvent('question'))
      await watch.next('s')
      await Promise.all(answered)
      stop()
      watch.stop()
      assertEqual(idsOf(await service.getEvents('s')), ['question', 'answer'], 'the log')
    },
  },
]
