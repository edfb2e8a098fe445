/** turnlog: session memory for AI agents. The core: it has no dependency and knows no runtime. */

export {
  METADATA_COMPACTION_SOURCE,
  type RecursiveSummarizationOptions,
  recursiveSummarization,
  type SummaryPrompt,
} from './compaction/recursive-summarization.ts'
export {
  anyOf,
  type TokenCountTriggerOptions,
  tokenCountTrigger,
  turnCountTrigger,
} from './compaction/triggers.ts'
export { slidingWindow, tokenCount, turnWindow } from './compaction/windows.ts'
export type {
  CompactionProposal,
  CompactionResult,
  CompactionStrategy,
  CompactionTrigger,
  CompactOptions,
} from './core/compact.ts'
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
export type { SessionChange, SubscribeOptions } from './core/follow.ts'
export { type EventFormatter, formatEvent } from './core/format-event.ts'
export type { InstantInput } from './core/instant.ts'
export type { JsonObject, JsonValue } from './core/json.ts'
export {
  MESSAGE_TYPES,
  type Message,
  type MessagePart,
  type MessageType,
  messageText,
} from './core/message.ts'
export type { RewindTarget } from './core/rewind.ts'
export type { EventInput, Session, SessionEvent, TimeToLive } from './core/session.ts'
export {
  type AppendOptions,
  type CreateSessionOptions,
  type DamageReport,
  DEFAULT_TIME_TO_LIVE,
  type ListSessionsOptions,
  type SessionPage,
  type SessionService,
  type SessionServiceOptions,
  type UpdateSessionOptions,
} from './core/session-service.ts'
export { foldText, matchRanges, type TextRange } from './core/text.ts'
export { estimateTokens } from './core/token-estimate.ts'
export type { TokenEstimator } from './core/token-estimator.ts'
export type { ImportOptions, TextInput } from './core/transfer.ts'
export { countTurns, keepSafely, startsTurn } from './core/turns.ts'
export {
  allMessages,
  byMessageType,
  containsText,
  type MessageFilter,
  messageFilter,
  skipEmptyMessages,
} from './memory/message-filter.ts'
export {
  type BeginOptions,
  createSessionMemory,
  type EndResult,
  type MemoryRun,
  type SessionMemory,
  type SessionMemoryOptions,
  type SystemMessage,
} from './memory/session-memory.ts'
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
export {
  CROSS_SESSION_SEARCH,
  type CrossSessionRecallToolsOptions,
  createCrossSessionRecallTools,
  crossSessionSearchSchema,
  MAX_QUERY_TERMS,
} from './tools/cross-session-search.ts'
