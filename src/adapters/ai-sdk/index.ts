/** turnlog/ai-sdk: session memory, search tools and chat history for AI SDK 7. */

export {
  type AiRun,
  type AiRunCallbacks,
  type AiRunOptions,
  createAiRun,
} from './ai-run.ts'
export {
  type ChatEntry,
  type ChatHistory,
  type ChatHistoryOptions,
  type ChatPage,
  type ChatRequest,
  type ChatRewindTarget,
  createChatHistory,
} from './chat-history.ts'
export { aiMessages } from './model-messages.ts'
export type { ReplyOptions, ReplyRecording } from './reply-recording.ts'
export {
  type AiSessionToolsOptions,
  aiSessionTools,
  aiTools,
  type ConversationSearchInput,
  type ConversationSearchTools,
  type CrossSessionSearchInput,
  type SessionSearchTools,
} from './search-tools.ts'
export { METADATA_UI_MESSAGE, type PartPatch, type UiMessageMetadata } from './ui-message-log.ts'
export type { DataPart, PartConversion } from './ui-part.ts'
