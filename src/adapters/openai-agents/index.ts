/** turnlog/openai-agents: a session and the search tools of the OpenAI Agents SDK over any turnlog service. */

export { METADATA_AGENT_ITEM } from './agent-items.ts'
export { type AgentSession, type AgentSessionOptions, createAgentSession } from './agent-session.ts'
export { METADATA_AGENT_OPERATION } from './history-transaction.ts'
export {
  type AgentSearchOptions,
  type AgentSearchTool,
  agentSessionTools,
  agentTools,
} from './search-tools.ts'
