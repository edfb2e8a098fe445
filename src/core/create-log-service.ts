/** Makes events of messages, checks what comes in, and leaves storing to a repository. */

import {
  checkMethod,
  isGiven,
  readFunction,
  readInteger,
  readOptionalFunction,
  readOptions,
} from './arguments.ts'
import type { CompactionContext } from './compact.ts'
import {
  describeValue,
  eventNotFound,
  invalid,
  invalidArgument,
  notOwner,
  reading,
  SessionError,
  sessionNotFound,
} from './errors.ts'
import { EventFilter, type EventFilterInput } from './event-filter.ts'
import { checkBatchSize, decodeEvent, erasedBody, prepareEvent } from './event-input.ts'
import { follow, readSubscribeOptions } from './follow.ts'
import { checkId, isBlank, randomId } from './identifiers.ts'
import { checkInstant } from './instant.ts'
import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'
import type { EventInput, Session, SessionEvent } from './session.ts'
import {
  checkTimeToLive,
  encodeMetadata,
  isExpired,
  listCursor,
  newSession,
  readListCursor,
  requireSession,
} from './session-record.ts'
import type { EventView, SessionRecord, SessionRepository } from './session-repository.ts'
import {
  type CreateSessionOptions,
  type DamageReport,
  DEFAULT_TIME_TO_LIVE,
  type SessionService,
  type SessionServiceOptions,
} from './session-service.ts'
import { exportLines, isSameLog, parseSession, replaySession } from './transfer.ts'

/**
 * A service without what changes the view. It is all that a server needs whose callers compact and
 * rewind by themselves, and leaves the code for it out of its bundle.
 */
export type LogService<M extends Message = Message> = Omit<
  SessionService<M>,
  'compact' | 'rewind' | 'clearView'
>

/** A service over a log, and what changing the view needs of it. */
export function createLogService<M extends Message = Message>(
  repository: SessionRepository,
  given: SessionServiceOptions | null = {},
): { readonly service: LogService<M>; readonly context: CompactionContext } {
  checkMethod(repository, 'commit', 'repository')
  const options = readOptions(given)
  const clock = readOptionalFunction(options.now, 'now') ?? Date.now
  const generateId = readOptionalFunction(options.generateId, 'generateId') ?? randomId
  const onDamage = readOptionalFunction(options.onDamage, 'onDamage') ?? warnOfDamage
  const defaultUserId = isGiven(options.defaultUserId)
    ? checkId(options.defaultUserId, 'defaultUserId')
    : null
  const defaultTimeToLive = checkTimeToLive(options.timeToLive, DEFAULT_TIME_TO_LIVE)

  const now = (): number => checkInstant(clock(), 'now')

  const userOf = (userId: unknown): string => {
    if (isGiven(userId)) return checkId(userId, 'userId')
    if (defaultUserId === null) {
      throw invalidArgument('userId', 'is required: give one, or the service a defaultUserId')
    }
    return defaultUserId
  }

  const store = async (input: CreateSessionOptions | null | undefined) => {
    const request = readOptions(input)
    const userId = userOf(request.userId)
    const timeToLive = checkTimeToLive(request.timeToLive, defaultTimeToLive)
    const metadata = encodeMetadata(request.metadata)
    const given = request.id
    const isIdGiven = isGiven(given) && !(typeof given === 'string' && isBlank(given))
    const id = checkId(isIdGiven ? given : await generateId(), 'id')
    const time = now()
    const session = newSession({ id, userId, metadata, timeToLive, now: time })
    return { userId, ...(await repository.createSession(session, { now: time })) }
  }

  const append = async (
    sessionId: string,
    given: readonly EventInput<M>[],
    expectedVersion?: number | null,
  ): Promise<readonly SessionEvent<M>[]> => {
    const id = checkId(sessionId, 'sessionId')
    const inputs = reading('INVALID_ARGUMENT', 'events', () => {
      if (Array.isArray(given)) return [...given] as readonly EventInput<M>[]
      throw invalidArgument('events', `must be an array, not ${describeValue(given)}`)
    })
    if (isGiven(expectedVersion)) readInteger(expectedVersion, 'expectedVersion', { least: 0 })
    const single = inputs.length === 1
    const prepared = []
    for (const [index, input] of inputs.entries()) {
      const path = single ? '' : `events[${index}]`
      const readInput = <T>(of: () => T) => reading('INVALID_EVENT', path || 'event', of)
      if (typeof input !== 'object' || input === null) {
        throw invalid(
          'INVALID_EVENT',
          path || 'event',
          `must be an object, not ${describeValue(input)}`,
        )
      }
      // Awaited before the commit: nothing of the user's may run inside a storage transaction.
      const eventId = readInput(() => input.id) ?? (await generateId())
      prepared.push(
        readInput(() => prepareEvent(input, { sessionId: id, id: eventId, now: now(), path })),
      )
    }
    checkBatchSize(prepared)
    const { events } = await repository.commit(id, {
      now: now(),
      events: prepared.map(({ record }) => record),
      expectedVersion: expectedVersion ?? undefined,
    })
    return decode(id, events)
  }

  const decode = (sessionId: string, events: readonly EventView[]): SessionEvent<M>[] => {
    const decoded: SessionEvent<M>[] = []
    for (const event of events) {
      const result = decodeEvent<M>(sessionId, event)
      if (result !== null) decoded.push(result)
      else onDamage({ sessionId, seq: event.seq, reason: 'the message is not readable' })
    }
    return decoded
  }

  /** The events that a read gives, in portions, each with the session that it was read from. */
  async function* readPortions(sessionId: string, filter: EventFilter, afterSeq?: number) {
    const json = filter.toJSON()
    let answer = await repository.readEvents(sessionId, { now: now(), filter: json, afterSeq })
    for (const { number } = answer.session; ; ) {
      for (const damage of answer.damage) onDamage({ sessionId, ...damage })
      yield { session: answer.session, events: decode(sessionId, answer.events) }
      if (answer.next === null) return
      const request = { now: now(), filter: json, cursor: answer.next }
      answer = await repository.readEvents(sessionId, request)
      // Deleted and created anew meanwhile: that is another log.
      if (answer.session.number !== number) throw sessionNotFound(sessionId)
    }
  }

  async function* read(sessionId: string, filter: EventFilter, afterSeq?: number) {
    for await (const { events } of readPortions(sessionId, filter, afterSeq)) yield events
  }

  const getEvents = async (sessionId: string, filter?: EventFilterInput | null) => {
    const id = checkId(sessionId, 'sessionId')
    const events: SessionEvent<M>[] = []
    for await (const portion of read(id, EventFilter.of(filter ?? {}))) {
      // Not push(...portion): arguments are limited.
      for (const event of portion) events.push(event)
    }
    return events
  }

  const context = { repository, now, generateId }
  const subscriptions = new Set<() => void>()

  const readView = async (sessionId: string) => {
    const events: SessionEvent<M>[] = []
    let session: SessionRecord | undefined
    for await (const portion of readPortions(sessionId, EventFilter.active())) {
      session ??= portion.session
      for (const event of portion.events) events.push(event)
    }
    if (session === undefined) throw sessionNotFound(sessionId)
    return { session, events }
  }

  const service: LogService<M> = {
    repository,

    async create(request) {
      const { session, created } = await store(request)
      if (!created) throw sessionExists(session.id)
      return toSession(session)
    },

    async findOrCreate(request) {
      const { session, userId } = await store(request)
      if (session.userId !== userId) throw notOwner(session.id, userId)
      return toSession(session)
    },

    async findById(sessionId) {
      const id = checkId(sessionId, 'sessionId')
      const session = await repository.findSession(id, { now: now() })
      return session === null ? null : toSession(session)
    },

    async update(sessionId, change) {
      const id = checkId(sessionId, 'sessionId')
      const { metadata, expiresAt } = readOptions(change, 'change')
      return toSession(
        await repository.updateSession(id, {
          now: now(),
          metadata: isGiven(metadata) ? encodeMetadata(metadata) : undefined,
          expiresAt: isGiven(expiresAt) ? checkInstant(expiresAt, 'expiresAt') : expiresAt,
        }),
      )
    },

    async listSessions(request) {
      const { userId, order, limit, cursor } = readOptions(request)
      const user = userOf(userId)
      if (isGiven(order) && order !== 'recent' && order !== 'created') {
        throw invalidArgument('order', `must be 'recent' or 'created', not ${describeValue(order)}`)
      }
      const size = readInteger(limit, 'limit', { least: 1, most: 1000, fallback: 50 })
      const by = order ?? 'recent'
      const records = await repository.listSessions({
        now: now(),
        userId: user,
        order: by,
        limit: size + 1,
        after: isGiven(cursor) ? readListCursor(cursor) : undefined,
      })
      const page = records.slice(0, size)
      const last = page.at(-1)
      return {
        sessions: page.map(toSession),
        cursor: records.length > size && last !== undefined ? listCursor(last, by) : null,
      }
    },

    async delete(sessionId) {
      return repository.deleteSession(checkId(sessionId, 'sessionId'))
    },

    async deleteUser(userId) {
      return repository.deleteUser(checkId(userId, 'userId'))
    },

    async deleteExpiredSessions(request) {
      const { before } = readOptions(request)
      return repository.deleteExpiredSessions(
        isGiven(before) ? checkInstant(before, 'before') : now(),
      )
    },

    async appendEvent(sessionId, event) {
      return first(await append(sessionId, [event]), sessionId)
    },

    async appendEvents(sessionId, events, request) {
      return append(sessionId, events, readOptions(request).expectedVersion)
    },

    async appendMessage(sessionId, message, rest) {
      return first(await append(sessionId, [{ ...readOptions(rest, 'rest'), message }]), sessionId)
    },

    getEvents,

    async getMessages(sessionId, filter) {
      return (await getEvents(sessionId, filter)).map((event) => event.message)
    },

    async findEvent(sessionId, eventId) {
      const id = checkId(sessionId, 'sessionId')
      const event = await repository.findEvent(id, checkId(eventId, 'eventId'), { now: now() })
      return event === null ? null : (decode(id, [event])[0] ?? null)
    },

    async recallEvents(given, request) {
      const userId = userOf(readOptions(request).userId)
      const filter = EventFilter.of(given)
      if (filter.lastN !== null) {
        throw invalid(
          'INVALID_FILTER',
          'lastN',
          'cannot be used across sessions; use page and pageSize',
        )
      }
      const limit = filter.pageSize ?? EventFilter.DEFAULT_PAGE_SIZE
      const start = (filter.page ?? 0) * limit
      const events: SessionEvent<M>[] = []
      for (let found = 0, complete = false; !complete; ) {
        const answer = await repository.recallEvents({
          now: now(),
          userId,
          filter: filter.toJSON(),
          offset: start + found,
          limit: limit - found,
        })
        for (const damage of answer.damage) onDamage(damage)
        for (const event of answer.events) events.push(...decode(event.sessionId, [event]))
        found += answer.events.length
        // A store that gives nothing more is done, whatever it says: no promise may hang.
        complete = answer.complete || answer.events.length === 0
      }
      return events
    },

    async *iterateEvents(sessionId, filter, request) {
      const id = checkId(sessionId, 'sessionId')
      const { afterSeq } = readOptions(request)
      if (isGiven(afterSeq)) readInteger(afterSeq, 'afterSeq', { least: 0 })
      for await (const portion of read(id, EventFilter.of(filter ?? {}), afterSeq ?? undefined)) {
        yield* portion
      }
    },

    async getEventVersion(sessionId) {
      const id = checkId(sessionId, 'sessionId')
      return (await repository.findSession(id, { now: now() }))?.version ?? 0
    },

    async subscribe(sessionId, listener, request) {
      const id = checkId(sessionId, 'sessionId')
      const options = readSubscribeOptions(request)
      readFunction(listener, 'listener')
      const readAfter = (_: string, seq: number) => readPortions(id, EventFilter.all(), seq)
      const onStop = (stop: () => void) => subscriptions.delete(stop)
      const stop = await follow<M>({ repository, now, readAfter, onStop }, id, listener, options)
      subscriptions.add(stop)
      return stop
    },

    async *exportSession(sessionId) {
      const id = checkId(sessionId, 'sessionId')
      yield* exportLines(context, id, readPortions(id, EventFilter.all()))
    },

    async importSession(input, request) {
      const given = readOptions(request)
      const givenId = isGiven(given.sessionId) ? checkId(given.sessionId, 'sessionId') : null
      const owner = isGiven(given.userId) ? checkId(given.userId, 'userId') : defaultUserId
      const { session: parsed, steps } = await parseSession(input)
      const id = givenId ?? parsed.id
      const userId = owner ?? parsed.userId
      const time = now()
      if (isExpired(parsed, time)) {
        throw new SessionError('INVALID_IMPORT', `session "${parsed.id}" has expired`)
      }
      const { session, created } = await repository.createSession(
        { ...parsed, id, userId },
        { now: time },
      )
      if (session.userId !== userId) throw notOwner(id, userId)
      if (!created && !(await isSameLog(context, session, steps, read(id, EventFilter.all())))) {
        throw sessionExists(id)
      }
      try {
        await replaySession(context, session, steps)
      } catch (error) {
        // What failed first is what matters; a part that stays is completed by importing again.
        if (created) await repository.deleteSession(id).catch(() => false)
        throw error
      }
      return toSession(requireSession(id, await repository.findSession(id, { now: now() }), now()))
    },

    async eraseEvent(sessionId, eventId) {
      const id = checkId(sessionId, 'sessionId')
      const target = checkId(eventId, 'eventId')
      const event = await repository.findEvent(id, target, { now: now() })
      const erased =
        event !== null &&
        (await repository.eraseEvent(id, target, { now: now(), body: erasedBody(event) }))
      if (!erased) throw eventNotFound(id, target)
    },

    async close() {
      for (const stop of subscriptions) stop()
      await repository.close()
    },
  }
  return { service, context: { ...context, readView } }
}

function toSession(record: SessionRecord): Session {
  return {
    id: record.id,
    userId: record.userId,
    createdAt: new Date(record.createdAt),
    expiresAt: record.expiresAt === null ? null : new Date(record.expiresAt),
    metadata: JSON.parse(record.metadata) as JsonObject,
    eventCount: record.lastSeq,
    lastEventAt: record.lastEventAt === null ? null : new Date(record.lastEventAt),
  }
}

function sessionExists(sessionId: string): SessionError {
  return new SessionError('SESSION_EXISTS', `session "${sessionId}" exists already`, {
    details: { sessionId },
  })
}

function first<T>(items: readonly T[], sessionId: string): T {
  const [item] = items
  if (item === undefined) {
    throw new SessionError(
      'STORAGE_FAILED',
      `the stored event of session "${sessionId}" is damaged`,
    )
  }
  return item
}

function warnOfDamage({ sessionId, seq, reason }: DamageReport): void {
  // biome-ignore lint/suspicious/noConsole: the documented default; damage must not pass unnoticed
  console.warn(`turnlog: event ${seq} of session "${sessionId}" cannot be read: ${reason}`)
}
