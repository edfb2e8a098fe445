/** The one connection of a repository: opened when first needed, and again when the browser closed it. */

import { unwrap, wrap } from 'idb'
import { SessionError } from '../../core/errors.ts'
import { IDENTITY, MIGRATIONS, VERSION } from './migrations.ts'
import type { Database, UpgradeTransaction } from './schema.ts'
import { nameOf, toOpenError } from './storage-error.ts'
import { abort, ignore } from './transaction-end.ts'

export interface ConnectionOptions {
  readonly databaseName: string
  /** Gives the factory when it is needed; throwing is one of the ways of a browser to have none. */
  readonly getFactory: () => IDBFactory | null | undefined
  /** Milliseconds. */
  readonly openTimeout: number
  readonly onReset: () => void
  readonly onBlocked: () => void
}

export interface Connection {
  /**
   * The open database. Callers at the same time share one opening; after a failure the next call tries
   * again.
   *
   * @throws SessionError `STORAGE_UNAVAILABLE`, `STORAGE_BLOCKED`, `STORAGE_OUTDATED`, `QUOTA_EXCEEDED`,
   * `CLOSED`
   */
  open(): Promise<Database>
  /** Whether nothing can be done with `database` any more, and {@link open} would give another one. */
  isLost(database: Database): boolean
  close(): void
}

export function createConnection(options: ConnectionOptions): Connection {
  let closed = false
  let opening: Promise<Database> | null = null
  let current: Database | null = null
  /** Openings that wait for another tab, given up or not: a later one waits behind them. */
  const blocked = new Set<IDBOpenDBRequest>()
  /** Which database this connection has worked with. */
  let identity: string | null = null

  const forget = (database: Database) => {
    if (current !== database) return
    current = null
    opening = null
  }

  const start = async (): Promise<Database> => {
    const { database, identity: found } = await openDatabase(options, blocked, forget)
    if (closed) {
      database.close()
      throw closedError()
    }
    current = database
    const isReset = identity !== null && identity !== found
    identity = found
    // In a task of its own: what the user's callback throws is not an error of the store.
    if (isReset) queueMicrotask(options.onReset)
    return database
  }

  return {
    async open() {
      if (closed) throw closedError()
      if (opening === null) {
        const started = start()
        opening = started
        started.catch(() => {
          if (opening === started) opening = null
        })
      }
      return opening
    },

    isLost(database) {
      if (current !== database) return true
      try {
        unwrap(database).transaction('properties').abort()
        return false
      } catch (error) {
        if (nameOf(error) !== 'InvalidStateError') return false
        forget(database)
        return true
      }
    },

    close() {
      closed = true
      // Running transactions still end; those who wait for an opening are told.
      current?.close()
      current = null
      opening = null
    },
  }
}

interface OpenedDatabase {
  readonly database: Database
  readonly identity: string
}

async function openDatabase(
  { databaseName, getFactory, openTimeout, onBlocked }: ConnectionOptions,
  blocked: Set<IDBOpenDBRequest>,
  onClosed: (database: Database) => void,
): Promise<OpenedDatabase> {
  let upgradeFailure: unknown
  try {
    const factory = getFactory()
    if (factory === null || factory === undefined) throw new Error('there is no indexedDB here')
    const request = factory.open(databaseName, VERSION)
    request.addEventListener('blocked', () => {
      blocked.add(request)
      queueMicrotask(onBlocked)
    })
    request.addEventListener('upgradeneeded', ({ oldVersion }) => {
      // idb's types know no transaction of an upgrade here.
      const transaction = wrap(
        request.transaction as IDBTransaction,
      ) as unknown as UpgradeTransaction
      upgrade(wrap(request.result) as Database, transaction, oldVersion).catch((error) => {
        upgradeFailure = error
        abort(transaction)
      })
    })
    const opened = (wrap(request) as Promise<Database>)
      .finally(() => blocked.delete(request))
      .then((database) => prepare(database, onClosed))
    return await withinTime(opened, openTimeout, () =>
      blocked.size > 0
        ? new SessionError(
            'STORAGE_BLOCKED',
            `another tab holds an older version of the database "${databaseName}" open: close it and try again`,
          )
        : new SessionError(
            'STORAGE_UNAVAILABLE',
            `the database "${databaseName}" did not open within ${openTimeout} ms`,
          ),
    )
  } catch (error) {
    throw toOpenError(upgradeFailure ?? error, databaseName)
  }
}

async function upgrade(
  database: Database,
  transaction: UpgradeTransaction,
  oldVersion: number,
): Promise<void> {
  transaction.done.catch(ignore) // the request of the opening fails as well
  for (const [version, migrate] of MIGRATIONS) {
    if (version > oldVersion) await migrate(database, transaction)
  }
}

async function prepare(
  database: Database,
  onClosed: (database: Database) => void,
): Promise<OpenedDatabase> {
  // Without this, a deletion or an upgrade in another tab would wait until this one is closed.
  database.addEventListener('versionchange', () => {
    database.close()
    onClosed(database)
  })
  database.addEventListener('close', () => onClosed(database))
  try {
    const identity = await database.get('properties', IDENTITY)
    return { database, identity: identity?.value ?? '' }
  } catch (error) {
    database.close()
    throw error
  }
}

/** What `opened` gives; after `milliseconds` it fails, and the database is closed should it come later. */
async function withinTime(
  opened: Promise<OpenedDatabase>,
  milliseconds: number,
  makeError: () => SessionError,
): Promise<OpenedDatabase> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(makeError())
      opened.then(({ database }) => database.close(), ignore)
    }, milliseconds)
  })
  try {
    return await Promise.race([opened, late])
  } finally {
    clearTimeout(timer)
  }
}

function closedError(): SessionError {
  return new SessionError('CLOSED', 'the store is closed')
}
