/** The routes of sessions and of their user. */

import { describeValue, invalidArgument, SessionError, sessionNotFound } from '../core/errors.ts'
import { checkId, isBlank, randomId } from '../core/identifiers.ts'
import { checkInstant } from '../core/instant.ts'
import {
  checkTimeToLive,
  encodeMetadata,
  listCursor,
  newSession,
  readListCursor,
} from '../core/session-record.ts'
import type { ListRequest, SessionRecord } from '../core/session-repository.ts'
import { DEFAULT_TIME_TO_LIVE } from '../core/session-service.ts'
import {
  toWireBoundary,
  toWireSession,
  type WireCreated,
  type WireSession,
  type WireSessionPage,
} from '../wire/session.ts'
import { queries } from './queries.ts'
import { readQuery } from './query-parameters.ts'
import { MAX_BODY, readJson } from './request-body.ts'
import { json, param, type Route, type RouteRequest } from './route.ts'
import * as schemas from './schemas.ts'
import { validate } from './validate.ts'

/** How many sessions are asked of the store at once: each may have 256 KiB of metadata. */
const LIST_PORTION = 64
/** A page of sessions ends at about this many UTF-16 units. */
const PAGE_UNITS = 4 << 20

export const sessionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/user',
    handle: async ({ userId }) => json({ userId }),
  },
  {
    method: 'DELETE',
    path: '/user',
    async handle(request) {
      checkUser(request, readQuery(request.raw.url, queries.user).userId)
      return json({ deletedSessions: await request.repository.deleteUser(request.userId) })
    },
  },
  {
    method: 'GET',
    path: '/sessions',
    handle: listSessions,
  },
  {
    method: 'POST',
    path: '/sessions',
    async handle(request) {
      const input = validate(schemas.newSession, await readJson(request.raw, MAX_BODY), 'body')
      const given = input.id ?? null
      // A key that names the request names the session as well: repeated, it makes no second one.
      const fallback = idempotencyKey(request) ?? randomId()
      const id = given === null || isBlank(given) ? fallback : given
      const answer = await create(request, checkId(id, 'id'), input)
      if (answer.created) return json(answer, 201)
      throw new SessionError('SESSION_EXISTS', `session "${id}" exists already`, {
        details: { sessionId: id },
      })
    },
  },
  {
    method: 'DELETE',
    path: '/expired-sessions',
    async handle({ raw, repository, now }) {
      const { before } = readQuery(raw.url, queries.expired)
      const instant = before === undefined ? now() : checkInstant(before, 'before')
      return json({ deletedSessions: await repository.deleteExpiredSessions(instant) })
    },
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}',
    async handle(request) {
      const id = sessionIdOf(request)
      const mayBeAbsent = acceptsAbsence(request)
      const session = await request.repository.findSession(id, { now: request.now() })
      if (session === null && !mayBeAbsent) throw sessionNotFound(id)
      return json({ session: session === null ? null : toWireSession(session) })
    },
  },
  {
    method: 'PUT',
    path: '/sessions/{sessionId}',
    async handle(request) {
      const id = sessionIdOf(request)
      const input = validate(schemas.newSession, await readJson(request.raw, MAX_BODY), 'body')
      const given = input.id ?? id
      if (given !== id) throw invalidArgument('id', 'is not the one in the path')
      const answer = await create(request, id, input)
      return json(answer, answer.created ? 201 : 200)
    },
  },
  {
    method: 'PATCH',
    path: '/sessions/{sessionId}',
    async handle(request) {
      const id = sessionIdOf(request)
      const body = await readJson(request.raw, MAX_BODY)
      const { metadata, expiresAt } = validate(schemas.sessionChange, body, 'body')
      const session = await request.repository.updateSession(id, {
        now: request.now(),
        metadata:
          metadata === undefined || metadata === null ? undefined : encodeMetadata(metadata),
        expiresAt:
          expiresAt === undefined || expiresAt === null
            ? expiresAt
            : checkInstant(expiresAt, 'expiresAt'),
      })
      return json({ session: toWireSession(session) })
    },
  },
  {
    method: 'DELETE',
    path: '/sessions/{sessionId}',
    async handle(request) {
      return json({ deleted: await request.repository.deleteSession(sessionIdOf(request)) })
    },
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}/boundaries',
    async handle(request) {
      const { beforeSeq } = readQuery(request.raw.url, queries.boundaries)
      const boundaries = await request.repository.readBoundaries(sessionIdOf(request), {
        now: request.now(),
        beforeSeq: beforeSeq === undefined ? undefined : checkCount(beforeSeq, 'beforeSeq'),
      })
      return json({ boundaries: boundaries.map(toWireBoundary) })
    },
  },
]

/** The session id in the path. */
export function sessionIdOf(request: RouteRequest): string {
  return checkId(param(request, 'sessionId'), 'sessionId')
}

/** What names a request that may come twice. */
export function idempotencyKey(request: RouteRequest): string | undefined {
  const key = request.raw.headers.get('idempotency-key')
  return key === null ? undefined : checkId(key, 'Idempotency-Key')
}

/**
 * A user id in a request says whom the caller takes itself for; it is never whose data is meant.
 *
 * @throws SessionError `NOT_OWNER` unless that is the authenticated user.
 */
export function checkUser(request: RouteRequest, claimed: string | null | undefined): void {
  if (claimed === undefined || claimed === null) return
  if (checkId(claimed, 'userId') === request.userId) return
  throw new SessionError('NOT_OWNER', 'userId is not the authenticated user', {
    details: { field: 'userId' },
  })
}

/**
 * Whether what is looked for may as well not be there, so that `null` answers and not a 404: browsers
 * write every 404 to the console, and a page that only looks has done nothing wrong.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function acceptsAbsence({ raw }: RouteRequest): boolean {
  const { absent = 'error' } = readQuery(raw.url, queries.found)
  return checkChoice(absent, 'absent', ['error', 'null']) === 'null'
}

/** @throws SessionError `INVALID_ARGUMENT` unless the value is an integer from `least` on. */
export function checkCount(value: number, field: string, least = 0): number {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw invalidArgument(field, `must be an integer of at least ${least}, not ${value}`)
}

/** @throws SessionError `INVALID_ARGUMENT` unless the value is one of the choices. */
export function checkChoice<C extends string>(
  value: string,
  field: string,
  choices: readonly C[],
): C {
  const choice = choices.find((name) => name === value)
  if (choice !== undefined) return choice
  throw invalidArgument(field, `must be ${choices.join(' or ')}, not ${describeValue(value)}`)
}

async function create(
  request: RouteRequest,
  id: string,
  input: ReturnType<typeof validate<typeof schemas.newSession>>,
): Promise<WireCreated> {
  checkUser(request, input.userId)
  const time = request.now()
  const base = newSession({
    id,
    userId: request.userId,
    metadata: encodeMetadata(input.metadata),
    timeToLive: checkTimeToLive(input.timeToLive, DEFAULT_TIME_TO_LIVE),
    now: time,
  })
  const { createdAt, expiresAt } = input
  const { session, created } = await request.repository.createSession(
    {
      ...base,
      createdAt:
        createdAt === undefined || createdAt === null ? time : checkInstant(createdAt, 'createdAt'),
      expiresAt:
        expiresAt === undefined
          ? base.expiresAt
          : expiresAt === null
            ? null
            : checkInstant(expiresAt, 'expiresAt'),
    },
    { now: time, creation: idempotencyKey(request) },
  )
  return { session: toWireSession(session), created }
}

async function listSessions(request: RouteRequest): Promise<Response> {
  const {
    order = 'recent',
    limit = 50,
    cursor,
    userId,
  } = readQuery(request.raw.url, queries.sessions)
  checkUser(request, userId)
  if (checkCount(limit, 'limit', 1) > 1000) throw invalidArgument('limit', 'must be at most 1000')
  const page = await collectPage(request, {
    now: request.now(),
    userId: request.userId,
    order: checkChoice(order, 'order', ['recent', 'created']),
    limit,
    after: cursor === undefined ? undefined : readListCursor(cursor),
  })
  return json(page)
}

/** As many sessions as are wanted, in portions, so that large metadata is not all in memory at once. */
async function collectPage(request: RouteRequest, wanted: ListRequest): Promise<WireSessionPage> {
  const { order } = wanted
  const sessions: WireSession[] = []
  let units = 0
  let after = wanted.after
  for (;;) {
    const limit = Math.min(LIST_PORTION, wanted.limit - sessions.length)
    // One more than wanted tells whether there is a next page.
    const records = await request.repository.listSessions({ ...wanted, limit: limit + 1, after })
    for (const record of records.slice(0, limit)) {
      sessions.push(toWireSession(record))
      units += unitsOf(record)
    }
    const last = records.at(limit - 1)
    if (records.length <= limit || last === undefined) return { sessions, cursor: null }
    const cursor = listCursor(last, order)
    if (sessions.length >= wanted.limit || units > PAGE_UNITS) return { sessions, cursor }
    after = readListCursor(cursor)
  }
}

function unitsOf({ metadata, id, boundary }: SessionRecord): number {
  const ranges = boundary === null ? 0 : boundary.kept.length + boundary.rewound.length
  return metadata.length + id.length + ranges * 16 + 512
}
