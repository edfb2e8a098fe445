/** Waiting that a signal ends, whether or not what is waited for heeds it. */

/** Runs `run`, but rejects with the signal's reason as soon as it is aborted, settled or not. */
export async function untilAborted<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    run()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
