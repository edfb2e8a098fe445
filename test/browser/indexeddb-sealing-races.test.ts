// Three instances on one database append, erase, delete, update, compact and search at the same time,
// while each of them seals: whatever the order was, every event up to the place that a head names is in
// one block, every other in a tail, and what was erased or deleted is nowhere.

import * as fc from 'fast-check'
import { openDB } from 'idb'
import { EventFilter, isSessionError, type SessionService } from 'turnlog'
import { expect, inject, test } from 'vitest'
import { decodeBlock } from '../../src/search/block.ts'
import { isOpen } from '../../src/stores/indexeddb/heads.ts'
import { rowsOf } from '../../src/stores/indexeddb/key-ranges.ts'
import type { TurnlogSchema } from '../../src/stores/indexeddb/schema.ts'
import { fromBlockRecord } from '../../src/stores/indexeddb/stored-records.ts'
import { dumpDatabase } from './database-dump.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'
import { openWithSmallBlocks, SMALL_BLOCKS, untilSealed } from './sealing.ts'

const SESSIONS = ['a', 'b', 'c'] as const
/** A sliding lifetime gives the session another stamp with every append. */
const LIFETIMES = { a: null, b: null, c: { sliding: 3_600_000 } }
const KINDS = [
  'append',
  'append',
  'append',
  'batch',
  'erase',
  'delete',
  'update',
  'compact',
  'search',
  'recall',
  'wait',
] as const

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    sessionId: fc.constantFrom(...SESSIONS),
    tab: fc.nat(2),
    number: fc.nat(12),
  }),
  { minLength: 10, maxLength: 60 },
)
type Step = (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never)[number]

let events = 0

/** A word that is in one event only. */
const secretOf = (number: number) =>
  String(number)
    .replace(/\d/g, (digit) => String.fromCodePoint(0x4e00 + 97 * Number(digit)))
    .padStart(9, '龍')

test('races of three tabs', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const databaseName = freshDatabaseName()
      const services = [1, 2, 3].map(() =>
        openWithSmallBlocks(databaseName, {
          timeToLive: null,
          onDamage: (damage) => expect(damage).toBeNull(),
        }),
      )
      const gone = new Set<string>()
      for (const sessionId of SESSIONS) {
        await perform(services, { kind: 'batch', sessionId, tab: 0, number: 2 }, gone)
      }
      await Promise.all(
        services.map(async (_, tab) => {
          for (const step of taken) if (step.tab === tab) await perform(services, step, gone)
        }),
      )
      // A last turn of each, so that what is enough for a block is seen.
      for (const service of services) await service.recallEvents({ keyword: 'x' }, { userId: 'me' })
      await untilSealed(databaseName, SMALL_BLOCKS.limits)
      await check(databaseName, services[0] as SessionService, gone)
      for (const service of services) await service.close()
    }),
    { numRuns: inject('randomRuns') ?? 40 },
  )
})

async function perform(services: readonly SessionService[], step: Step, gone: Set<string>) {
  const { kind, sessionId, tab, number } = step
  const service = services[tab] as SessionService
  const say = () => {
    const content = `${secretOf(++events)} x`
    return { id: `e${events}`, message: { role: 'user' as const, content } }
  }
  try {
    switch (kind) {
      case 'append':
        await service.findOrCreate({ id: sessionId, timeToLive: LIFETIMES[sessionId] })
        await service.appendEvent(sessionId, say())
        return
      case 'batch':
        await service.findOrCreate({ id: sessionId, timeToLive: LIFETIMES[sessionId] })
        await service.appendEvents(sessionId, Array.from({ length: 3 * number + 1 }, say))
        return
      case 'erase': {
        const log = await service.getEvents(sessionId)
        const found = log[number % log.length]
        if (found === undefined) return
        await service.eraseEvent(sessionId, found.id)
        gone.add(found.id)
        return
      }
      case 'delete': {
        const found = await service.getEvents(sessionId)
        if (!(await service.delete(sessionId))) return
        for (const { id } of found) gone.add(id)
        return
      }
      case 'update':
        await service.update(sessionId, { metadata: { number } })
        return
      case 'compact':
        await service.clearView(sessionId)
        return
      case 'search':
        await service.getEvents(sessionId, { keyword: 'x', lastN: number + 1 })
        return
      case 'recall':
        await service.recallEvents({ keyword: 'x' }, { userId: 'me' })
        return
      case 'wait':
        await new Promise((resolve) => setTimeout(resolve, number))
    }
  } catch (error) {
    // Another tab has deleted the session or the event.
    const code = isSessionError(error) ? error.code : ''
    if (code !== 'SESSION_NOT_FOUND' && code !== 'EVENT_NOT_FOUND') throw error
  }
}

async function check(databaseName: string, service: SessionService, gone: ReadonlySet<string>) {
  const database = await openDB<TurnlogSchema>(databaseName)
  const heads = await database.getAll('heads')
  const sealed = (await database.getAll('blocks')).flatMap(
    (block) => decodeBlock(fromBlockRecord(block)).entries,
  )
  const lastKeys = await Promise.all(
    heads.map(({ number }) =>
      database.transaction('events').store.openKeyCursor(rowsOf(number), 'prev'),
    ),
  )
  const tails = await database.getAllKeys('tails')
  database.close()
  expect(sealed.map(({ session, seq }) => `${session}:${seq}`).sort()).toEqual(
    heads
      .flatMap(({ number, sealedSeq = 0 }) =>
        Array.from({ length: sealedSeq }, (_, index) => `${number}:${index + 1}`),
      )
      .sort(),
  )
  const lasts = lastKeys.map((cursor) => cursor?.key[1] ?? 0)
  expect(tails.map(([session]) => session)).toEqual(
    heads
      .filter((head, index) => isOpen(head) || (lasts[index] ?? 0) > (head.sealedSeq ?? 0))
      .map(({ number }) => number),
  )
  for (const [index, head] of heads.entries()) {
    if (!isOpen(head)) expect(head.lastSeq).toBe(lasts[index])
  }
  const dump = await dumpDatabase(databaseName)
  const left = [...gone].filter((id) => dump.includes(secretOf(Number(id.slice(1)))))
  expect(left).toEqual([])

  const filter = EventFilter.of({ keyword: 'x' })
  const expected: string[] = []
  for (const id of SESSIONS) {
    if ((await service.findById(id)) === null) continue
    const log = await service.getEvents(id)
    const matches = filter.apply(log).map((event) => event.id)
    expect((await service.getEvents(id, filter)).map((event) => event.id)).toEqual(matches)
    expected.push(...matches)
  }
  const page = { page: 0, pageSize: 10_000 }
  const recalled = await service.recallEvents({ ...filter.toJSON(), ...page }, { userId: 'me' })
  expect(recalled.map(({ id }) => id).sort()).toEqual(expected.sort())
}
