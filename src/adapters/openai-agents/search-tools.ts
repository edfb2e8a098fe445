/** turnlog's tools as the OpenAI Agents SDK takes them. */

import { type FunctionTool, tool } from '@openai/agents-core'
import type { AgentTool } from '../../tools/agent-tool.ts'
import {
  type BoundSearchOptions,
  bindSearchTools,
  type SearchableSessions,
} from '../../tools/bound-search-tools.ts'

/** Which search tools an agent has, and what they search; the model can choose neither. */
export type AgentSearchOptions = BoundSearchOptions

/** A search tool, for agents of any context: it does not look at that. */
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own word for any context and any parameters
export type AgentSearchTool = FunctionTool<any, any, string>

/** Tools such as those of `memory.begin` for the `tools` of an `Agent`. */
export function agentTools(tools: readonly AgentTool[]): AgentSearchTool[] {
  return tools.map(({ name, description, inputSchema, execute }) =>
    tool({
      name,
      description,
      // Not validated here: the tool itself tells the model what is wrong with its arguments.
      parameters: { ...inputSchema, additionalProperties: true } as never,
      strict: false,
      execute: (args: unknown) => execute(args),
    }),
  )
}

/**
 * The search tools of one session, and of all sessions of a user, for an agent.
 *
 * @throws SessionError `INVALID_ARGUMENT`
 */
export function agentSessionTools(
  service: SearchableSessions,
  options: AgentSearchOptions,
): AgentSearchTool[] {
  return agentTools(bindSearchTools(service, options))
}
