/** How a transaction ends. */

import { type IDBPTransaction, unwrap } from 'idb'

/** What `IDBPTransaction`s of any schema and mode have in common. */
interface Endable {
  readonly error: DOMException | null
  readonly done: Promise<void>
  abort(): void
}

/**
 * Settles when the transaction has committed or was rolled back, then with the error that caused it.
 * (idb's `done` settles at the first failed request already, with an `AbortError` for what failed.)
 */
export function endOf(transaction: Endable): Promise<void> {
  transaction.done.catch(ignore)
  const native = unwrap(transaction as unknown as IDBPTransaction)
  const ended = new Promise<void>((resolve, reject) => {
    native.addEventListener('complete', () => resolve())
    native.addEventListener('abort', () => {
      reject(native.error ?? new DOMException('the transaction was aborted', 'AbortError'))
    })
  })
  // Not everyone waits for the end: a failed request is known before.
  ended.catch(ignore)
  return ended
}

/** Rolls back, unless it is over already. */
export function abort(transaction: Endable): void {
  try {
    transaction.abort()
  } catch {
    // It has ended, which is what was wanted.
  }
}

/** For failures that reach the caller in another way. */
export const ignore = (): void => undefined
