// A Durable Object's storage that counts rows as they are billed, and can be made to fail.

export interface RowCosts {
  readonly rowsRead: number
  readonly rowsWritten: number
}

export class MeteredStorage {
  /** Called before every statement; what it throws is the statement's failure. */
  beforeStatement: (statement: string) => void = () => undefined
  readonly #storage: DurableObjectStorage
  #cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = []

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  readonly sql = {
    exec: <T extends Record<string, SqlStorageValue>>(
      statement: string,
      ...bindings: unknown[]
    ): SqlStorageCursor<T> => {
      this.beforeStatement(statement)
      const cursor = this.#storage.sql.exec<T>(statement, ...bindings)
      this.#cursors.push(cursor)
      return cursor
    },
  }

  transactionSync<T>(callback: () => T): T {
    return this.#storage.transactionSync(callback)
  }

  /** Runs an operation and says what it cost. */
  async measure<T>(operation: () => Promise<T>): Promise<RowCosts & { readonly result: T }> {
    this.#cursors = []
    const result = await operation()
    const sum = (count: (cursor: SqlStorageCursor<Record<string, SqlStorageValue>>) => number) =>
      this.#cursors.reduce((total, cursor) => total + count(cursor), 0)
    return {
      result,
      rowsRead: sum((cursor) => cursor.rowsRead),
      rowsWritten: sum((cursor) => cursor.rowsWritten),
    }
  }
}
