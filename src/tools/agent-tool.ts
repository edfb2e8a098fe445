/** What turnlog's tools look like, free of any framework. */

import { describeThrown, isSessionError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'

/** The context key under which a tool finds its session id (Spring AI's `ChatMemory.CONVERSATION_ID`). */
export const CONVERSATION_ID = 'chat_memory_conversation_id'

/** The context key of the agent branch that a tool's answers are restricted to; optional. */
export const CONVERSATION_BRANCH = 'chat_memory_branch'

/** What the application, never the model, tells a tool about the request it runs in. */
export type ToolContext = Readonly<Record<string, unknown>>

/** A tool for a model: give name, description and schema to any framework, and call `execute`. */
export interface AgentTool<Name extends string = string> {
  readonly name: Name
  /** Written for the model to read. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject
  /** Never throws for what the model or the store did wrong: the text says what it was. */
  execute(args: unknown, context?: ToolContext | null): Promise<string>
}

/** What a tool answers when nothing matches. */
export const NO_RESULTS = 'No results found.'

/** Tells the model what was wrong with its arguments. */
export class ToolArgumentError extends Error {}

/** Runs a tool's body and turns every failure into a text for the model. */
export async function answer(run: () => Promise<string>): Promise<string> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ToolArgumentError || isSessionError(error))
      return `Error: ${error.message}`
    return `Error: the search failed: ${error instanceof Error ? error.message : describeThrown(error)}`
  }
}

/** The arguments as an object. */
export function readArguments(args: unknown): Readonly<Record<string, unknown>> {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new ToolArgumentError('the arguments must be a JSON object')
  }
  return args as Record<string, unknown>
}

/** The `query` argument, refused when it is blank. */
export function readQuery(args: Readonly<Record<string, unknown>>): string {
  const { query } = args
  if (typeof query !== 'string' || query.trim() === '') {
    throw new ToolArgumentError('query must be a text that is not blank')
  }
  return query
}

/** The `page` argument: 0 when missing or negative. */
export function readPage(args: Readonly<Record<string, unknown>>): number {
  const { page } = args
  if (page === undefined || page === null) return 0
  if (!Number.isSafeInteger(page)) {
    throw new ToolArgumentError('page must be an integer: 0 for the oldest matches, 1 for the next')
  }
  return Math.max(0, page as number)
}
