/** The routes of a session's log: reads, appends, commits, erasing. */

import { invalidArgument, sessionNotFound } from '../core/errors.ts'
import { EventFilter } from '../core/event-filter.ts'
import { checkBatchSize, prepareEvent } from '../core/event-input.ts'
import { checkId, randomId } from '../core/identifiers.ts'
import { countRanges, intersectRanges, normalizeRanges, type SeqRange } from '../core/seq-ranges.ts'
import type {
  EventView,
  NewEventRecord,
  ReadAnswer,
  ReadCursor,
} from '../core/session-repository.ts'
import {
  toWireEvent,
  toWireEventOrDamaged,
  type WireCommitted,
  type WireEvent,
  type WireRead,
  type WireRecall,
  type WireUnchangedEvent,
} from '../wire/event.ts'
import { toWireSession } from '../wire/session.ts'
import { HttpError } from './problem-response.ts'
import { queries } from './queries.ts'
import { readQuery } from './query-parameters.ts'
import { MAX_BODY, MAX_EVENTS_BODY, readJson } from './request-body.ts'
import { json, param, type Route, type RouteRequest } from './route.ts'
import * as schemas from './schemas.ts'
import {
  acceptsAbsence,
  checkChoice,
  checkCount,
  checkUser,
  idempotencyKey,
  sessionIdOf,
} from './session-routes.ts'
import { streamRead } from './stream-read.ts'
import { validate } from './validate.ts'

export const eventRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions/{sessionId}/events',
    handle: (request) => readByQuery(request, {}),
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}/view',
    handle: (request) => readByQuery(request, { excludeArchived: true }),
  },
  {
    method: 'POST',
    path: '/sessions/{sessionId}/query',
    async handle(request) {
      const { format } = readQuery(request.raw.url, queries.query)
      const body = await readJson(request.raw, MAX_EVENTS_BODY)
      const { filter, ...rest } = validate(schemas.query, body, 'body')
      return read(request, { filter: EventFilter.of(filter ?? {}), ...rest, format })
    },
  },
  {
    method: 'POST',
    path: '/sessions/{sessionId}/events',
    async handle(request) {
      const body = await readJson(request.raw, MAX_EVENTS_BODY)
      const isBatch = typeof body === 'object' && body !== null && Object.hasOwn(body, 'events')
      const { events, expectedVersion } = isBatch
        ? validate(schemas.newEvents, body, 'body')
        : { events: [validate(schemas.newEvent, body, 'body')], expectedVersion: null }
      return commit(request, { events, expectedVersion })
    },
  },
  {
    method: 'POST',
    path: '/sessions/{sessionId}/commits',
    async handle(request) {
      const body = await readJson(request.raw, MAX_EVENTS_BODY)
      return commit(request, validate(schemas.commit, body, 'body'))
    },
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}/events/{eventId}',
    async handle(request) {
      const { repository, now } = request
      const sessionId = sessionIdOf(request)
      const eventId = checkId(param(request, 'eventId'), 'eventId')
      const mayBeAbsent = acceptsAbsence(request)
      const event = await repository.findEvent(sessionId, eventId, { now: now() })
      if (event === null) {
        if (mayBeAbsent) return json({ event: null })
        throw new HttpError(
          'EVENT_NOT_FOUND',
          `event "${eventId}" is not in session "${sessionId}"`,
          { details: { sessionId, eventId } },
        )
      }
      return json({ event: toWireEventOrDamaged(event) })
    },
  },
  {
    method: 'DELETE',
    path: '/sessions/{sessionId}/events/{eventId}',
    async handle(request) {
      await request.service.eraseEvent(sessionIdOf(request), param(request, 'eventId'))
      return json({ erased: true })
    },
  },
  {
    method: 'GET',
    path: '/recall',
    async handle(request) {
      const { offset, limit, ...filter } = readQuery(request.raw.url, queries.recall)
      return recall(request, EventFilter.of(filter as never), offset, limit)
    },
  },
  {
    method: 'POST',
    path: '/recall',
    async handle(request) {
      const body = await readJson(request.raw, MAX_BODY)
      const { filter, offset, limit, userId } = validate(schemas.recallQuery, body, 'body')
      checkUser(request, userId)
      return recall(request, EventFilter.of(filter ?? {}), offset, limit)
    },
  },
]

/** What is asked of a log. */
interface LogRead {
  readonly filter: EventFilter
  readonly after?: number | undefined
  readonly cursor?: string | undefined
  readonly format?: string | undefined
}

function readByQuery(
  request: RouteRequest,
  fixed: { readonly excludeArchived?: boolean },
): Promise<Response> {
  const { after, cursor, format, ...filter } = readQuery(request.raw.url, queries.events)
  return read(request, {
    // The core checks the values of the fields; the query has only given them their types.
    filter: EventFilter.of({ ...(filter as object), ...fixed }),
    after,
    cursor,
    format,
  })
}

async function read(request: RouteRequest, wanted: LogRead): Promise<Response> {
  const sessionId = sessionIdOf(request)
  const { filter, after, cursor, format } = wanted
  if (format !== undefined) checkChoice(format, 'format', ['json', 'ndjson'])
  const first = await request.repository.readEvents(sessionId, {
    now: request.now(),
    filter: filter.toJSON(),
    afterSeq: after === undefined ? undefined : checkCount(after, 'after'),
    cursor: cursor === undefined ? undefined : await readCursor(request, sessionId, cursor),
  })
  return wantsLines(request, format)
    ? streamRead(request, sessionId, filter, first)
    : json(toWireRead(first))
}

function wantsLines({ raw }: RouteRequest, format: string | undefined): boolean {
  if (format !== undefined) return format === 'ndjson'
  return /\bapplication\/(x-ndjson|jsonl)\b/i.test(raw.headers.get('accept') ?? '')
}

function toWireRead({ session, events, damage, next }: ReadAnswer): WireRead {
  const readable: WireEvent[] = []
  const damaged = [...damage]
  for (const event of events) {
    const wire = toWireEvent(event)
    if (wire !== null) readable.push(wire)
    else damaged.push({ seq: event.seq, reason: 'the message is not readable' })
  }
  return {
    session: toWireSession(session),
    events: readable,
    damage: damaged,
    next: next === null ? null : JSON.stringify(next),
  }
}

/** The cursor that an earlier answer gave, within the log as it is now. */
async function readCursor(
  { repository, now }: RouteRequest,
  sessionId: string,
  text: string,
): Promise<ReadCursor> {
  const cursor = parseCursor(text)
  const session = await repository.findSession(sessionId, { now: now() })
  if (session === null) throw sessionNotFound(sessionId)
  const log: readonly SeqRange[] = [[1, session.lastSeq]]
  return {
    ...cursor,
    remaining: cursor.remaining.flatMap((range) => intersectRanges([range], log)),
  }
}

function parseCursor(text: string): ReadCursor {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalidArgument('cursor', 'is not one that a read gave')
  }
  const cursor = validate(schemas.readCursor, value, 'cursor')
  // A part that is named twice would be read twice.
  const isSet = countRanges(normalizeRanges(cursor.remaining)) === countRanges(cursor.remaining)
  if (!isSet) throw invalidArgument('cursor', 'is not one that a read gave')
  return cursor
}

async function recall(
  { repository, userId, now }: RouteRequest,
  filter: EventFilter,
  offset = 0,
  limit: number = EventFilter.DEFAULT_PAGE_SIZE,
): Promise<Response> {
  for (const field of ['lastN', 'page', 'pageSize'] as const) {
    if (filter[field] !== null) {
      throw new HttpError(
        'INVALID_FILTER',
        `${field} cannot be used across sessions; use offset and limit`,
        { details: { field } },
      )
    }
  }
  const answer = await repository.recallEvents({
    now: now(),
    userId,
    filter: filter.toJSON(),
    offset: checkCount(offset, 'offset'),
    limit: checkCount(limit, 'limit', 1),
  })
  const events: WireRecall['events'][number][] = []
  const damage = [...answer.damage]
  for (const event of answer.events) {
    const { sessionId, seq } = event
    const wire = toWireEvent(event)
    if (wire !== null) events.push({ ...wire, sessionId })
    else damage.push({ sessionId, seq, reason: 'the message is not readable' })
  }
  const result: WireRecall = { events, damage, complete: answer.complete }
  return json(result)
}

type WireCommitInput = ReturnType<typeof validate<typeof schemas.commit>>

async function commit(request: RouteRequest, input: WireCommitInput): Promise<Response> {
  const { repository, now } = request
  const sessionId = sessionIdOf(request)
  const events = prepare(request, sessionId, input.events ?? [])
  const { boundary, operationId, expectedVersion, expectedBoundary, expectedSession } = input
  const key = idempotencyKey(request)
  const { session, events: stored } = await repository.commit(sessionId, {
    now: now(),
    events,
    expectedVersion: expectedVersion ?? undefined,
    expectedBoundary,
    expectedSession,
    boundary: boundary && {
      ...boundary,
      kept: normalizeRanges(boundary.kept),
      rewound: normalizeRanges(boundary.rewound),
    },
    operationId:
      operationId === undefined
        ? boundary && (key ?? randomId())
        : checkId(operationId, 'operationId'),
  })
  const isMinimal = /\breturn=minimal\b/i.test(request.raw.headers.get('prefer') ?? '')
  const sent = new Map<string, NewEventRecord>()
  // Of two events with one id, the first is the one that is stored.
  if (isMinimal) for (const event of events.toReversed()) sent.set(event.id, event)
  const answer: WireCommitted = {
    session: toWireSession(session),
    events: stored.map((event) =>
      isAsSent(event, sent.get(event.id)) ? toUnchanged(event) : toWireEventOrDamaged(event),
    ),
  }
  return json(answer, 201)
}

function toUnchanged({
  id,
  seq,
  latestTimestamp,
  archived,
  rewound,
}: EventView): WireUnchangedEvent {
  return { id, seq, latestTimestamp: new Date(latestTimestamp).toISOString(), archived, rewound }
}

function prepare(
  request: RouteRequest,
  sessionId: string,
  inputs: NonNullable<WireCommitInput['events']>,
): readonly NewEventRecord[] {
  const key = idempotencyKey(request)
  const time = request.now()
  const prepared = inputs.map((input, index) => {
    const id = input.id ?? (key === undefined ? randomId() : `${key}:${index}`)
    const path = inputs.length === 1 ? '' : `events[${index}]`
    return prepareEvent(input, { sessionId, id, now: time, path })
  })
  checkBatchSize(prepared)
  return prepared.map(({ record }) => record)
}

function isAsSent(stored: EventView, sent: NewEventRecord | undefined): boolean {
  return (
    sent !== undefined &&
    stored.timestamp === sent.timestamp &&
    stored.role === sent.role &&
    stored.branch === sent.branch &&
    stored.synthetic === sent.synthetic &&
    stored.body === sent.body
  )
}
