/** `conversation_search`: finds any earlier exchange of the session, archived ones included (MemGPT's recall storage). */

import { checkMethod, readOptionalFunction, readOptions, readPositive } from '../core/arguments.ts'
import { EventFilter } from '../core/event-filter.ts'
import { isBlank } from '../core/identifiers.ts'
import { formatInstant } from '../core/instant.ts'
import type { JsonObject } from '../core/json.ts'
import { messageText } from '../core/message.ts'
import type { SessionService } from '../core/session-service.ts'
import {
  type AgentTool,
  answer,
  CONVERSATION_BRANCH,
  CONVERSATION_ID,
  NO_RESULTS,
  readArguments,
  readPage,
  readQuery,
  ToolArgumentError,
  type ToolContext,
} from './agent-tool.ts'
import { snippetAround } from './snippet.ts'

/** The name by which models call the search in one session. */
export const CONVERSATION_SEARCH = 'conversation_search'

/** JSON Schema of the arguments of `conversation_search`. */
export const conversationSearchSchema: JsonObject = {
  type: 'object',
  properties: {
    innerThought: {
      type: 'string',
      description: 'Your private reasoning about why you search; nobody else sees it.',
    },
    query: {
      type: 'string',
      description:
        'The text to look for: one word or an exact phrase, not a question. Case does not matter, everything else is literal.',
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
  'Search the whole history of this conversation, including older messages that you no longer see. ' +
  'Returns the messages whose text contains the query, oldest first, as a JSON array of ' +
  '{timestamp, type, text}; long texts are cut around the first match and marked truncated. ' +
  'Use it whenever the user refers to something said earlier that is not in your context. ' +
  'Try a shorter word when nothing is found.'

/** How the search in one session answers. */
export interface SessionEventToolsOptions {
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
  /** Hears when the context has no session id, which is a mistake of the application. Default: the console. */
  readonly warn?: ((message: string) => void) | null | undefined
}

/**
 * The tools over one session. The session comes from `context[CONVERSATION_ID]` only, so that no model
 * can choose it; `context[CONVERSATION_BRANCH]` restricts to what that branch may see.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function createSessionEventTools(
  service: Pick<SessionService, 'getEvents'>,
  given: SessionEventToolsOptions | null = {},
): readonly [conversationSearch: AgentTool<typeof CONVERSATION_SEARCH>] {
  checkMethod(service, 'getEvents', 'service')
  const options = readOptions(given)
  const pageSize = readPositive(options.pageSize, 'pageSize', EventFilter.DEFAULT_PAGE_SIZE)
  // biome-ignore lint/suspicious/noConsole: the documented default; the model cannot mend this mistake
  const warn = readOptionalFunction(options.warn, 'warn') ?? ((text: string) => console.warn(text))

  const search = async (args: unknown, context: ToolContext): Promise<string> => {
    const sessionId = context[CONVERSATION_ID]
    if (typeof sessionId !== 'string' || isBlank(sessionId)) {
      warn(`turnlog: ${CONVERSATION_SEARCH} was called without ${CONVERSATION_ID} in its context`)
      throw new ToolArgumentError('there is no conversation to search in')
    }
    const branch = context[CONVERSATION_BRANCH] ?? null
    if (branch !== null && typeof branch !== 'string') {
      throw new ToolArgumentError(`${CONVERSATION_BRANCH} in the context must be a string`)
    }
    const given = readArguments(args)
    const query = readQuery(given)
    const filter = EventFilter.of({
      keyword: query,
      page: readPage(given),
      pageSize,
      excludeSynthetic: true,
      excludeRewound: true,
      branch,
    })
    const events = await service.getEvents(sessionId, filter)
    if (events.length === 0) return NO_RESULTS
    return JSON.stringify(
      events.map((event) => ({
        timestamp: formatInstant(event.timestamp),
        type: event.message.role,
        ...snippetAround(messageText(event.message), [query]),
      })),
    )
  }

  return [
    {
      name: CONVERSATION_SEARCH,
      description: DESCRIPTION,
      inputSchema: conversationSearchSchema,
      execute: (args, context) => answer(() => search(args, context ?? {})),
    },
  ]
}
