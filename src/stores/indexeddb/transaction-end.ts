/** How a transaction ends. */

import { type IDBPTransaction, unwrap } from 'idb'

/**
 * {@link endOfNative} of idb's. (Its `done` settles at the first failed request already, with an `AbortError`
 * for what failed.)
 */
export function endOf(transaction: { readonly done: Promise<void> }): Promise<void> {
  transaction.done.catch(ignore)
  return endOfNative(unwrap(transaction as unknown as IDBPTransaction))
}

/** Settles when the transaction has committed or was rolled back, then with the error that caused it. */
export function endOfNative(transaction: IDBTransaction): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve())
    transaction.addEventListener('abort', () => {
      reject(transaction.error ?? new DOMException('the transaction was aborted', 'AbortError'))
    })
  })
  // Not everyone waits for the end: a failed request is known before.
  ended.catch(ignore)
  return ended
}

/** Rolls back, unless it is over already. */
export function abort(transaction: { abort(): void }): void {
  try {
    transaction.abort()
  } catch {
    // It has ended, which is what was wanted.
  }
}

/** For failures that reach the caller in another way. */
export const ignore = (): void => undefined
