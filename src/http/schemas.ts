/**
 * Every JSON body that is sent, as Zod schemas: requests are checked with them, and the OpenAPI document
 * is made of them and of those in answer-schemas.ts. They check the form; what a value means (an
 * instant, a message, a filter that contradicts itself) is checked by the core, the same for every
 * store, and is `unknown` here.
 */

import * as z from 'zod/mini'
import type { InstantInput } from '../core/instant.ts'
import type { JsonObject } from '../core/json.ts'
import type { Message, MessageType } from '../core/message.ts'
import type { SeqRange } from '../core/seq-ranges.ts'
import type { TimeToLive } from '../core/session.ts'

/** A schema that leaves the rest of the check to the core. */
type Checked<T> = z.ZodMiniType<T, T>

export const count = z.int().check(z.nonnegative())
export const seq = z.int().check(z.positive())
export const instantInput = z.unknown() as Checked<Exclude<InstantInput, Date>>
export const timeToLive = z.unknown() as Checked<TimeToLive>
/** Not taken apart: Zod would drop a key named `__proto__`, which is a key like any other in a log. */
export const jsonObject = z.unknown() as Checked<JsonObject>
export const message = z.unknown() as Checked<JsonObject & Message>
const texts = z.array(z.string())
export const messageTypes = texts as Checked<MessageType[]>
export const matchMode = z.string() as Checked<'any' | 'all'>
export const range = z.array(z.int()).check(z.length(2)) as unknown as Checked<SeqRange>
export const ranges = z.array(range)

const optional = <S extends z.ZodMiniType>(schema: S) => z.optional(z.nullable(schema))

export const newSession = z.strictObject({
  id: optional(z.string()),
  metadata: optional(jsonObject),
  timeToLive: z.optional(timeToLive),
  /** For a session that is restored; the server's clock otherwise. */
  createdAt: optional(instantInput),
  expiresAt: optional(instantInput),
  /** Compared with the authenticated user, never taken for it. */
  userId: optional(z.string()),
})

export const sessionChange = z.strictObject({
  metadata: optional(jsonObject),
  expiresAt: optional(instantInput),
})

export const newEvent = z.strictObject({
  message,
  id: optional(z.string()),
  sessionId: optional(z.string()),
  timestamp: optional(instantInput),
  metadata: optional(jsonObject),
  branch: optional(z.string()),
  synthetic: optional(z.boolean()),
})

export const newEvents = z.strictObject({
  events: z.array(newEvent),
  expectedVersion: optional(count),
})

export const commit = z.strictObject({
  events: z.optional(z.array(newEvent)),
  expectedVersion: optional(count),
  boundary: z.optional(
    z.strictObject({ summaries: texts, kept: ranges, through: count, rewound: ranges }),
  ),
  operationId: z.optional(z.string()),
  expectedSession: z.optional(seq),
  expectedBoundary: optional(z.string()),
})

export const eventFilter = z.strictObject({
  from: optional(instantInput),
  to: optional(instantInput),
  messageTypes: optional(messageTypes),
  excludeSynthetic: optional(z.boolean()),
  excludeArchived: optional(z.boolean()),
  excludeRewound: optional(z.boolean()),
  lastN: optional(z.number()),
  keyword: optional(z.string()),
  keywords: optional(texts),
  matchMode: optional(matchMode),
  page: optional(z.number()),
  pageSize: optional(z.number()),
  branch: optional(z.string()),
})

export const query = z.strictObject({
  filter: z.optional(eventFilter),
  after: z.optional(count),
  cursor: z.optional(z.string()),
})

export const recallQuery = z.strictObject({
  filter: z.optional(eventFilter),
  offset: z.optional(count),
  limit: z.optional(seq),
  /** Compared with the authenticated user, never taken for it. */
  userId: z.optional(z.string()),
})

/** What a `cursor` holds as JSON text. Callers hand it back unread, and are not believed. */
export const readCursor = z.strictObject({
  boundary: z.nullable(
    z.strictObject({
      id: z.string(),
      position: count,
      summaries: z.array(seq),
      kept: ranges,
      rewound: ranges,
      appended: count,
      createdAt: z.number(),
    }),
  ),
  remaining: ranges,
  skip: count,
  take: z.nullable(count),
})
