/** turnlog/ai-sdk: session memory, search tools and chat history for AI SDK 7. */

export {
  type AiRun,
  type AiRunCallbacks,
  type AiRunOptions,
  createAiRun,
} from './ai-run.ts'
export { aiMessages } from './model-messages.ts'
export {
  type AiSessionToolsOptions,
  aiSessionTools,
  aiTools,
  type ConversationSearchInput,
  type ConversationSearchTools,
  type CrossSessionSearchInput,
  type SessionSearchTools,
} from './search-tools.ts'
