/** The search tools over streamable HTTP, as routes of the HTTP API. */

import { createMcpHandler } from '@modelcontextprotocol/server'
import { sessionNotFound } from '../../core/errors.ts'
import type { Route, RouteRequest } from '../../http/route.ts'
import { createMcpSearchServer } from './search-tools.ts'

export interface McpRouteOptions {
  /**
   * Whether `cross_session_search` is offered: at `/mcp`, which does not exist otherwise, and beside
   * `conversation_search`. Default `true`.
   */
  readonly crossSessionSearch?: boolean | null | undefined
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
}

/**
 * Routes for `createSessionApi({ …, routes: mcpRoutes() })`, behind its authentication. `/mcp` searches
 * all sessions of the user, `/mcp/sessions/{sessionId}` that session as well (`?branch=` restricts it).
 * Nothing is kept between requests, so that every one may come to another machine.
 */
export function mcpRoutes(options: McpRouteOptions | null = {}): readonly Route[] {
  const pageSize = options?.pageSize
  const isRecalling = options?.crossSessionSearch ?? true
  const serve = ({ raw, service, userId }: RouteRequest, sessionId: string | null) => {
    const branch = new URL(raw.url).searchParams.get('branch')
    const owner = isRecalling ? userId : null
    const newServer = () =>
      createMcpSearchServer(service, { sessionId, branch, userId: owner, pageSize })
    // The tools never change: there is nothing to subscribe to.
    return createMcpHandler(newServer, { maxSubscriptions: 0 }).fetch(raw)
  }
  const ofUser: Route = {
    method: 'POST',
    path: '/mcp',
    handle: (request) => serve(request, null),
  }
  const ofSession: Route = {
    method: 'POST',
    path: '/mcp/sessions/{sessionId}',
    async handle(request) {
      const { sessionId = '' } = request.params
      const session = await request.service.findById(sessionId)
      if (session === null) throw sessionNotFound(sessionId)
      return serve(request, session.id)
    },
  }
  return isRecalling ? [ofUser, ofSession] : [ofSession]
}
