/** turnlog's tools for servers of the Model Context Protocol. */

import {
  McpServer,
  type ServerOptions,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import type { JsonObject } from '../../core/json.ts'
import type { AgentTool } from '../../tools/agent-tool.ts'
import {
  type BoundSearchOptions,
  bindSearchTools,
  type SearchableSessions,
} from '../../tools/bound-search-tools.ts'

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

/** Which tools a server has, and what they search; no client can choose anything else. */
export type McpSearchOptions = BoundSearchOptions

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
  addMcpTools(server, bindSearchTools(service, options))
  return server
}

/** Of this server, as clients see it. */
const VERSION = '1'

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
