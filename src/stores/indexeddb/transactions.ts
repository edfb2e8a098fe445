/** Transactions: all of one's requests or none, tried once more when the browser closed the connection. */

import { type IDBPTransaction, unwrap } from 'idb'
import { isSessionError } from '../../core/errors.ts'
import type { Connection } from './connection.ts'
import type { Database, TurnlogSchema } from './schema.ts'
import { nameOf, toStorageError } from './storage-error.ts'
import { abort, endOf, endOfNative } from './transaction-end.ts'

const STORES = [
  'sessions',
  'heads',
  'events',
  'late',
  'bodies',
  'boundaries',
  'tails',
  'blocks',
  'groups',
] as const

type StoreName = (typeof STORES)[number]
export type ReadTransaction = IDBPTransaction<TurnlogSchema, typeof STORES, IDBTransactionMode>
export type WriteTransaction = IDBPTransaction<TurnlogSchema, typeof STORES, 'readwrite'>

/**
 * Runs work in transactions. The work awaits requests of its transaction and nothing else: a transaction
 * is over when a task ends without a request pending. It may run twice, the second time on another
 * connection, after the first left nothing behind.
 */
export interface Transactions {
  /** @throws SessionError */
  read<T>(work: (transaction: ReadTransaction) => Promise<T>): Promise<T>
  /**
   * Settles when the transaction has committed.
   *
   * @throws SessionError, and nothing was written.
   */
  write<T>(work: (transaction: WriteTransaction) => Promise<T>): Promise<T>
  /**
   * Makes requests that need no answers, in a transaction that is on its way to be committed before it is
   * done with them: one way to the storage and back instead of two. Settles when it has committed, with what
   * the request gave.
   *
   * @param stores all that it needs: every one would cost an append a tenth more.
   * @param request makes them, and gives the one whose result is wanted; `null`: it has made none.
   * @throws SessionError, and nothing was written.
   */
  writeAtOnce<T>(
    stores: readonly StoreName[],
    request: (transaction: IDBTransaction) => IDBRequest<T> | null,
  ): Promise<T | null>
}

export function createTransactions(
  connection: Connection,
  durability: 'relaxed' | 'strict',
): Transactions {
  const run = async <T>(attempt: (database: Database) => Promise<T>): Promise<T> => {
    for (let isLastTry = false; ; isLastTry = true) {
      const database = await connection.open()
      try {
        return await attempt(database)
      } catch (error) {
        if (isSessionError(error) || isLastTry || !connection.isLost(database)) {
          throw toStorageError(error)
        }
      }
    }
  }

  return {
    read: (work) =>
      run(async (database) => {
        const transaction = database.transaction(STORES, 'readonly')
        void endOf(transaction) // what was read is right, however the transaction ends
        return attemptWork(transaction, work)
      }),

    write: (work) =>
      run(async (database) => {
        const transaction = database.transaction(STORES, 'readwrite', { durability })
        const ended = endOf(transaction)
        const result = await attemptWork(transaction, work)
        transaction.commit()
        await ended
        return result
      }),

    writeAtOnce: (stores, request) =>
      run((database) => {
        const transaction = unwrap(database).transaction(stores, 'readwrite', { durability })
        const ended = endOfNative(transaction)
        return attemptWork(transaction, async () => {
          const made = request(transaction)
          transaction.commit()
          await ended
          return made === null ? null : made.result
        })
      }),
  }
}

async function attemptWork<X extends Pick<IDBTransaction, 'abort' | 'error'>, T>(
  transaction: X,
  work: (transaction: X) => Promise<T>,
): Promise<T> {
  try {
    return await work(transaction)
  } catch (error) {
    // The requests of a transaction that the browser rolled back fail without saying why.
    const cause = transaction.error ?? error
    abort(transaction)
    throw isSessionError(error) ? error : cause
  }
}

/**
 * What a request gives; `undefined` when the browser cannot read it. Browsers keep large values in files
 * of their own. When one is lost, that is the damage of one record: without this the whole transaction
 * would be rolled back.
 */
export function readLarge<T>(request: IDBRequest<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', (event) => {
      // The transaction is being rolled back: that says nothing about the value.
      if (nameOf(request.error) === 'AbortError') return reject(request.error)
      event.preventDefault()
      event.stopPropagation()
      resolve(undefined)
    })
  })
}

/** Writes records. Nobody waits for each of them: a write is done when its transaction has committed. */
export function put<Name extends StoreName>(
  transaction: WriteTransaction,
  store: Name,
  records: readonly TurnlogSchema[Name]['value'][],
): void {
  if (records.length === 0) return
  const target = unwrap(transaction).objectStore(store)
  for (const record of records) target.put(record)
}

/** {@link put} that rolls the transaction back with a `ConstraintError` when a key is taken. */
export function add<Name extends StoreName>(
  transaction: WriteTransaction,
  store: Name,
  records: readonly TurnlogSchema[Name]['value'][],
): void {
  if (records.length === 0) return
  const target = unwrap(transaction).objectStore(store)
  for (const record of records) target.add(record)
}

/** Deletes a record or all of a range. */
export function remove<Name extends StoreName>(
  transaction: WriteTransaction,
  store: Name,
  keys: TurnlogSchema[Name]['key'] | IDBKeyRange,
): void {
  unwrap(transaction).objectStore(store).delete(keys)
}
