/** SessionService: what applications use. It makes events of messages and leaves storing to a repository. */

import { describeValue, invalid, invalidArgument, SessionError } from './errors.ts'
import { EventFilter, type EventFilterInput } from './event-filter.ts'
import { checkBatchSize, decodeEvent, erasedBody, prepareEvent } from './event-input.ts'
import { checkId, isBlank, randomId } from './identifiers.ts'
import { checkInstant, type InstantInput } from './instant.ts'
import { type JsonObject, toStoredObject } from './json.ts'
import type { Message } from './message.ts'
import type { EventInput, Session, SessionEvent, TimeToLive } from './session.ts'
import { checkMetadataSize } from './session-record.ts'
import type {
  EventView,
  ReadCursor,
  SessionRecord,
  SessionRepository,
} from './session-repository.ts'

/** How long a session lives unless said otherwise: 60 days from its creation, in milliseconds. */
export const DEFAULT_TIME_TO_LIVE = 60 * 24 * 60 * 60 * 1000

/** A stored event that could not be read. Everything else was; nothing was changed. */
export interface DamageReport {
  readonly sessionId: string
  readonly seq: number
  readonly reason: string
}

export interface SessionServiceOptions {
  /** Whose sessions they are when a call names no user. Default: every call has to. */
  readonly defaultUserId?: string | null | undefined
  /** Lifetime of new sessions. Default 60 days from creation; `null`: for ever. */
  readonly timeToLive?: TimeToLive | undefined
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | null | undefined
  /** Makes ids of sessions and events that come without one. Default: random UUIDs. */
  readonly generateId?: (() => string | Promise<string>) | null | undefined
  /** Hears of stored events that cannot be read. Default: a warning on the console. */
  readonly onDamage?: ((damage: DamageReport) => void) | null | undefined
}

export interface CreateSessionOptions {
  /** Default, and for a blank one: a random UUID. */
  readonly id?: string | null | undefined
  /** Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** Milliseconds, `{ sliding: milliseconds }`, or `null` for ever. Default: the service's. */
  readonly timeToLive?: TimeToLive | undefined
  /** A JSON object of at most 256 KiB. Default `{}`. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
}

export interface UpdateSessionOptions {
  /** Merged by key; `null` removes one. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** `null`: never. An explicit expiry ends a sliding lifetime. */
  readonly expiresAt?: InstantInput | null | undefined
}

export interface ListSessionsOptions {
  /** Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** `'recent'`: latest event first; `'created'`: oldest session first. Default `'recent'`. */
  readonly order?: 'recent' | 'created' | null | undefined
  /** Sessions per page, 1 to 1,000. Default 50. */
  readonly limit?: number | null | undefined
  /** The `cursor` of the page before. */
  readonly cursor?: string | null | undefined
}

export interface SessionPage {
  readonly sessions: readonly Session[]
  /** Give it to the next call; `null` at the end. */
  readonly cursor: string | null
}

export interface AppendOptions {
  /** Fail with `VERSION_CONFLICT` and store nothing unless `getEventVersion` would give this. */
  readonly expectedVersion?: number | null | undefined
}

/**
 * Sessions and their event logs. A promise resolves when the change is stored for good. Every method
 * that takes a session id fails with `SESSION_NOT_FOUND` for an unknown or expired session unless it
 * says otherwise, and with `INVALID_ARGUMENT` for a bad argument, which the message names.
 */
export interface SessionService<M extends Message = Message> {
  /** @throws SessionError `SESSION_EXISTS` when the id is taken. */
  create(options?: CreateSessionOptions | null): Promise<Session>
  /** @throws SessionError `NOT_OWNER` when the id belongs to another user. */
  findOrCreate(options?: CreateSessionOptions | null): Promise<Session>
  /** `null` when there is none. */
  findById(sessionId: string): Promise<Session | null>
  update(sessionId: string, change: UpdateSessionOptions): Promise<Session>
  /** One page of a user's sessions, without reading events. */
  listSessions(options?: ListSessionsOptions | null): Promise<SessionPage>
  /** Removes every byte of the session; whether there was one. */
  delete(sessionId: string): Promise<boolean>
  /** Removes every session of a user; how many there were. */
  deleteUser(userId: string): Promise<number>
  /** Removes every session that expires up to `before` (default: now); how many there were. */
  deleteExpiredSessions(
    options?: { readonly before?: InstantInput | null | undefined } | null,
  ): Promise<number>
  /**
   * Appends one event. When the session holds its id already, nothing changes and the stored event is
   * returned.
   *
   * @throws SessionError `INVALID_EVENT`, `EVENT_TOO_LARGE`
   */
  appendEvent(sessionId: string, event: EventInput<M>): Promise<SessionEvent<M>>
  /**
   * Appends several events, all or none; those whose id is stored already are skipped.
   *
   * @throws SessionError `INVALID_EVENT`, `EVENT_TOO_LARGE`, `VERSION_CONFLICT`
   */
  appendEvents(
    sessionId: string,
    events: readonly EventInput<M>[],
    options?: AppendOptions | null,
  ): Promise<readonly SessionEvent<M>[]>
  /** Appends a message as an event; `rest` gives the event's other fields. */
  appendMessage(
    sessionId: string,
    message: M,
    rest?: Omit<EventInput<M>, 'message'> | null,
  ): Promise<SessionEvent<M>>
  /** The events that `filter` (default: all) gives, by `seq`; for `excludeArchived` in view order. */
  getEvents(
    sessionId: string,
    filter?: EventFilterInput | null,
  ): Promise<readonly SessionEvent<M>[]>
  /** The messages of {@link getEvents}. */
  getMessages(sessionId: string, filter?: EventFilterInput | null): Promise<readonly M[]>
  /** {@link getEvents} for a large log, in bounded memory; the log is seen as it was at the start. */
  iterateEvents(
    sessionId: string,
    filter?: EventFilterInput | null,
    options?: { readonly afterSeq?: number | null | undefined } | null,
  ): AsyncIterable<SessionEvent<M>>
  /** Grows by one per appended event and per boundary; 0 for an unknown session. */
  getEventVersion(sessionId: string): Promise<number>
  /**
   * Takes the content of an event out of the log and the search, for good. Its `seq` stays, and its id,
   * so that a repeated append does not bring it back; `metadata.erased` is `true`.
   *
   * @throws SessionError `EVENT_NOT_FOUND`
   */
  eraseEvent(sessionId: string, eventId: string): Promise<void>
  /** Releases the store; later calls fail with `CLOSED`. */
  close(): Promise<void>
}

/** A service over a repository of one's own; the stores of turnlog come with factories that call this. */
export function createSessionService<M extends Message = Message>(
  repository: SessionRepository,
  options: SessionServiceOptions = {},
): SessionService<M> {
  const clock = options.now ?? Date.now
  const generateId = options.generateId ?? randomId
  const onDamage = options.onDamage ?? warnOfDamage
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
    const request = checkOptions(input, 'options')
    const userId = userOf(request.userId)
    const timeToLive = checkTimeToLive(request.timeToLive, defaultTimeToLive)
    const metadata = encodeMetadata(request.metadata)
    const given = request.id
    const isIdGiven = isGiven(given) && !(typeof given === 'string' && isBlank(given))
    const id = checkId(isIdGiven ? given : await generateId(), 'id')
    const time = now()
    const lifetime = typeof timeToLive === 'object' ? timeToLive?.sliding : timeToLive
    return repository.createSession(
      {
        id,
        userId,
        createdAt: time,
        expiresAt: isGiven(lifetime) ? time + lifetime : null,
        slidingTimeToLive: typeof timeToLive === 'object' ? (timeToLive?.sliding ?? null) : null,
        metadata,
        lastSeq: 0,
        version: 0,
        lastEventAt: null,
        latestTimestamp: null,
        boundary: null,
      },
      { now: time },
    )
  }

  const append = async (
    sessionId: string,
    inputs: readonly EventInput<M>[],
    expectedVersion?: number | null,
  ): Promise<readonly SessionEvent<M>[]> => {
    const id = checkId(sessionId, 'sessionId')
    if (!Array.isArray(inputs)) {
      throw invalidArgument('events', `must be an array, not ${describeValue(inputs)}`)
    }
    if (isGiven(expectedVersion)) checkInteger(expectedVersion, 'expectedVersion', 0)
    const single = inputs.length === 1
    const prepared = []
    for (const [index, input] of inputs.entries()) {
      const path = single ? '' : `events[${index}]`
      if (typeof input !== 'object' || input === null) {
        throw invalid(
          'INVALID_EVENT',
          path || 'event',
          `must be an object, not ${describeValue(input)}`,
        )
      }
      // Awaited before the commit: nothing of the user's may run inside a storage transaction.
      const eventId = isGiven(input.id) ? input.id : await generateId()
      prepared.push(prepareEvent(input, { sessionId: id, id: eventId, now: now(), path }))
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

  async function* read(
    sessionId: string,
    filter: EventFilter,
    afterSeq?: number,
  ): AsyncGenerator<SessionEvent<M>[]> {
    const json = filter.toJSON()
    let cursor: ReadCursor | undefined
    do {
      const answer = await repository.readEvents(sessionId, {
        now: now(),
        filter: json,
        afterSeq,
        cursor,
      })
      for (const damage of answer.damage) onDamage({ sessionId, ...damage })
      yield decode(sessionId, answer.events)
      cursor = answer.next ?? undefined
    } while (cursor !== undefined)
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

  return {
    async create(request) {
      const { session, created } = await store(request)
      if (!created) {
        throw new SessionError('SESSION_EXISTS', `session "${session.id}" exists already`, {
          details: { sessionId: session.id },
        })
      }
      return toSession(session)
    },

    async findOrCreate(request) {
      const { session } = await store(request)
      const userId = userOf(request?.userId)
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
      const { metadata, expiresAt } = checkOptions(change, 'change')
      return toSession(
        await repository.updateSession(id, {
          now: now(),
          metadata: isGiven(metadata) ? encodeMetadata(metadata) : undefined,
          expiresAt: isGiven(expiresAt) ? checkInstant(expiresAt, 'expiresAt') : expiresAt,
        }),
      )
    },

    async listSessions(request) {
      const { userId, order, limit, cursor } = checkOptions(request, 'options')
      const user = userOf(userId)
      if (isGiven(order) && order !== 'recent' && order !== 'created') {
        throw invalidArgument('order', `must be 'recent' or 'created', not ${describeValue(order)}`)
      }
      const size = checkInteger(limit ?? 50, 'limit', 1, 1000)
      const by = order ?? 'recent'
      const records = await repository.listSessions({
        now: now(),
        userId: user,
        order: by,
        limit: size + 1,
        after: isGiven(cursor) ? decodeCursor(cursor) : undefined,
      })
      const page = records.slice(0, size)
      const last = page.at(-1)
      return {
        sessions: page.map(toSession),
        cursor: records.length > size && last !== undefined ? encodeCursor(last, by) : null,
      }
    },

    async delete(sessionId) {
      return repository.deleteSession(checkId(sessionId, 'sessionId'))
    },

    async deleteUser(userId) {
      return repository.deleteUser(checkId(userId, 'userId'))
    },

    async deleteExpiredSessions(request) {
      const { before } = checkOptions(request, 'options')
      return repository.deleteExpiredSessions(
        isGiven(before) ? checkInstant(before, 'before') : now(),
      )
    },

    async appendEvent(sessionId, event) {
      return first(await append(sessionId, [event]), sessionId)
    },

    async appendEvents(sessionId, events, request) {
      return append(sessionId, events, checkOptions(request, 'options').expectedVersion)
    },

    async appendMessage(sessionId, message, rest) {
      return first(await append(sessionId, [{ ...checkOptions(rest, 'rest'), message }]), sessionId)
    },

    getEvents,

    async getMessages(sessionId, filter) {
      return (await getEvents(sessionId, filter)).map((event) => event.message)
    },

    async *iterateEvents(sessionId, filter, request) {
      const id = checkId(sessionId, 'sessionId')
      const { afterSeq } = checkOptions(request, 'options')
      if (isGiven(afterSeq)) checkInteger(afterSeq, 'afterSeq', 0)
      for await (const portion of read(id, EventFilter.of(filter ?? {}), afterSeq ?? undefined)) {
        yield* portion
      }
    },

    async getEventVersion(sessionId) {
      const id = checkId(sessionId, 'sessionId')
      return (await repository.findSession(id, { now: now() }))?.version ?? 0
    },

    async eraseEvent(sessionId, eventId) {
      const id = checkId(sessionId, 'sessionId')
      const target = checkId(eventId, 'eventId')
      const event = await repository.findEvent(id, target, { now: now() })
      const erased =
        event !== null &&
        (await repository.eraseEvent(id, target, { now: now(), body: erasedBody(event) }))
      if (!erased) {
        throw new SessionError('EVENT_NOT_FOUND', `event "${target}" is not in session "${id}"`, {
          details: { sessionId: id, eventId: target },
        })
      }
    },

    async close() {
      await repository.close()
    },
  }
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

function notOwner(sessionId: string, userId: string): SessionError {
  return new SessionError(
    'NOT_OWNER',
    `session "${sessionId}" does not belong to user "${userId}"`,
    {
      details: { sessionId, userId },
    },
  )
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

function encodeMetadata(metadata: Readonly<Record<string, unknown>> | null | undefined): string {
  try {
    return checkMetadataSize(JSON.stringify(toStoredObject(metadata ?? {}, 'metadata')))
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    throw new SessionError('INVALID_ARGUMENT', error.message, {
      cause: error,
      details: error.details,
    })
  }
}

function encodeCursor(record: SessionRecord, order: 'recent' | 'created'): string {
  const time = order === 'recent' ? (record.lastEventAt ?? record.createdAt) : record.createdAt
  return `${time}.${record.number}`
}

function decodeCursor(cursor: string): { time: number; number: number } {
  const match = typeof cursor === 'string' ? /^(-?\d{1,16})\.(\d{1,16})$/.exec(cursor) : null
  if (match === null) throw invalidArgument('cursor', 'is not one that listSessions gave')
  return { time: Number(match[1]), number: Number(match[2]) }
}

function checkTimeToLive(value: unknown, fallback: TimeToLive): TimeToLive {
  if (value === undefined) return fallback
  if (value === null) return null
  const milliseconds = typeof value === 'object' ? (value as { sliding?: unknown }).sliding : value
  if (typeof milliseconds !== 'number' || !(Math.abs(milliseconds) <= 1e15)) {
    throw invalidArgument(
      'timeToLive',
      `must be milliseconds, { sliding: milliseconds } or null, not ${describeValue(value)}`,
    )
  }
  return typeof value === 'object'
    ? { sliding: Math.trunc(milliseconds) }
    : Math.trunc(milliseconds)
}

function checkInteger(
  value: unknown,
  field: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw invalidArgument(
      field,
      `must be an integer from ${least} to ${most}, not ${describeValue(value)}`,
    )
  }
  return value as number
}

function checkOptions<T extends object>(options: T | null | undefined, field: string): Partial<T> {
  if (options === null || options === undefined) return {}
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw invalidArgument(field, `must be an object, not ${describeValue(options)}`)
  }
  return options
}

function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== null && value !== undefined
}

function warnOfDamage({ sessionId, seq, reason }: DamageReport): void {
  // biome-ignore lint/suspicious/noConsole: the documented default; damage must not pass unnoticed
  console.warn(`turnlog: event ${seq} of session "${sessionId}" cannot be read: ${reason}`)
}
