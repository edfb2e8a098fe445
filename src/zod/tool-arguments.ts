/**
 * The arguments of turnlog's tools as Zod schemas: the JSON Schemas of `src/tools`, with types. They accept
 * and refuse the same values, but for integers that JavaScript cannot hold exactly: JSON Schema knows no
 * such limit, Zod refuses them, and so does the tool itself.
 */

import * as z from 'zod'
import type { JsonObject } from '../core/json.ts'
import { conversationSearchSchema } from '../tools/conversation-search.ts'
import { crossSessionSearchSchema } from '../tools/cross-session-search.ts'

const ofConversation = descriptionsOf(conversationSearchSchema)
const ofCrossSession = descriptionsOf(crossSessionSearchSchema)

/** The arguments of `conversation_search`; give it to a framework in place of `tool.inputSchema`. */
export const conversationSearchArguments = z.strictObject({
  innerThought: z.string().meta(ofConversation('innerThought')),
  query: z.string().meta(ofConversation('query')),
  page: z.int().meta(ofConversation('page')).optional(),
})

/** What a model passes to `conversation_search`. */
export type ConversationSearchArguments = z.infer<typeof conversationSearchArguments>

/** The arguments of `cross_session_search`. */
export const crossSessionSearchArguments = z.strictObject({
  innerThought: z.string().meta(ofCrossSession('innerThought')),
  query: z.string().meta(ofCrossSession('query')),
  matchMode: z.string().meta(ofCrossSession('matchMode')).optional(),
  since: z.string().meta(ofCrossSession('since')).optional(),
  page: z.int().meta(ofCrossSession('page')).optional(),
})

/** What a model passes to `cross_session_search`. */
export type CrossSessionSearchArguments = z.infer<typeof crossSessionSearchArguments>

/** The words that a JSON Schema has for each argument: they are written once, there. */
function descriptionsOf(schema: JsonObject): (name: string) => { description: string } {
  const properties = schema['properties'] as Record<string, { readonly description: string }>
  return (name) => ({ description: properties[name]?.description ?? '' })
}
