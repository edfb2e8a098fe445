/** turnlog/indexeddb: sessions in the browser's own database. */

import { readDelay, readOptionalFunction, readOptions } from '../../core/arguments.ts'
import { createSessionService } from '../../core/create-session-service.ts'
import { describeValue, invalidArgument } from '../../core/errors.ts'
import { checkId } from '../../core/identifiers.ts'
import type { Message } from '../../core/message.ts'
import type { SessionRepository } from '../../core/session-repository.ts'
import type { SessionService, SessionServiceOptions } from '../../core/session-service.ts'
import { createRepository } from './repository.ts'

export { requestPersistence, type StorageStatus, storageStatus } from './storage-status.ts'

/** Which database, and how it is opened and written. */
export interface IndexedDBOptions {
  /** A database is one namespace of session ids. Default `'turnlog'`. */
  readonly databaseName?: string | null | undefined
  /** Where databases come from. Default: the global `indexedDB` at the time of the first call. */
  readonly indexedDB?: IDBFactory | null | undefined
  /**
   * Milliseconds after which opening fails: with `STORAGE_BLOCKED` when another tab holds up an upgrade,
   * else with `STORAGE_UNAVAILABLE`. The next call tries again. At most 2³¹ − 1. Default 10,000.
   */
  readonly openTimeout?: number | null | undefined
  /**
   * What a write waits for. `'relaxed'`, the default: its data is with the operating system, and survives
   * a crash of the tab, the worker and the browser. `'strict'`: it is on the disk, and survives a power
   * failure, too; every write is then several times slower.
   */
  readonly durability?: 'relaxed' | 'strict' | null | undefined
  /**
   * Hears when the database was deleted or evicted while in use: an empty one has taken its place, and
   * what is missing was not deleted by the user.
   */
  readonly onReset?: (() => void) | null | undefined
  /** Hears when an upgrade has to wait for another tab: ask the user to close or reload it. */
  readonly onBlocked?: (() => void) | null | undefined
}

/**
 * Sessions in IndexedDB. Nothing is opened before the first call. Any number of tabs may work on one
 * database at the same time.
 *
 * Besides the errors of `SessionService`, every method may fail with `STORAGE_UNAVAILABLE` (there is no
 * IndexedDB, or it does not work), `STORAGE_BLOCKED` (another tab holds up an upgrade),
 * `STORAGE_OUTDATED` (another tab has upgraded the database: reload), `QUOTA_EXCEEDED` or
 * `STORAGE_FAILED`. The next call tries again.
 *
 * @example
 * const sessions = createIndexedDBSessionService({ defaultUserId: 'me', timeToLive: null })
 * await sessions.findOrCreate({ id: 'chat-1' })
 * await sessions.appendMessage('chat-1', { role: 'user', content: 'Hello' })
 */
export function createIndexedDBSessionService<M extends Message = Message>(
  options: (SessionServiceOptions & IndexedDBOptions) | null = {},
): SessionService<M> {
  return createSessionService<M>(createIndexedDBRepository(options), options)
}

/** The store under {@link createIndexedDBSessionService}, for a service of one's own. */
export function createIndexedDBRepository(given: IndexedDBOptions | null = {}): SessionRepository {
  const options = readOptions(given)
  const { databaseName, durability } = options
  const onReset = readOptionalFunction(options.onReset, 'onReset')
  const onBlocked = readOptionalFunction(options.onBlocked, 'onBlocked')
  if ((durability ?? 'relaxed') !== 'relaxed' && durability !== 'strict') {
    throw invalidArgument(
      'durability',
      `must be 'relaxed' or 'strict', not ${describeValue(durability)}`,
    )
  }
  return createRepository({
    databaseName: checkId(databaseName ?? 'turnlog', 'databaseName'),
    getFactory: () => options.indexedDB ?? globalThis.indexedDB,
    openTimeout: readDelay(options.openTimeout, 'openTimeout', 10_000),
    durability: durability ?? 'relaxed',
    onReset: () => onReset?.(),
    onBlocked: () => onBlocked?.(),
  })
}
