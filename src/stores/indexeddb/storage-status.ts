/** Whether the browser may throw the data away, and how much room there is. */

/** What the browser says about this page's storage. */
export interface StorageStatus {
  /** `true`: kept until the user clears it. `false`: may be evicted when space is low or nobody comes. */
  readonly persisted: boolean
  /** Bytes in use, all databases and caches of the origin together; `null`: not told. */
  readonly usage: number | null
  /** Bytes that are allowed; `null`: not told. */
  readonly quota: number | null
}

/** Tells how this page's data is stored. Never fails: what cannot be found out is `false` or `null`. */
export async function storageStatus(): Promise<StorageStatus> {
  const storage = findStorage()
  const [persisted, estimate] = await Promise.all([
    orNothing(() => storage?.persisted?.()),
    orNothing(() => storage?.estimate?.()),
  ])
  return {
    persisted: persisted === true,
    usage: estimate?.usage ?? null,
    quota: estimate?.quota ?? null,
  }
}

/**
 * Asks the browser to keep the data until the user clears it. Without that, best-effort storage goes
 * when space is low, and in Safari after seven days without a visit. Browsers may ask the user or decide
 * silently; call it when a person has something to lose, and show `persisted`. Never fails.
 */
export async function requestPersistence(): Promise<StorageStatus> {
  await orNothing(() => findStorage()?.persist?.())
  return storageStatus()
}

/** Not there on plain-http pages and in some private windows; `persist` is not there in workers. */
function findStorage(): Partial<StorageManager> | undefined {
  return typeof navigator === 'undefined' ? undefined : navigator.storage
}

async function orNothing<T>(ask: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await ask()
  } catch {
    return undefined // a browser that refuses to tell: the status says so
  }
}
