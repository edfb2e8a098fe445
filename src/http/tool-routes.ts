/** The routes of turnlog's tools, for agents that run elsewhere. */

import { sessionNotFound } from '../core/errors.ts'
import { type AgentTool, CONVERSATION_BRANCH, CONVERSATION_ID } from '../tools/agent-tool.ts'
import { CONVERSATION_SEARCH, createSessionEventTools } from '../tools/conversation-search.ts'
import {
  CROSS_SESSION_SEARCH,
  createCrossSessionRecallTools,
} from '../tools/cross-session-search.ts'
import { queries } from './queries.ts'
import { readQuery } from './query-parameters.ts'
import { MAX_BODY, readJson } from './request-body.ts'
import { json, type Route, type RouteRequest } from './route.ts'
import { sessionIdOf } from './session-routes.ts'

/** @param crossSessionSearch whether `cross_session_search` is there at all. */
export function toolRoutes(crossSessionSearch: boolean): readonly Route[] {
  const search: Route = {
    method: 'POST',
    path: `/sessions/{sessionId}/tools/${CONVERSATION_SEARCH}`,
    handle: searchConversation,
  }
  const recall: Route = {
    method: 'POST',
    path: `/tools/${CROSS_SESSION_SEARCH}`,
    async handle(request) {
      const args = await readJson(request.raw, MAX_BODY)
      const [tool] = createCrossSessionRecallTools(request.service, { userId: request.userId })
      return json({ result: await tool.execute(args) })
    },
  }
  const list: Route = {
    method: 'GET',
    path: '/tools',
    async handle({ service, userId }) {
      const tools: AgentTool[] = [...createSessionEventTools(service)]
      if (crossSessionSearch) tools.push(...createCrossSessionRecallTools(service, { userId }))
      return json({
        tools: tools.map(({ name, description, inputSchema }) => ({
          name,
          description,
          inputSchema,
        })),
      })
    },
  }
  return crossSessionSearch ? [list, search, recall] : [list, search]
}

async function searchConversation(request: RouteRequest): Promise<Response> {
  const sessionId = sessionIdOf(request)
  const { branch } = readQuery(request.raw.url, queries.search)
  const args = await readJson(request.raw, MAX_BODY)
  // The tool would tell the model; that the path is wrong is the caller's mistake.
  if ((await request.service.findById(sessionId)) === null) throw sessionNotFound(sessionId)
  const [tool] = createSessionEventTools(request.service)
  const context = { [CONVERSATION_ID]: sessionId, [CONVERSATION_BRANCH]: branch }
  return json({ result: await tool.execute(args, context) })
}
