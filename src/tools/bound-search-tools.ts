/** The search tools bound to a session and a user, as the adapters hand them to their frameworks. */

import type { SessionService } from '../core/session-service.ts'
import { type AgentTool, CONVERSATION_BRANCH, CONVERSATION_ID } from './agent-tool.ts'
import { createSessionEventTools } from './conversation-search.ts'
import { createCrossSessionRecallTools } from './cross-session-search.ts'

/** What a search needs of a service. */
export type SearchableSessions = Pick<SessionService, 'getEvents' | 'recallEvents'>

export interface BoundSearchOptions {
  /** The session of `conversation_search`; nobody else can choose another. Default: there is no such tool. */
  readonly sessionId?: string | null | undefined
  /** What the searching agent may see of it: its own branch and those above. Default: everything. */
  readonly branch?: string | null | undefined
  /** Whose sessions `cross_session_search` searches. Default: nobody's, there is no such tool. */
  readonly userId?: string | null | undefined
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function bindSearchTools(
  service: SearchableSessions,
  { sessionId, branch, userId, pageSize }: BoundSearchOptions,
): readonly AgentTool[] {
  const tools: AgentTool[] = []
  if (sessionId !== null && sessionId !== undefined) {
    const [search] = createSessionEventTools(service, { pageSize })
    const context = { [CONVERSATION_ID]: sessionId, [CONVERSATION_BRANCH]: branch ?? undefined }
    tools.push({ ...search, execute: (args) => search.execute(args, context) })
  }
  if (userId !== null && userId !== undefined) {
    tools.push(...createCrossSessionRecallTools(service, { userId, pageSize }))
  }
  return tools
}
