/** turnlog/zod: what turnlog takes, as Zod 4 schemas, for frameworks that want them. */

export {
  type ConversationSearchArguments,
  type CrossSessionSearchArguments,
  conversationSearchArguments,
  crossSessionSearchArguments,
} from './tool-arguments.ts'
