/** What runs in the page. Every step gives its figures; `bench/run.ts` calls them one after the other. */

import { openDB } from 'idb'
import type { EventFilterOptions } from 'turnlog'
import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { NO_BLOCKS, openRepository } from '../../test/browser/sealing.ts'
import { type Metric, median, metric, PAGE_SIZE, percentile } from '../metric.ts'
import { type Corpus, checkAnswer, chooseSearches } from '../texts.ts'
import {
  createSession,
  fillOurs,
  fillVersion1,
  plainEvent,
  portionsOf,
  START,
  toRecord,
  USER,
  untilQuiet,
} from './databases.ts'
import { addPlain, DexiePeer, openPlain, type PlainEvent, searchPlain } from './peers.ts'
import { countBytes, serialisedBytes } from './read-bytes.ts'

export interface Settings {
  readonly corpus: Corpus
  readonly size: number
  readonly sessions: number
  readonly runs: number
  readonly appends: number
}

let settings: Settings
let searches: ReturnType<typeof chooseSearches>

const OURS = 'ours'
const SHORT = 'ours-short'
const PLAIN = 'plain'
const DEXIE = 'dexie'
const CROSS = 'cross'
const CROSS_PLAIN = 'cross-plain'
const SHORT_SIZE = 1_000

const openOurs = (databaseName: string) =>
  createIndexedDBSessionService({ databaseName, defaultUserId: USER, timeToLive: null })

/** Given by `--expose-gc`. */
declare const gc: () => void

/** How long something takes, begun with a clean heap. */
async function time(work: () => Promise<unknown>): Promise<number> {
  gc()
  return timeBesides(work)
}

/** How long something takes while other things happen. */
async function timeBesides(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The medians of alternating runs; each gives a time. */
async function alternate<Name extends string>(
  works: Readonly<Record<Name, () => Promise<number>>>,
  runs = settings.runs,
): Promise<Record<Name, number>> {
  const names = Object.keys(works) as Name[]
  const times = new Map<Name, number[]>(names.map((name) => [name, []]))
  for (let run = 0; run < runs; run++) {
    for (const name of names) times.get(name)?.push(await works[name]())
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<
    Name,
    number
  >
}

const crossId = (index: number) => `session-${String(index).padStart(5, '0')}`
const crossLength = () => settings.size / settings.sessions

function* crossSessions() {
  const { corpus, size, sessions } = settings
  const length = crossLength()
  for (let index = 0; index < sessions; index++) {
    const id = crossId(index)
    const events = Array.from({ length }, (_, at) =>
      plainEvent(corpus, id, at + 1, index * length + at, size),
    )
    yield { id, portions: [events] }
  }
}

async function fillPlain(name: string, portions: Iterable<readonly PlainEvent[]>): Promise<void> {
  const database = await openPlain(name)
  for (const events of portions) await addPlain(database, events)
  database.close()
}

const fullLog = () => portionsOf(settings.corpus, 'log', settings.size)

async function usage(): Promise<number> {
  return (await navigator.storage.estimate()).usage ?? 0
}

const steps = {
  async fill(): Promise<readonly Metric[]> {
    const log = () => [{ id: 'log', portions: fullLog() }]
    const start = await usage()
    const repository = openRepository('unsealed', NO_BLOCKS)
    await createSession(repository, 'log')
    for (const events of fullLog()) {
      await repository.commit('log', { now: START, events: events.map(toRecord) })
    }
    await repository.close()
    const unsealed = await usage()
    await fillOurs(OURS, log())
    const ours = await usage()
    await fillPlain(PLAIN, fullLog())
    const plain = await usage()
    await fillOurs(SHORT, [{ id: 'log', portions: portionsOf(settings.corpus, 'log', SHORT_SIZE) }])
    const bytes = await storedBytes(OURS)
    return [
      metric(
        'storage.overhead',
        'bytes',
        bytes.events + bytes.search,
        bytes.events,
        'records as they are serialised, with and without blocks and directory',
      ),
      metric(
        'storage.overhead.disk',
        'bytes',
        ours - unsealed,
        unsealed - start,
        `the browser's own estimate, with indexes; plain idb: ${plain - ours}`,
      ),
    ]
  },

  async appends(): Promise<readonly Metric[]> {
    const { size, appends, corpus } = settings
    let next = size
    const event = () => {
      next++
      return { ...plainEvent(corpus, 'log', next, next, size) }
    }
    // One service and one connection for all runs, as a page has them.
    const service = openOurs(OURS)
    const plain = await openPlain(PLAIN)
    await service.findById('log')
    // One run in two takes plain idb half as long again as the other: seven of them say little.
    const runs = 3 * settings.runs
    const single = await alternate(
      {
        async ours() {
          const events = Array.from({ length: appends }, event)
          const took = await timeUntilWritten(async () => {
            for (const { id, message, timestamp } of events) {
              await service.appendEvent('log', { id, message, timestamp })
            }
          })
          return took / appends
        },
        async plain() {
          const events = Array.from({ length: appends }, event)
          const took = await timeUntilWritten(async () => {
            for (const item of events) await addPlain(plain, [item])
          })
          return took / appends
        },
      },
      runs,
    )
    const batches = Math.max(1, Math.round(appends / 128))
    const batch = await alternate(
      {
        async ours() {
          const portions = Array.from({ length: batches }, () =>
            Array.from({ length: 1000 }, event),
          )
          const took = await timeUntilWritten(async () => {
            for (const events of portions) {
              await service.appendEvents(
                'log',
                events.map(({ id, message, timestamp }) => ({ id, message, timestamp })),
              )
            }
          })
          return took / batches
        },
        async plain() {
          const portions = Array.from({ length: batches }, () =>
            Array.from({ length: 1000 }, event),
          )
          const took = await timeUntilWritten(async () => {
            for (const events of portions) await addPlain(plain, events)
          })
          return took / batches
        },
      },
      runs,
    )
    await service.close()
    plain.close()
    return [
      metric('idb.append.single', 'ms', single.ours, single.plain, 'per event, sealing included'),
      metric('idb.append.batch1000', 'ms', batch.ours, batch.plain, 'per batch, sealing included'),
    ]
  },

  async growth(): Promise<readonly Metric[]> {
    const read = (databaseName: string, filter: EventFilterOptions) => async () => {
      const service = openOurs(databaseName)
      await service.findById('log')
      const took = await time(async () => {
        for (let repeat = 0; repeat < 20; repeat++) await service.getEvents('log', filter)
      })
      await service.close()
      return took / 20
    }
    const view: Record<string, readonly number[]> = {}
    for (const databaseName of [OURS, SHORT]) view[databaseName] = await compact(databaseName)
    const lastN20 = await alternate({
      long: read(OURS, { lastN: 20 }),
      short: read(SHORT, { lastN: 20 }),
    })
    const active40 = await alternate({
      long: read(OURS, { excludeArchived: true }),
      short: read(SHORT, { excludeArchived: true }),
    })
    const service = openOurs(OURS)
    const log = await service.getEvents('log')
    checkAnswer('idb.lastN20', log, { lastN: 20 }, await service.getEvents('log', { lastN: 20 }))
    const active = (await service.getEvents('log', { excludeArchived: true })).map(({ seq }) => seq)
    if (active.join() !== view[OURS]?.join()) throw new Error('idb.active40 is wrong')
    await service.close()
    return [
      metric('idb.lastN20.growth', 'ms', lastN20.long, lastN20.short, 'against a log of 1,000'),
      metric('idb.active40.growth', 'ms', active40.long, active40.short, 'against a log of 1,000'),
    ]
  },

  async search(name: string): Promise<readonly Metric[]> {
    const filter = searches.filters[name] as EventFilterOptions
    const warm: number[] = []
    let answer: readonly { readonly seq: number }[] = []
    const { ours, plain } = await alternate({
      async ours() {
        const service = openOurs(OURS)
        const took = await time(async () => {
          answer = await service.getEvents('log', filter)
        })
        warm.push(await time(() => service.getEvents('log', filter)))
        await service.close()
        return took
      },
      plain: () =>
        time(async () => {
          const database = await openPlain(PLAIN)
          await searchPlain(database, filter, 'log')
          database.close()
        }),
    })
    const service = openOurs(OURS)
    checkAnswer(`idb.search.${name}`, await service.getEvents('log'), filter, answer)
    await service.close()
    const note = `"${searches.words[name]}", ${answer.length} found`
    const bytes = name === 'absent' ? [await searchBytes(filter)] : []
    return [
      metric(`idb.search.${name}`, 'ms', ours, plain, `cold; ${note}`),
      metric(`idb.search.${name}.warm`, 'ms', median(warm), plain, 'the same service again'),
      ...bytes,
    ]
  },

  async fillCross(): Promise<readonly Metric[]> {
    await fillOurs(CROSS, crossSessions())
    await fillPlain(
      CROSS_PLAIN,
      (function* () {
        for (const { portions } of crossSessions()) yield* portions
      })(),
    )
    return []
  },

  async cross(name: 'rare' | 'absent'): Promise<readonly Metric[]> {
    const keyword = searches.words[name === 'rare' ? 'phrase' : 'absent'] ?? ''
    const filter = { keyword, page: 0, pageSize: PAGE_SIZE }
    const warm: number[] = []
    let answer: readonly string[] = []
    let expected: readonly string[] = []
    const { ours, plain } = await alternate({
      async ours() {
        const service = openOurs(CROSS)
        const recall = () => service.recallEvents(filter, { userId: USER })
        const took = await time(async () => {
          answer = (await recall()).map(({ id }) => id)
        })
        warm.push(await time(recall))
        await service.close()
        return took
      },
      plain: () =>
        time(async () => {
          const database = await openPlain(CROSS_PLAIN)
          expected = (await searchPlain(database, filter, null)).map(({ id }) => id)
          database.close()
        }),
    })
    if (answer.join() !== expected.join()) throw new Error(`idb.cross.${name} is wrong`)
    return [
      metric(`idb.cross.${name}`, 'ms', ours, plain, `cold; "${keyword}", ${answer.length} found`),
      metric(`idb.cross.${name}.warm`, 'ms', median(warm), plain, 'the same service again'),
    ]
  },

  /** A database of version 1: right answers at once, and nobody waits for the sealing. */
  async upgrade(): Promise<readonly Metric[]> {
    await fillVersion1('old', 'log', fullLog())
    const filter = searches.filters['late'] as EventFilterOptions
    const service = openOurs('old')
    let answer: readonly { readonly seq: number }[] = []
    const first = await time(async () => {
      answer = await service.getEvents('log', filter)
    })
    const waits: number[] = []
    const database = await openDB('old')
    const isSealed = async () => {
      const [head] = await database.getAll('heads')
      return head.lastSeq - (head.sealedSeq ?? 0) < 256
    }
    const [start, sealing] = [performance.now(), transactionTimes()]
    const log = await service.getEvents('log')
    checkAnswer('index.upgrade, first', log, filter, answer)
    for (let count = 0; !(await isSealed()); count++) {
      const work = () =>
        count % 2 === 0
          ? service.getEvents('log', { lastN: 1 })
          : service.appendMessage('log', { role: 'user', content: 'meanwhile' })
      waits.push(await timeBesides(work))
      if (count % 64 === 0) {
        // Looking at the whole log keeps the page busy, and that is not the sealing's doing.
        sealing.pause()
        const now = await service.getEvents('log', filter)
        checkAnswer('index.upgrade, during', log, filter, now)
        sealing.resume()
      }
    }
    const sealed = performance.now() - start
    sealing.stop()
    await untilQuiet('old')
    const after = await time(async () => {
      answer = await service.getEvents('log', filter)
    })
    checkAnswer('index.upgrade, after', log, filter, answer)
    const alone: number[] = []
    for (let count = 0; count < waits.length; count++) {
      alone.push(await timeBesides(() => service.getEvents('log', { lastN: 1 })))
    }
    database.close()
    await service.close()
    const worst = (values: readonly number[]) => Math.max(0, ...values)
    return [
      metric(
        'index.upgrade',
        'ms',
        percentile(sealing.times, 0.99),
        50,
        `how long 99 of 100 transactions of the sealing held others up; ${sealing.times.length} of them, ` +
          `median ${median(sealing.times).toFixed(1)}, longest ${worst(sealing.times).toFixed(0)} ms; ` +
          `${waits.length} reads and appends meanwhile took at most ${worst(waits).toFixed(0)} ms ` +
          `(median ${median(waits).toFixed(1)}), reads afterwards at most ${worst(alone).toFixed(0)}`,
      ),
      metric('index.upgrade.firstAnswer', 'ms', first, after, 'a search at once; after: sealed'),
      metric('index.upgrade.sealed', 'ms', sealed, settings.size, 'until all is sealed; events'),
    ]
  },

  async dexie(): Promise<readonly Metric[]> {
    const { size, appends, corpus } = settings
    const peer = new DexiePeer(DEXIE)
    for (const events of fullLog()) await peer.add(events)
    let next = size
    const single = await time(async () => {
      for (let count = 0; count < appends; count++) {
        next++
        await peer.add([plainEvent(corpus, 'log', next, next, size)])
      }
    })
    const batch = await time(async () => {
      await peer.add(
        Array.from({ length: 1000 }, () => {
          next++
          return plainEvent(corpus, 'log', next, next, size)
        }),
      )
    })
    const lastN = await time(() => peer.lastN('log', 20))
    const figures = [
      metric('peer.dexie.append.single', 'ms', single / appends, 1),
      metric('peer.dexie.append.batch1000', 'ms', batch, 1),
      metric('peer.dexie.lastN20', 'ms', lastN, 1),
    ]
    for (const [name, options] of Object.entries(searches.filters)) {
      const {
        keyword = '',
        page = 0,
        pageSize = PAGE_SIZE,
      } = options as {
        keyword?: string
        page?: number
        pageSize?: number
      }
      const took: number[] = []
      for (let run = 0; run < Math.min(3, settings.runs); run++) {
        took.push(await time(() => peer.search('log', { keyword, page, pageSize })))
      }
      figures.push(metric(`peer.dexie.search.${name}`, 'ms', median(took), 1))
    }
    peer.close()
    return figures
  },
}

/** How long something takes, until the last thing that it causes is written: of ours, the last block. */
async function timeUntilWritten(work: () => Promise<unknown>): Promise<number> {
  const original = IDBDatabase.prototype.transaction
  let last = 0
  IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...args) {
    const transaction = original.apply(this, args)
    if (transaction.mode === 'readwrite') {
      transaction.addEventListener('complete', () => {
        last = performance.now()
      })
    }
    return transaction
  }
  try {
    gc()
    const start = performance.now()
    await work()
    const end = await untilIdle(() => last)
    return Math.max(end, last) - start
  } finally {
    IDBDatabase.prototype.transaction = original
  }
}

/** Waits until a time has not changed for a while; gives it. */
async function untilIdle(lastWrite: () => number): Promise<number> {
  for (;;) {
    const last = lastWrite()
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
    if (lastWrite() === last) return last
  }
}

async function searchBytes(filter: EventFilterOptions): Promise<Metric> {
  const service = openOurs(OURS)
  const ours = await countBytes(() => service.getEvents('log', filter))
  await service.close()
  const database = await openPlain(PLAIN)
  const plain = await countBytes(() => searchPlain(database, filter, 'log'))
  database.close()
  return metric('idb.search.bytes', 'bytes', ours, plain, 'absent word')
}

async function storedBytes(name: string): Promise<{ events: number; search: number }> {
  const database = await openDB(name)
  const bytesOf = async (store: string) => {
    let bytes = 0
    for (let cursor = await database.transaction(store).store.openCursor(); cursor; ) {
      bytes += serialisedBytes(cursor.value)
      cursor = await cursor.continue()
    }
    return bytes
  }
  const events = await bytesOf('events')
  const search = (await bytesOf('blocks')) + (await bytesOf('groups'))
  database.close()
  return { events, search }
}

/** A boundary that leaves a view of 40; gives their `seq`s. */
async function compact(databaseName: string): Promise<readonly number[]> {
  const repository = createIndexedDBRepository({ databaseName })
  const session = await repository.findSession('log', { now: START })
  const { lastSeq } = session as { lastSeq: number }
  const summary = toRecord(plainEvent(settings.corpus, 'log', lastSeq + 1, 1, settings.size))
  await repository.commit('log', {
    now: START,
    operationId: 'compaction',
    events: [{ ...summary, id: 'summary', synthetic: true }],
    boundary: {
      summaries: ['summary'],
      kept: [[lastSeq - 38, lastSeq]],
      through: lastSeq,
      rewound: [],
    },
  })
  await repository.close()
  return [lastSeq + 1, ...Array.from({ length: 39 }, (_, index) => lastSeq - 38 + index)]
}

/**
 * Times the transactions that seal: those that make blocks, which begin with the tails and hold up who
 * writes, and those that write them, which begin with the last group and hold up everyone.
 */
function transactionTimes() {
  const times: number[] = []
  let isCounting = true
  const { prototype } = IDBObjectStore
  const { getAllKeys, openKeyCursor } = prototype
  const timed = (request: IDBRequest, transaction: IDBTransaction) => {
    let start = 0
    // From here on it runs, and others wait.
    request.addEventListener('success', () => {
      start ||= performance.now()
    })
    transaction.addEventListener('complete', () => {
      if (isCounting) times.push(performance.now() - start)
    })
  }
  prototype.getAllKeys = function (this: IDBObjectStore, ...args) {
    const request = getAllKeys.apply(this, args)
    if (isCounting && this.name === 'tails') timed(request, this.transaction)
    return request
  }
  prototype.openKeyCursor = function (this: IDBObjectStore, ...args) {
    const request = openKeyCursor.apply(this, args)
    const { mode } = this.transaction
    if (isCounting && this.name === 'groups' && mode === 'readwrite') {
      timed(request, this.transaction)
    }
    return request
  }
  return {
    times,
    pause() {
      isCounting = false
    },
    resume() {
      isCounting = true
    },
    stop() {
      Object.assign(prototype, { getAllKeys, openKeyCursor })
    },
  }
}

Object.assign(globalThis, {
  async prepare(given: Settings) {
    settings = given
    searches = chooseSearches(given.corpus)
    return searches.words
  },
  async runStep(name: keyof typeof steps, argument?: never): Promise<readonly Metric[]> {
    return await (steps[name] as (argument?: never) => Promise<readonly Metric[]>)(argument)
  },
})
