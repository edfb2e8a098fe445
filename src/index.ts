/** turnlog: session memory for AI agents. The core: it has no dependency and knows no runtime. */

export {
  isSessionError,
  SessionError,
  type SessionErrorCode,
  type SessionErrorDetails,
} from './core/errors.ts'
export {
  EventFilter,
  type EventFilterBuilder,
  type EventFilterInput,
  type EventFilterJson,
  type EventFilterOptions,
  type FilterableEvent,
  type MatchMode,
} from './core/event-filter.ts'
export { MAX_BATCH_BYTES, MAX_EVENT_BYTES, METADATA_SYNTHETIC } from './core/event-input.ts'
export type { InstantInput } from './core/instant.ts'
export type { JsonObject, JsonValue } from './core/json.ts'
export {
  MESSAGE_TYPES,
  type Message,
  type MessagePart,
  type MessageType,
  messageText,
} from './core/message.ts'
export type { SeqRange, SeqRanges } from './core/seq-ranges.ts'
export type { EventInput, Session, SessionEvent, TimeToLive } from './core/session.ts'
export type * from './core/session-repository.ts'
export {
  type AppendOptions,
  type CreateSessionOptions,
  createSessionService,
  type DamageReport,
  DEFAULT_TIME_TO_LIVE,
  type ListSessionsOptions,
  type SessionPage,
  type SessionService,
  type SessionServiceOptions,
  type UpdateSessionOptions,
} from './core/session-service.ts'
export { foldText, matchRanges, type TextRange } from './core/text.ts'
export {
  type AgentTool,
  CONVERSATION_BRANCH,
  CONVERSATION_ID,
  type ToolContext,
} from './tools/agent-tool.ts'
export {
  CONVERSATION_SEARCH,
  conversationSearchSchema,
  createSessionEventTools,
  type SessionEventToolsOptions,
} from './tools/conversation-search.ts'
