/** A Durable Object's context that counts the rows of every statement, whoever runs it. */

export interface Meter {
  /** Runs an operation and says what it cost. */
  measure<T>(operation: () => Promise<T>): Promise<{
    readonly result: T
    readonly rowsRead: number
    readonly rowsWritten: number
  }>
}

/** Replaces the `ctx` of an object by one whose `storage.sql` counts. */
export function meterContext(object: object, ctx: DurableObjectState): Meter {
  let cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = []
  const { storage } = ctx
  const sql = wrap(storage.sql, {
    exec: (statement: string, ...bindings: unknown[]) => {
      const cursor = storage.sql.exec(statement, ...bindings)
      cursors.push(cursor)
      return cursor
    },
  })
  Object.defineProperty(object, 'ctx', { value: wrap(ctx, { storage: wrap(storage, { sql }) }) })
  return {
    async measure(operation) {
      cursors = []
      const result = await operation()
      const sum = (count: (cursor: (typeof cursors)[number]) => number) =>
        cursors.reduce((total, cursor) => total + count(cursor), 0)
      return {
        result,
        rowsRead: sum(({ rowsRead }) => rowsRead),
        rowsWritten: sum(({ rowsWritten }) => rowsWritten),
      }
    },
  }
}

/** The target with some members replaced; the others are called on the target itself. */
function wrap<T extends object>(target: T, members: object): T {
  return new Proxy(target, {
    get(_target, key) {
      if (key in members) return Reflect.get(members, key)
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
