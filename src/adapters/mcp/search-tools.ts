/** turnlog's tools for servers of the Model Context Protocol. */

import {
  McpServer,
  type ServerOptions,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import type { JsonObject } from '../../core/json.ts'
import type { SessionService } from '../../core/session-service.ts'
import { type AgentTool, CONVERSATION_BRANCH, CONVERSATION_ID } from '../../tools/agent-tool.ts'
import { createSessionEventTools } from '../../tools/conversation-search.ts'
import { createCrossSessionRecallTools } from '../../tools/cross-session-search.ts'

/** What the tools do: they read, and come to no place but the sessions. */
const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** Adds tools, such as those of `memory.begin`, to a server of one's own. They only read. */
export function addMcpTools(server: McpServer, tools: readonly AgentTool[]): void {
  for (const { name, description, inputSchema, execute } of tools) {
    const config = { description, inputSchema: asSchema(inputSchema), annotations: ANNOTATIONS }
    server.registerTool(name, config, async (args) => {
      const text = await execute(args)
      const content = [{ type: 'text' as const, text }]
      return text.startsWith('Error: ') ? { content, isError: true } : { content }
    })
  }
}

/** What a search needs of a service. */
type SearchableSessions = Pick<SessionService, 'getEvents' | 'recallEvents'>

export interface McpSearchOptions {
  /** The session of `conversation_search`; no client can choose another. Default: there is no such tool. */
  readonly sessionId?: string | null | undefined
  /** What the searching agent may see of it: its own branch and those above. Default: everything. */
  readonly branch?: string | null | undefined
  /** Whose sessions `cross_session_search` searches. Default: nobody's, there is no such tool. */
  readonly userId?: string | null | undefined
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
}

/**
 * A server with the search tools, for any transport: `await server.connect(transport)`.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function createMcpSearchServer(
  service: SearchableSessions,
  options: McpSearchOptions,
  serverOptions?: ServerOptions,
): McpServer {
  const server = new McpServer({ name: 'turnlog', version: VERSION }, serverOptions)
  addMcpTools(server, searchTools(service, options))
  return server
}

/** Of this server, as clients see it. */
const VERSION = '1'

function searchTools(service: SearchableSessions, options: McpSearchOptions): readonly AgentTool[] {
  const { sessionId, branch, userId, pageSize } = options
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

/** A JSON Schema as the SDK wants one. It lets everything through: the tools tell what is wrong. */
function asSchema(schema: JsonObject): StandardSchemaWithJSON {
  const toJson = () => ({ ...schema })
  return {
    '~standard': {
      version: 1,
      vendor: 'turnlog',
      validate: (value) => ({ value }),
      jsonSchema: { input: toJson, output: toJson },
    },
  }
}
