/** Which parameters the queries of the routes take. */

import type { EventFilterJson } from '../core/event-filter.ts'

/** How the text of a parameter is read. A list may be repeated, all others are given once. */
export type ParameterKind = 'text' | 'texts' | 'words' | 'integer' | 'flag' | 'instant'

/** What a query may hold: its parameters, and how each is read. */
export type QueryForm = Readonly<Record<string, ParameterKind>>

/** Every field of `EventFilter`. */
export const filterParameters = {
  from: 'instant',
  to: 'instant',
  messageTypes: 'words',
  excludeSynthetic: 'flag',
  excludeArchived: 'flag',
  excludeRewound: 'flag',
  lastN: 'integer',
  keyword: 'text',
  keywords: 'texts',
  matchMode: 'text',
  page: 'integer',
  pageSize: 'integer',
  branch: 'text',
} as const satisfies Record<keyof EventFilterJson, ParameterKind>

export const queries = {
  events: { ...filterParameters, after: 'integer', cursor: 'text', format: 'text' },
  query: { format: 'text' },
  recall: { ...filterParameters, offset: 'integer', limit: 'integer' },
  sessions: { order: 'text', limit: 'integer', cursor: 'text', userId: 'text' },
  expired: { before: 'instant' },
  user: { userId: 'text' },
  found: { absent: 'text' },
  boundaries: { beforeSeq: 'integer' },
  changes: { after: 'integer', events: 'flag' },
  import: { sessionId: 'text' },
  search: { branch: 'text' },
} as const satisfies Record<string, QueryForm>
