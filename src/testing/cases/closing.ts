/** Closing: later calls fail, nothing hangs, other instances go on. */

import { assertEqual, assertFails, assertTrue } from '../assertions.ts'
import { ALL_EVENTS, createLog, eventRecord, idsOf, numbers, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

export const closingCases: readonly StoreCase[] = [
  {
    name: 'closing: every later call fails with CLOSED',
    async run({ service, repository, clock }) {
      await createLog(service, 2)
      await service.close()
      const { now } = clock
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        create: () => service.create({ id: 't' }),
        findById: () => service.findById('s'),
        update: () => service.update('s', { metadata: {} }),
        listSessions: () => service.listSessions(),
        appendEvent: () => service.appendEvent('s', userEvent('a')),
        getEvents: () => service.getEvents('s'),
        getEventVersion: () => service.getEventVersion('s'),
        iterateEvents: () => service.iterateEvents('s')[Symbol.asyncIterator]().next(),
        eraseEvent: () => service.eraseEvent('s', 'e1'),
        delete: () => service.delete('s'),
        deleteUser: () => service.deleteUser('ana'),
        deleteExpiredSessions: () => service.deleteExpiredSessions(),
        commit: () => repository.commit('s', { now, events: [eventRecord('a')] }),
        findEvent: () => repository.findEvent('s', 'e1', { now }),
        readBoundaries: () => repository.readBoundaries('s', { now }),
        recallEvents: () =>
          repository.recallEvents({ now, userId: 'ana', filter: ALL_EVENTS, offset: 0, limit: 1 }),
      }
      for (const [name, call] of Object.entries(calls)) await assertFails(call, 'CLOSED', name)
    },
  },
  {
    name: 'closing: twice is as good as once, and before any use as well',
    async run({ open, service }) {
      const unused = await open()
      await unused.close()
      await unused.close()
      await service.close()
      await service.close()
    },
  },
  {
    name: 'closing: other instances go on',
    async run({ service, openService }) {
      await createLog(service, 2)
      const other = await openService()
      assertEqual((await other.getEvents('s')).length, 2, 'how many events it sees')
      await service.close()
      assertEqual((await other.appendEvent('s', userEvent('more'))).seq, 3, 'its next seq')
      assertEqual((await other.getEvents('s')).length, 3, 'how many events it sees then')
    },
  },
  {
    name: 'closing: what is going on then either succeeds or fails, and is stored when it succeeded',
    async run({ service, openService }) {
      await service.create({ id: 's' })
      const going = numbers(1, 10).map((index) => service.appendEvent('s', userEvent(`e${index}`)))
      const closing = service.close()
      const results = await Promise.allSettled(going)
      await closing
      const acknowledged: string[] = []
      for (const result of results) {
        if (result.status === 'fulfilled') acknowledged.push(result.value.id)
        else
          assertEqual<unknown>(
            (result.reason as { code?: unknown }).code,
            'CLOSED',
            'why one failed',
          )
      }
      const stored = idsOf(await (await openService()).getEvents('s'))
      for (const id of acknowledged)
        assertTrue(stored.includes(id), `${id}, acknowledged, is stored`)
    },
  },
  {
    name: 'closing: a closed instance hears no more hints',
    async run({ service, open, openService }) {
      const closed = await open()
      let heard = 0
      closed.watch(() => heard++, { sessionId: 's' })
      await closed.close()
      const other = await openService()
      const seen = new Promise<void>((resolve) => {
        void open().then((watching) => {
          watching.watch(() => resolve(), { sessionId: 's' })
          return other.create({ id: 's' })
        })
      })
      await seen
      await service.appendEvent('s', userEvent('a'))
      assertEqual(heard, 0, 'how often it was called')
    },
    needs: ['hints'],
  },
]
