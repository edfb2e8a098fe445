/** The same work done with plain `idb` and with Dexie, as most would write it. */

import { Dexie, type Table } from 'dexie'
import { type IDBPDatabase, openDB } from 'idb'
import { EventFilter, type EventFilterOptions, foldText, type Message } from 'turnlog'

/** An event as a page would store it, without a library. */
export interface PlainEvent {
  readonly session: string
  readonly seq: number
  readonly id: string
  readonly timestamp: number
  readonly message: Message
}

const everything = (session: string) => IDBKeyRange.bound([session], [session, []])

export function openPlain(name: string): Promise<IDBPDatabase> {
  return openDB(name, 1, {
    upgrade(database) {
      database.createObjectStore('events', { keyPath: ['session', 'seq'] })
    },
  })
}

export async function addPlain(
  database: IDBPDatabase,
  events: readonly PlainEvent[],
): Promise<void> {
  const transaction = database.transaction('events', 'readwrite', { durability: 'relaxed' })
  for (const event of events) void transaction.store.add(event)
  await transaction.done
}

/** Reads every event of a session, or of all, and filters. */
export async function searchPlain(
  database: IDBPDatabase,
  options: EventFilterOptions,
  session: string | null,
): Promise<readonly PlainEvent[]> {
  const range = session === null ? null : everything(session)
  const records: PlainEvent[] = await database.getAll('events', range)
  return EventFilter.of(options)
    .apply(records.map(toFiltered))
    .map(({ event }) => event)
}

function toFiltered(event: PlainEvent) {
  return {
    event,
    message: event.message,
    timestamp: new Date(event.timestamp),
    branch: null,
    synthetic: false,
    archived: false,
    rewound: false,
  }
}

export class DexiePeer {
  readonly #database: Dexie
  readonly #events: Table<PlainEvent, [string, number]>

  constructor(name: string) {
    this.#database = new Dexie(name, { chromeTransactionDurability: 'relaxed' })
    this.#database.version(1).stores({ events: '[session+seq]' })
    this.#events = this.#database.table('events')
  }

  async add(events: readonly PlainEvent[]): Promise<void> {
    await this.#events.bulkAdd([...events])
  }

  async lastN(session: string, count: number): Promise<readonly PlainEvent[]> {
    const found = await this.#ofSession(session).reverse().limit(count).toArray()
    return found.reverse()
  }

  search(
    session: string | null,
    { keyword, page, pageSize }: { keyword: string; page: number; pageSize: number },
  ): Promise<readonly PlainEvent[]> {
    const term = foldText(keyword)
    return (session === null ? this.#events.toCollection() : this.#ofSession(session))
      .filter(({ message }) => foldText(message.content as string).includes(term))
      .offset(page * pageSize)
      .limit(pageSize)
      .toArray()
  }

  close(): void {
    this.#database.close()
  }

  #ofSession(session: string) {
    return this.#events
      .where('[session+seq]')
      .between([session, Dexie.minKey], [session, Dexie.maxKey])
  }
}
