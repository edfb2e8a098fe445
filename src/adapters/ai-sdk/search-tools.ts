/** turnlog's tools as the AI SDK takes them. */

import { jsonSchema, type Tool, tool } from 'ai'
import type { SessionService } from '../../core/session-service.ts'
import { type AgentTool, CONVERSATION_BRANCH, CONVERSATION_ID } from '../../tools/agent-tool.ts'
import { createSessionEventTools } from '../../tools/conversation-search.ts'
import { createCrossSessionRecallTools } from '../../tools/cross-session-search.ts'

/** What a model passes to `conversation_search`. */
export interface ConversationSearchInput {
  innerThought: string
  query: string
  page?: number
}

/** What a model passes to `cross_session_search`. */
export interface CrossSessionSearchInput extends ConversationSearchInput {
  matchMode?: string
  since?: string
}

// Types, not interfaces: only these are a `ToolSet`.

/** The tool that searches one session. */
export type ConversationSearchTools = {
  conversation_search: Tool<ConversationSearchInput, string>
}

/** The tools that search one session, and all sessions of its user. */
export type SessionSearchTools = ConversationSearchTools & {
  cross_session_search: Tool<CrossSessionSearchInput, string>
}

export interface AiSessionToolsOptions {
  /** The session that is searched; the model cannot choose it. */
  readonly sessionId: string
  /** What the searching agent may see of it: its own branch and those above. Default: everything. */
  readonly branch?: string | null | undefined
  /** Results per page. Default 10. */
  readonly pageSize?: number | null | undefined
  /** Whose sessions `cross_session_search` searches. Default: nobody's, there is no such tool. */
  readonly userId?: string | null | undefined
}

/** Tools such as those of `memory.begin` for `generateText`, `streamText` and agents, by their names. */
export function aiTools<Name extends string>(
  tools: readonly AgentTool<Name>[],
): {
  [Key in Name]: Key extends keyof SessionSearchTools
    ? SessionSearchTools[Key]
    : Tool<unknown, string>
} {
  return Object.fromEntries(tools.map((each) => [each.name, aiTool(each)])) as never
}

/** The search tools of one session, for who uses no session memory. */
export function aiSessionTools(
  service: Pick<SessionService, 'getEvents' | 'recallEvents'>,
  options: AiSessionToolsOptions & { readonly userId: string },
): SessionSearchTools
export function aiSessionTools(
  service: Pick<SessionService, 'getEvents' | 'recallEvents'>,
  options: AiSessionToolsOptions & { readonly userId?: null | undefined },
): ConversationSearchTools
export function aiSessionTools(
  service: Pick<SessionService, 'getEvents' | 'recallEvents'>,
  options: AiSessionToolsOptions,
): ConversationSearchTools | SessionSearchTools {
  const { sessionId, branch, pageSize, userId } = options
  const [search] = createSessionEventTools(service, { pageSize })
  const context = { [CONVERSATION_ID]: sessionId, [CONVERSATION_BRANCH]: branch ?? undefined }
  const bound = { ...search, execute: (args: unknown) => search.execute(args, context) }
  const tools = { conversation_search: aiTool<ConversationSearchInput>(bound) }
  if (userId === null || userId === undefined) return tools
  const [recall] = createCrossSessionRecallTools(service, { userId, pageSize })
  return { ...tools, cross_session_search: aiTool<CrossSessionSearchInput>(recall) }
}

function aiTool<Input = unknown>(agentTool: AgentTool): Tool<Input, string> {
  const { description, inputSchema, execute } = agentTool
  // Not validated here: the tool itself tells the model what is wrong with its arguments.
  const schema = jsonSchema<Input>(inputSchema as Parameters<typeof jsonSchema>[0])
  return tool({ description, inputSchema: schema, execute: (input: Input) => execute(input) })
}
