/**
 * What the OpenAPI document says of every route. Apart from the routes, so that no Worker carries it
 * twice: it serves openapi.json, which scripts/openapi-document.ts makes of this.
 */

import type * as z from 'zod/mini'
import type { JsonObject } from '../core/json.ts'
import type { ProblemCode } from '../wire/problem.ts'
import { answers, newEventOrEvents } from './answer-schemas.ts'
import { type QueryForm, queries } from './queries.ts'
import type { Method } from './route.ts'
import * as schemas from './schemas.ts'

export interface RouteDocumentation {
  readonly summary: string
  readonly query?: QueryForm
  /** What the body is: a schema, or JSON Schema where it is not Zod that checks it. */
  readonly body?: z.ZodMiniType | JsonObject
  /** Media type of the body. Default `application/json`. */
  readonly bodyType?: string
  /** Headers of the request that change the answer. */
  readonly headers?: readonly string[]
  readonly answer: z.ZodMiniType | JsonObject
  /** Media types of the answer. Default `application/json`. */
  readonly answerTypes?: readonly string[]
  /** Statuses of a success. Default 200. */
  readonly statuses?: readonly (200 | 201)[]
  /** Codes that this route may fail with, besides those that all share. */
  readonly codes: readonly ProblemCode[]
}

const READ_TYPES = ['application/json', 'application/x-ndjson']
const READ_CODES = ['INVALID_ARGUMENT', 'INVALID_FILTER', 'SESSION_NOT_FOUND'] as const
const COMMIT_CODES = [
  'INVALID_ARGUMENT',
  'INVALID_EVENT',
  'EVENT_TOO_LARGE',
  'SESSION_NOT_FOUND',
  'VERSION_CONFLICT',
] as const
const TOOL_ARGUMENTS = { type: 'object', description: 'See inputSchema of GET /tools.' }
const LINES = 'application/x-ndjson'

export const documentation: Readonly<Record<`${Method} /${string}`, RouteDocumentation>> = {
  'GET /user': {
    summary: 'Who the caller is.',
    answer: answers.user,
    codes: [],
  },
  'DELETE /user': {
    summary: 'Removes every session of the caller.',
    query: queries.user,
    answer: answers.deletedSessions,
    codes: ['INVALID_ARGUMENT', 'NOT_OWNER'],
  },
  'GET /sessions': {
    summary: 'A page of the sessions, without events.',
    query: queries.sessions,
    answer: answers.sessions,
    codes: ['INVALID_ARGUMENT', 'NOT_OWNER'],
  },
  'POST /sessions': {
    summary: 'Creates a session.',
    headers: ['Idempotency-Key'],
    body: schemas.newSession,
    answer: answers.created,
    statuses: [201],
    codes: ['INVALID_ARGUMENT', 'SESSION_EXISTS', 'NOT_OWNER'],
  },
  'DELETE /expired-sessions': {
    summary: 'Removes the sessions that have expired, or that expire up to an instant.',
    query: queries.expired,
    answer: answers.deletedSessions,
    codes: ['INVALID_ARGUMENT'],
  },
  'GET /sessions/{sessionId}': {
    summary: 'A session, without events; with absent=null, null when there is none.',
    query: queries.found,
    answer: answers.foundSession,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'PUT /sessions/{sessionId}': {
    summary: 'Creates a session unless it is there already; gives it either way.',
    headers: ['Idempotency-Key'],
    body: schemas.newSession,
    answer: answers.created,
    statuses: [200, 201],
    codes: ['INVALID_ARGUMENT', 'NOT_OWNER'],
  },
  'PATCH /sessions/{sessionId}': {
    summary: 'Changes metadata by key (null removes one) and the expiry.',
    body: schemas.sessionChange,
    answer: answers.session,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'DELETE /sessions/{sessionId}': {
    summary: 'Removes every byte of a session; whether there was one.',
    answer: answers.deleted,
    codes: ['INVALID_ARGUMENT'],
  },
  'GET /sessions/{sessionId}/boundaries': {
    summary: 'All boundaries, oldest first; with beforeSeq the newest one before an event.',
    query: queries.boundaries,
    answer: answers.boundaries,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'GET /sessions/{sessionId}/events': {
    summary: 'The events that a filter gives, by seq; with excludeArchived, the view in its order.',
    query: queries.events,
    answer: answers.read,
    answerTypes: READ_TYPES,
    codes: READ_CODES,
  },
  'GET /sessions/{sessionId}/view': {
    summary: 'The active view in its order: what a prompt sees. Its boundary is in `session`.',
    query: queries.events,
    answer: answers.read,
    answerTypes: READ_TYPES,
    codes: READ_CODES,
  },
  'POST /sessions/{sessionId}/query': {
    summary: 'Reads events, for filters and cursors that are too long for a query.',
    query: queries.query,
    body: schemas.query,
    answer: answers.read,
    answerTypes: READ_TYPES,
    codes: READ_CODES,
  },
  'POST /sessions/{sessionId}/events': {
    summary: 'Appends one event, or several all or none; events whose id is stored are skipped.',
    headers: ['Idempotency-Key', 'Prefer'],
    body: newEventOrEvents,
    answer: answers.committed,
    statuses: [201],
    codes: COMMIT_CODES,
  },
  'POST /sessions/{sessionId}/commits': {
    summary:
      'Commits a boundary, checked against the newest one, with its summaries: what compaction and rewind do.',
    headers: ['Idempotency-Key', 'Prefer'],
    body: schemas.commit,
    answer: answers.committed,
    statuses: [201],
    codes: [...COMMIT_CODES, 'BOUNDARY_CONFLICT', 'EVENT_NOT_FOUND'],
  },
  'GET /sessions/{sessionId}/events/{eventId}': {
    summary: 'One event by its id; with absent=null, null when the session has none.',
    query: queries.found,
    answer: answers.foundEvent,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND', 'EVENT_NOT_FOUND'],
  },
  'DELETE /sessions/{sessionId}/events/{eventId}': {
    summary: 'Takes the content of an event out of the log and the search, for good.',
    answer: answers.erased,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND', 'EVENT_NOT_FOUND'],
  },
  'GET /sessions/{sessionId}/changes': {
    summary:
      'What happens to a session, as server-sent events: ready, appended, compacted, rewound, deleted.',
    query: queries.changes,
    headers: ['Last-Event-ID'],
    answer: { type: 'string' },
    answerTypes: ['text/event-stream'],
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'GET /sessions/{sessionId}/export': {
    summary:
      'The session as JSON Lines, boundaries included. It is whole when its last line is `end`.',
    answer: { type: 'string' },
    answerTypes: [LINES],
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'POST /import': {
    summary:
      'Stores an exported session. Importing it again changes nothing; so does an invalid line.',
    query: queries.import,
    body: { type: 'string' },
    bodyType: LINES,
    answer: answers.session,
    statuses: [201],
    codes: ['INVALID_ARGUMENT', 'INVALID_IMPORT', 'SESSION_EXISTS'],
  },
  'GET /recall': {
    summary: 'The events of all sessions that a filter gives, by timestamp.',
    query: queries.recall,
    answer: answers.recall,
    codes: ['INVALID_ARGUMENT', 'INVALID_FILTER'],
  },
  'POST /recall': {
    summary: 'The same, for filters that are too long for a query.',
    body: schemas.recallQuery,
    answer: answers.recall,
    codes: ['INVALID_ARGUMENT', 'INVALID_FILTER', 'NOT_OWNER'],
  },
  'GET /tools': {
    summary: 'The tools as a model is told of them.',
    answer: answers.tools,
    codes: [],
  },
  'POST /sessions/{sessionId}/tools/conversation_search': {
    summary: 'Runs conversation_search; what is wrong with its arguments is said in the result.',
    query: queries.search,
    body: TOOL_ARGUMENTS,
    answer: answers.toolResult,
    codes: ['INVALID_ARGUMENT', 'SESSION_NOT_FOUND'],
  },
  'POST /tools/cross_session_search': {
    summary: 'Runs cross_session_search over the sessions of the caller, where it is switched on.',
    body: TOOL_ARGUMENTS,
    answer: answers.toolResult,
    codes: ['INVALID_ARGUMENT'],
  },
}
