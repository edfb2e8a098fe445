// Sealing happens in the background. Tests that count requests wait for its end first, and see it in the
// database itself, through a connection of their own. Others take another size of blocks.
import { openDB } from 'idb'
import { foldText, messageText, type SessionService, type SessionServiceOptions } from 'turnlog'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import type { SearchSettings } from '../../src/search/sealing.ts'
import { isOpen } from '../../src/stores/indexeddb/heads.ts'
import { rowsOf } from '../../src/stores/indexeddb/key-ranges.ts'
import { createRepository } from '../../src/stores/indexeddb/repository.ts'
import { isIntactHead } from '../../src/stores/indexeddb/stored-records.ts'

/** So small that every edge of a block is met, and always asked. */
export const SMALL_BLOCKS: SearchSettings = { limits: { events: 4, units: 100 }, worthwhile: 1 }

/** Nothing is ever sealed. */
export const NO_BLOCKS: SearchSettings = {
  limits: { events: Number.POSITIVE_INFINITY, units: Number.POSITIVE_INFINITY },
  worthwhile: 1,
}

export function openRepository(
  databaseName: string,
  search: SearchSettings,
  factory: IDBFactory = indexedDB,
): SessionRepository {
  return createRepository({
    databaseName,
    getFactory: () => factory,
    openTimeout: 10_000,
    durability: 'relaxed',
    onReset: () => undefined,
    onBlocked: () => undefined,
    search,
  })
}

/** A service of user "me" over {@link SMALL_BLOCKS}. */
export function openWithSmallBlocks(
  databaseName: string,
  options: SessionServiceOptions = {},
): SessionService {
  const repository = openRepository(databaseName, SMALL_BLOCKS)
  return createSessionService(repository, { defaultUserId: 'me', ...options })
}

/** What fills a block. */
const BLOCK = { events: 256, units: 1 << 16 }

/** Waits until what is in no block does not fill one. Some instance on the database must be open. */
export async function untilSealed(databaseName: string, limits = BLOCK): Promise<void> {
  const database = await openDB(databaseName)
  for (;;) {
    const transaction = database.transaction(['heads', 'events'])
    let events = 0
    let units = 0
    for (const head of await transaction.objectStore('heads').getAll()) {
      if (!isIntactHead(head)) events = limits.events // the sealing writes it anew
      if (events >= limits.events) break
      const { number, sealedSeq = 0 } = head
      const last = isOpen(head)
        ? await transaction.objectStore('events').openKeyCursor(rowsOf(number), 'prev')
        : null
      const lastSeq = (last?.key as [number, number] | undefined)?.[1] ?? head.lastSeq
      events += lastSeq - sealedSeq
      if (events >= limits.events) break
      const tail = IDBKeyRange.bound([number, sealedSeq + 1], [number, lastSeq + 1])
      for (const { body } of await transaction.objectStore('events').getAll(tail)) {
        // A long body is elsewhere, and fills a block for certain.
        units +=
          body === undefined ? limits.units : foldText(messageText(JSON.parse(body).message)).length
      }
    }
    if (events < limits.events && units < limits.units) break
    await pause()
  }
  // The sealer may look once more: a writing transaction waits for that.
  await pause()
  await database.transaction('heads', 'readwrite').objectStore('heads').count()
  database.close()
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 20)
  })
}
