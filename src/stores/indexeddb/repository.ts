/** The `SessionRepository` in IndexedDB: it moves records, what they mean is decided in the core. */

import { placeOf } from '../../core/boundary.ts'
import { readLog } from '../../core/read-log.ts'
import { changeSession, isExpired, requireSession } from '../../core/session-record.ts'
import type { SessionRepository } from '../../core/session-repository.ts'
import { createLogIndex } from '../../search/log-index.ts'
import { recallBlocks } from '../../search/recall-blocks.ts'
import { removalOfSessions, removalOfText } from '../../search/removal.ts'
import { countTails, SEARCH_SETTINGS, type SearchSettings } from '../../search/sealing.ts'
import { createBlockSource, removeFromBlocks } from './block-rows.ts'
import { createChangeChannel } from './change-channel.ts'
import { createCommitter } from './commits.ts'
import { type ConnectionOptions, createConnection } from './connection.ts'
import { findEvent, findStoredEvent, toEventRows, writeEvents } from './event-rows.ts'
import { rowsOf } from './key-ranges.ts'
import { listSessions, readSession, readSessionsOf } from './list-sessions.ts'
import { createLogSource } from './log-source.ts'
import type { StoredSession } from './schema.ts'
import { createSealer } from './sealer.ts'
import { createSessionDirectory, type FoundSession, toFound } from './session-directory.ts'
import {
  hasLongBody,
  isIntactHead,
  salvageEvent,
  sealedSeqOf,
  toStoredSession,
} from './stored-records.ts'
import { readTails } from './tails.ts'
import {
  add,
  createTransactions,
  put,
  type ReadTransaction,
  remove,
  type WriteTransaction,
} from './transactions.ts'
import { writeSession } from './write-session.ts'

export interface RepositoryOptions extends ConnectionOptions {
  readonly durability: 'relaxed' | 'strict'
  /** Smaller blocks, for tests. */
  readonly search?: SearchSettings | undefined
}

export function createRepository(options: RepositoryOptions): SessionRepository {
  const connection = createConnection(options)
  const transactions = createTransactions(connection, options.durability)
  const directory = createSessionDirectory()
  const commitPlanned = createCommitter(transactions, directory)
  const channel = createChangeChannel(options.databaseName)
  const search = options.search ?? SEARCH_SETTINGS
  const sealer = createSealer(transactions, search)

  const requireFound = async (
    transaction: ReadTransaction,
    sessionId: string,
    now: number,
  ): Promise<FoundSession> => {
    const found = await directory.find(transaction, sessionId)
    requireSession(sessionId, found?.record, now)
    return found as FoundSession
  }

  const removeSessions = async (
    find: (transaction: WriteTransaction) => Promise<readonly StoredSession[]>,
  ): Promise<number> => {
    const gone = await transactions.write(async (transaction) => {
      const sessions = await find(transaction)
      await removeRows(
        transaction,
        sessions.map(({ number }) => number),
      )
      return sessions
    })
    sealer.removed(gone.map(({ number }) => number))
    channel.notify(gone.map(({ id }) => id))
    return gone.length
  }

  return {
    async createSession(input, { now }) {
      const { created, found } = await transactions.write(async (transaction) => {
        const existing = await directory.find(transaction, input.id)
        if (existing !== null && !isExpired(existing.record, now)) {
          return { created: false, found: existing }
        }
        if (existing !== null) await removeRows(transaction, [existing.stored.number])
        // Indexes over the number need it in the record: browsers draw it after they have made the keys.
        const number = await transaction.objectStore('sessions').add({} as StoredSession)
        const { stored, head } = toStoredSession({ ...input, number }, 0)
        put(transaction, 'sessions', [stored])
        add(transaction, 'heads', [head])
        return { created: true, found: toFound(transaction, stored, head) }
      })
      directory.remember(found)
      if (created) channel.notify([input.id])
      return { session: found.record, created }
    },

    async findSession(sessionId, { now }) {
      const found = await transactions.read((transaction) => directory.find(transaction, sessionId))
      return found === null || isExpired(found.record, now) ? null : found.record
    },

    async updateSession(sessionId, change) {
      const found = await transactions.write(async (transaction) => {
        const before = await requireFound(transaction, sessionId, change.now)
        const session = changeSession(before.record, change)
        return writeSession(transaction, before, session, { isRewritten: true })
      })
      directory.remember(found)
      channel.notify([sessionId])
      return found.record
    },

    async listSessions(request) {
      return transactions.read((transaction) => listSessions(transaction, request))
    },

    async deleteSession(sessionId) {
      const count = await removeSessions(async (transaction) => {
        const session = await transaction.objectStore('sessions').index('id').get(sessionId)
        return session === undefined ? [] : [session]
      })
      return count > 0
    },

    async deleteUser(userId) {
      return removeSessions((transaction) =>
        transaction.objectStore('sessions').index('created').getAll(rowsOf(userId)),
      )
    },

    async deleteExpiredSessions(before) {
      return removeSessions((transaction) =>
        transaction.objectStore('sessions').index('expiry').getAll(IDBKeyRange.upperBound(before)),
      )
    },

    async commit(sessionId, commit) {
      const committed = await commitPlanned(sessionId, commit)
      if (committed.plan.changed) channel.notify([sessionId])
      sealer.committed(committed)
      return committed.plan.result
    },

    async readEvents(sessionId, request) {
      return transactions.read(async (transaction) => {
        const { record, sealedSeq } = await requireFound(transaction, sessionId, request.now)
        sealer.seen(record.lastSeq - sealedSeq)
        const blocks = createBlockSource(transaction, sealer.damaged)
        const index = createLogIndex(blocks, record.number, sealedSeq, search.worthwhile)
        return readLog(createLogSource(transaction, record.number, index), record, request)
      })
    },

    async findEvent(sessionId, eventId, { now }) {
      return transactions.read(async (transaction) => {
        const { record } = await requireFound(transaction, sessionId, now)
        const event = await findEvent(transaction, record, eventId)
        return event === null ? null : { ...event, ...placeOf(record.boundary, event.seq) }
      })
    },

    async readBoundaries(sessionId, { now, beforeSeq }) {
      return transactions.read(async (transaction) => {
        const { number } = (await requireFound(transaction, sessionId, now)).record
        const boundaries = transaction.objectStore('boundaries')
        if (beforeSeq === undefined) {
          return (await boundaries.getAll(rowsOf(number))).map(({ boundary }) => boundary)
        }
        const range = IDBKeyRange.bound([number], [number, beforeSeq], false, true)
        const newest = await boundaries.openCursor(range, 'prev')
        return newest === null ? [] : [newest.value.boundary]
      })
    },

    async eraseEvent(sessionId, eventId, { now, body }) {
      const erased = await transactions.write(async (transaction) => {
        const session = await requireFound(transaction, sessionId, now)
        const { number } = session.record
        const found = await findStoredEvent(transaction, session.record, eventId)
        if (found === undefined) return null
        if (hasLongBody(found)) remove(transaction, 'bodies', [number, found.seq])
        writeEvents(transaction, toEventRows(number, [{ ...salvageEvent(found), body }]), put)
        // Another stamp: no instance seals the text that it remembers.
        writeSession(transaction, session, session.record, { isRewritten: true })
        await removeFromBlocks(transaction, removalOfText(number, found.seq, body))
        return number
      })
      if (erased === null) return false
      sealer.removed([erased])
      channel.notify([sessionId])
      return true
    },

    async recallEvents(request) {
      const { userId, now } = request
      return transactions.read((transaction) =>
        recallBlocks(request, {
          blocks: createBlockSource(transaction, sealer.damaged),
          async tails() {
            const { tails } = await readTails(transaction)
            sealer.seen(countTails(tails))
            return tails
          },
          session: async (number) => {
            const session = await readSession(transaction, number)
            return session?.userId === userId && !isExpired(session, now) ? session : null
          },
          sessions: async () =>
            (await readSessionsOf(transaction, userId)).filter(
              (session) => !isExpired(session, now),
            ),
          open: ({ number }) => createLogSource(transaction, number),
        }),
      )
    },

    watch: channel.watch,

    async close() {
      channel.close()
      sealer.close()
      connection.close()
    },
  }
}

async function removeRows(
  transaction: WriteTransaction,
  numbers: readonly number[],
): Promise<void> {
  const heads = transaction.objectStore('heads')
  const found = await Promise.all(numbers.map((number) => heads.get(number)))
  // A head that is damaged does not say whether there is something in the blocks.
  if (found.some((head) => !isIntactHead(head) || sealedSeqOf(head) > 0)) {
    await removeFromBlocks(transaction, removalOfSessions(new Set(numbers)))
  }
  for (const number of numbers) {
    remove(transaction, 'sessions', number)
    remove(transaction, 'heads', number)
    remove(transaction, 'tails', rowsOf(number))
    remove(transaction, 'events', rowsOf(number))
    remove(transaction, 'late', rowsOf(number))
    remove(transaction, 'bodies', rowsOf(number))
    remove(transaction, 'boundaries', rowsOf(number))
  }
}
