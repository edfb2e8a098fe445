/** What the store needs of a Durable Object's storage: synchronous SQL and synchronous transactions. */

/** A value of a row. */
export type SqlValue = string | number | null | ArrayBuffer

/** A row, by the names of its columns. */
export type SqlRow = Record<string, SqlValue>

/** `ctx.storage` of a Durable Object whose class has SQLite storage is one. */
export interface SqlDatabase {
  readonly sql: {
    exec<Row extends SqlRow>(query: string, ...bindings: SqlValue[]): { toArray(): Row[] }
  }
  transactionSync<T>(callback: () => T): T
}

/**
 * The rows of a query, all of them: a cursor that is still open while something is written would go on
 * in a table that is no longer what it was.
 */
export function select<Row extends SqlRow>(
  { sql }: SqlDatabase,
  query: string,
  ...bindings: SqlValue[]
): Row[] {
  return sql.exec<Row>(query, ...bindings).toArray()
}

/** Runs a statement that writes. */
export function run({ sql }: SqlDatabase, statement: string, ...bindings: SqlValue[]): void {
  sql.exec(statement, ...bindings)
}

/**
 * Runs `callback` in a transaction: what it wrote is undone when it throws.
 *
 * @throws TypeError when the callback gives a promise: what it writes after its first await would be
 * outside the transaction, and kept when it fails.
 */
export function transact<T>(database: SqlDatabase, callback: () => T): T {
  return database.transactionSync(() => {
    const result = callback()
    if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
      throw new TypeError('a transaction of Durable Object storage must be synchronous')
    }
    return result
  })
}
