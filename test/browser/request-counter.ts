// Counts what the requests of a page fetch and write, by listening to IndexedDB itself.

export interface RequestCounts {
  /** Records (or their keys) that requests gave. */
  readonly read: number
  /** Records that were put or added. */
  readonly written: number
  readonly deletions: number
  readonly transactions: number
  /** Records that were read, by the name of their object store. */
  readonly readByStore: Readonly<Record<string, number>>
}

/** Runs `work` and counts what it causes. */
export async function countRequests<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly counts: RequestCounts }> {
  const readByStore: Record<string, number> = {}
  let written = 0
  let deletions = 0
  let transactions = 0
  const count = (store: string, records: number) => {
    readByStore[store] = (readByStore[store] ?? 0) + records
  }
  const restores: (() => void)[] = []
  for (const { prototype } of [IDBObjectStore, IDBIndex]) {
    for (const method of ['get', 'getKey', 'getAll', 'getAllKeys', 'count'] as const) {
      restores.push(
        replace(
          prototype,
          method,
          (original) =>
            function (this: IDBObjectStore | IDBIndex, ...args: unknown[]) {
              const request = original.apply(this, args) as IDBRequest<unknown>
              request.addEventListener('success', () => {
                const { result } = request
                count(
                  storeOf(this),
                  // A key may be an array, too.
                  Array.isArray(result) && method.startsWith('getAll')
                    ? result.length
                    : Number(result !== undefined),
                )
              })
              return request
            },
        ),
      )
    }
    for (const method of ['openCursor', 'openKeyCursor'] as const) {
      restores.push(
        replace(
          prototype,
          method,
          (original) =>
            function (this: IDBObjectStore | IDBIndex, ...args: unknown[]) {
              const request = original.apply(this, args) as IDBRequest<unknown>
              request.addEventListener('success', () => {
                if (request.result !== null) count(storeOf(this), 1)
              })
              return request
            },
        ),
      )
    }
  }
  for (const method of ['put', 'add', 'delete'] as const) {
    restores.push(
      replace(
        IDBObjectStore.prototype,
        method,
        (original) =>
          function (this: IDBObjectStore, ...args: unknown[]) {
            if (method === 'delete') deletions++
            else written++
            return original.apply(this, args)
          },
      ),
    )
  }
  restores.push(
    replace(
      IDBDatabase.prototype,
      'transaction',
      (original) =>
        function (this: IDBDatabase, ...args: unknown[]) {
          transactions++
          return original.apply(this, args)
        },
    ),
  )
  try {
    const result = await work()
    const read = Object.values(readByStore).reduce((sum, records) => sum + records, 0)
    return { result, counts: { read, written, deletions, transactions, readByStore } }
  } finally {
    for (const restore of restores) restore()
  }
}

/** Replaces a method until the returned function is called. */
export function replace<T extends object, K extends keyof T>(
  target: T,
  method: K,
  make: (original: (...args: unknown[]) => unknown) => (...args: never[]) => unknown,
): () => void {
  const original = target[method]
  target[method] = make(original as (...args: unknown[]) => unknown) as T[K]
  return () => {
    target[method] = original
  }
}

function storeOf(source: IDBObjectStore | IDBIndex): string {
  return source instanceof IDBIndex ? source.objectStore.name : source.name
}
