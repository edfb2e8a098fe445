/** Sessions and events, as users see them. */

import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'

/** One conversation. Its events are read with `getEvents`, never held inside. */
export interface Session {
  readonly id: string
  readonly userId: string
  readonly createdAt: Date
  /** From then on the session is unknown; `null`: never. */
  readonly expiresAt: Date | null
  readonly metadata: JsonObject
  /** How many events the log holds, summaries and archived ones included. */
  readonly eventCount: number
  /** The timestamp of the event that was appended last. */
  readonly lastEventAt: Date | null
}

/** One message in the append-only log of a session. Never changed once appended. */
export interface SessionEvent<M extends Message = Message> {
  /** Unique within its session; what survives when a log is copied to another store. */
  readonly id: string
  readonly sessionId: string
  /** 1, 2, 3 … per session, without gaps, given by the store: the only order of the log. */
  readonly seq: number
  readonly timestamp: Date
  readonly message: M
  readonly metadata: JsonObject
  /** Dot-separated path of the agent that the event belongs to; `null` is the root. */
  readonly branch: string | null
  /** A summary that stands for older events; mirrored in `metadata.synthetic`. */
  readonly synthetic: boolean
  /** Compaction took it out of the active view; it is still stored and searchable. */
  readonly archived: boolean
  /** A rewind took it out: neither the prompt nor the tools see it, `EventFilter.all()` does. */
  readonly rewound: boolean
}

/** What an event is made from. Only `message` is required. */
export interface EventInput<M extends Message = Message> {
  readonly message: M
  /** Default: a random UUID. */
  readonly id?: string | null | undefined
  /** Must be the session it is appended to, when given. */
  readonly sessionId?: string | null | undefined
  /** `Date`, epoch milliseconds or ISO-8601 with zone. Default: now. */
  readonly timestamp?: Date | number | string | null | undefined
  /** A JSON object. Default `{}`. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** At most 4,096 characters. Default `null`, the root. */
  readonly branch?: string | null | undefined
  /** Default `false`; `metadata.synthetic: true` says the same. */
  readonly synthetic?: boolean | null | undefined
}

/** How long a session lives: milliseconds from its creation, `{ sliding }` milliseconds from its last append, or `null` for ever. */
export type TimeToLive = number | { readonly sliding: number } | null
