/** The log of one session, read within one transaction: a consistent snapshot. */

import type { LogIndex, LogSource } from '../../core/read-log.ts'
import type { SeqRange } from '../../core/seq-ranges.ts'
import type { Damage, EventRecord } from '../../core/session-repository.ts'
import { readLongBody } from './event-rows.ts'
import { rowsBetween } from './key-ranges.ts'
import type { StoredEvent } from './schema.ts'
import { fromStoredEvent, hasLongBody } from './stored-records.ts'
import type { ReadTransaction } from './transactions.ts'

/** Long bodies that are read at once, in UTF-16 units. */
const LONG_BODIES_AT_ONCE = 4 << 20

export function createLogSource(
  transaction: ReadTransaction,
  session: number,
  index?: LogIndex,
): LogSource {
  const events = transaction.objectStore('events')
  return {
    index,

    async read(ranges) {
      const rows = await Promise.all(ranges.map((range) => readRange(range)))
      return withLongBodies(transaction, rows.flat())
    },

    async latestTimestampAt(seq) {
      const event = await events.get([session, seq])
      const time: unknown = event?.latestTimestamp ?? event?.timestamp
      return Number.isFinite(time) ? (time as number) : null
    },

    async lateSeqs(from, to) {
      const range = IDBKeyRange.bound([session, from], [session, to, []])
      return (await transaction.objectStore('late').getAllKeys(range)).map(([, , seq]) => seq)
    },
  }

  async function readRange([first, last]: SeqRange): Promise<StoredEvent[]> {
    if (first < last) {
      return events.getAll(rowsBetween(session, [first, last]))
    }
    const event = await events.get([session, first])
    return event === undefined ? [] : [event]
  }
}

/** The events of `rows`, or of the first of them when their long bodies are too much for one time. */
async function withLongBodies(
  transaction: ReadTransaction,
  rows: readonly StoredEvent[],
): Promise<readonly (EventRecord | Damage)[]> {
  let units = 0
  const end = rows.findIndex((row) => {
    const isFull = units > LONG_BODIES_AT_ONCE
    units += hasLongBody(row) ? row.bodyLength : 0
    return isFull
  })
  const taken = end === -1 ? rows : rows.slice(0, end)
  if (units === 0) return taken.map((row) => fromStoredEvent(row))
  const bodies = await Promise.all(taken.map((row) => readLongBody(transaction, row)))
  return taken.map((row, index) => fromStoredEvent(row, bodies[index]))
}
