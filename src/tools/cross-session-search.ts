/** `cross_session_search`: finds what one user said in any session; for background agents that mine them all. */

import { checkMethod, readOptions, readPositive } from '../core/arguments.ts'
import { describeValue } from '../core/errors.ts'
import { EventFilter, type MatchMode } from '../core/event-filter.ts'
import { checkId, isBlank } from '../core/identifiers.ts'
import { formatInstant, toEpochMilliseconds } from '../core/instant.ts'
import type { JsonObject } from '../core/json.ts'
import { messageText } from '../core/message.ts'
import type { SessionService } from '../core/session-service.ts'
import {
  type AgentTool,
  answer,
  NO_RESULTS,
  readArguments,
  readPage,
  readQuery,
  ToolArgumentError,
} from './agent-tool.ts'
import { snippetAround } from './snippet.ts'

/** The name by which models call the search in all sessions of a user. */
export const CROSS_SESSION_SEARCH = 'cross_session_search'

/** How many terms one query may have. */
export const MAX_QUERY_TERMS = 20

/** JSON Schema of the arguments of `cross_session_search`. */
export const crossSessionSearchSchema: JsonObject = {
  type: 'object',
  properties: {
    innerThought: {
      type: 'string',
      description: 'Your private reasoning about why you search; nobody else sees it.',
    },
    query: {
      type: 'string',
      description:
        'Up to 20 words or phrases, separated by commas. Case does not matter, everything else is literal.',
    },
    matchMode: {
      type: 'string',
      description:
        '"any" finds messages with at least one of the terms (default), "all" those with every one.',
    },
    since: {
      type: 'string',
      description: 'Only messages from this instant on, such as 2025-06-01T12:00:00Z.',
    },
    page: {
      type: 'integer',
      description:
        'Page of results, starting at 0 with the oldest matches. Ask for page 1, 2, … while pages are full.',
    },
  },
  required: ['innerThought', 'query'],
  additionalProperties: false,
}

const DESCRIPTION =
  'Search all conversations with this user, not only the present one. Returns the messages whose text ' +
  'contains the terms, oldest first, as a JSON array of {sessionId, timestamp, type, text}; long texts ' +
  'are cut around the first match and marked truncated.'

/** Whose sessions are searched, and how the search answers. */
export interface CrossSessionRecallToolsOptions {
  /** Whose sessions are searched, fixed here so that no model can choose it. */
  readonly userId: string
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
}

/**
 * The tools over all sessions of one user.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function createCrossSessionRecallTools(
  service: Pick<SessionService, 'recallEvents'>,
  given: CrossSessionRecallToolsOptions,
): readonly [crossSessionSearch: AgentTool<typeof CROSS_SESSION_SEARCH>] {
  checkMethod(service, 'recallEvents', 'service')
  const options = readOptions(given)
  const userId = checkId(options.userId, 'userId')
  const pageSize = readPositive(options.pageSize, 'pageSize', EventFilter.DEFAULT_PAGE_SIZE)

  const search = async (args: unknown): Promise<string> => {
    const given = readArguments(args)
    const terms = readQuery(given)
      .split(',')
      .map((term) => term.trim())
      .filter((term) => term !== '')
    if (terms.length === 0) throw new ToolArgumentError('query must hold a term besides commas')
    if (terms.length > MAX_QUERY_TERMS) {
      throw new ToolArgumentError(
        `query has ${terms.length} terms; ${MAX_QUERY_TERMS} is the limit`,
      )
    }
    const filter = EventFilter.of({
      keywords: terms,
      matchMode: readMatchMode(given),
      from: readSince(given),
      page: readPage(given),
      pageSize,
      excludeSynthetic: true,
      excludeRewound: true,
    })
    const events = await service.recallEvents(filter, { userId })
    if (events.length === 0) return NO_RESULTS
    return JSON.stringify(
      events.map((event) => ({
        sessionId: event.sessionId,
        timestamp: formatInstant(event.timestamp),
        type: event.message.role,
        ...snippetAround(messageText(event.message), terms),
      })),
    )
  }

  return [
    {
      name: CROSS_SESSION_SEARCH,
      description: DESCRIPTION,
      inputSchema: crossSessionSearchSchema,
      execute: (args) => answer(() => search(args)),
    },
  ]
}

function readMatchMode({ matchMode }: Readonly<Record<string, unknown>>): MatchMode {
  if (matchMode === undefined || matchMode === null) return 'any'
  const mode = typeof matchMode === 'string' ? matchMode.toLowerCase() : null
  if (mode === 'any' || mode === 'all') return mode
  if (mode !== null && isBlank(mode)) return 'any'
  throw new ToolArgumentError(`matchMode must be "any" or "all", not ${describeValue(matchMode)}`)
}

function readSince({ since }: Readonly<Record<string, unknown>>): number | null {
  if (since === undefined || since === null) return null
  if (typeof since === 'string' && isBlank(since)) return null
  const time = typeof since === 'string' ? toEpochMilliseconds(since) : null
  if (time === null) {
    throw new ToolArgumentError(
      `since must be an instant with seconds and zone, such as 2025-06-01T12:00:00Z, not ${describeValue(since)}`,
    )
  }
  return time
}
