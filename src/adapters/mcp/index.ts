/** turnlog/mcp: the search tools for the Model Context Protocol. */

export { type McpRouteOptions, mcpRoutes } from './mcp-routes.ts'
export { addMcpTools, createMcpSearchServer, type McpSearchOptions } from './search-tools.ts'
