/** Events as they travel over HTTP, and the reads and commits that hold them. */

import type { EventFilterJson } from '../core/event-filter.ts'
import { decodeEvent, encodeBody } from '../core/event-input.ts'
import type { JsonObject } from '../core/json.ts'
import type { Message, MessageType } from '../core/message.ts'
import type { SeqRanges } from '../core/seq-ranges.ts'
import type { Damage, EventView, NewEventRecord, RecallAnswer } from '../core/session-repository.ts'
import type { WireSession } from './session.ts'

/** An event. Instants are ISO-8601 with milliseconds. */
export interface WireEvent {
  readonly id: string
  readonly seq: number
  readonly timestamp: string
  readonly message: JsonObject & Message
  readonly metadata: JsonObject
  readonly branch: string | null
  readonly synthetic: boolean
  readonly archived: boolean
  readonly rewound: boolean
  /** The latest timestamp of this event and all before it. */
  readonly latestTimestamp: string
}

/** An event whose content cannot be read: what is left of it. Lists have it under `damage`. */
export interface WireDamagedEvent extends Omit<WireEvent, 'message' | 'metadata'> {
  readonly message: null
  readonly metadata: null
  readonly role: MessageType
}

/** An event that is stored just as it was sent, for who asked for `Prefer: return=minimal`. */
export interface WireUnchangedEvent {
  readonly id: string
  readonly seq: number
  readonly latestTimestamp: string
  readonly archived: boolean
  readonly rewound: boolean
}

/** An answer to a read. */
export interface WireRead {
  readonly session: WireSession
  readonly events: readonly WireEvent[]
  /** Stored events that cannot be read. */
  readonly damage: readonly Damage[]
  /** `cursor` for the rest, when the answer was full (at about 8 MiB); `null` at the end. */
  readonly next: string | null
}

/** An answer to a search of all sessions. */
export interface WireRecall {
  readonly events: readonly (WireEvent & { readonly sessionId: string })[]
  readonly damage: RecallAnswer['damage']
  /** `false`: there is more within `limit`; ask again with a greater `offset`. */
  readonly complete: boolean
}

/** An event on its way to the log. */
export interface WireNewEvent {
  readonly message: JsonObject & Message
  /** Default: a random one, with which a repetition is not known for one. */
  readonly id?: string | null | undefined
  /** Epoch milliseconds or ISO-8601. Default: the server's clock. */
  readonly timestamp?: number | string | null | undefined
  readonly metadata?: JsonObject | null | undefined
  readonly branch?: string | null | undefined
  readonly synthetic?: boolean | null | undefined
}

/** An append, or a boundary, or both: see `Commit`. */
export interface WireCommit {
  readonly events?: readonly WireNewEvent[] | undefined
  readonly expectedVersion?: number | null | undefined
  /** The session's `number`: fail when another was created under its id meanwhile. */
  readonly expectedSession?: number | undefined
  readonly boundary?:
    | {
        readonly summaries: readonly string[]
        readonly kept: SeqRanges
        readonly through: number
        readonly rewound: SeqRanges
      }
    | undefined
  readonly operationId?: string | undefined
  readonly expectedBoundary?: string | null | undefined
}

/** What a commit led to. */
export interface WireCommitted {
  readonly session: WireSession
  /** The stored event for every event of the commit, in its order. */
  readonly events: readonly (WireEvent | WireDamagedEvent | WireUnchangedEvent)[]
}

/** A filter: every field of `EventFilter`, all optional. */
export type WireFilter = {
  readonly [F in keyof EventFilterJson]?:
    | (F extends 'from' | 'to' ? number | string : NonNullable<EventFilterJson[F]>)
    | null
    | undefined
}

/** A read whose filter does not fit into a query. */
export interface WireQuery {
  readonly filter?: WireFilter | undefined
  readonly after?: number | undefined
  /** Where an earlier answer stopped; the filter is to be given again. */
  readonly cursor?: string | undefined
}

/** A search of all sessions. */
export interface WireRecallQuery {
  readonly filter?: WireFilter | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
  /** Whom the caller takes itself for: refused unless it is the authenticated user. */
  readonly userId?: string | undefined
}

/** A line of a read as NDJSON. The last one is `end` or `error`; without either, the rest got lost. */
export type WireLine =
  | { readonly event: WireEvent }
  | { readonly damage: Damage }
  | { readonly end: { readonly events: number; readonly lastSeq: number } }
  | { readonly error: { readonly code: string; readonly detail: string } }

/** An event for a list; `null` when its content cannot be read. */
export function toWireEvent(event: EventView): WireEvent | null {
  const decoded = decodeEvent<JsonObject & Message>('', event)
  if (decoded === null) return null
  const { id, seq, timestamp, message, metadata, branch, synthetic, archived, rewound } = decoded
  const latestTimestamp = new Date(event.latestTimestamp).toISOString()
  return {
    id,
    seq,
    timestamp: timestamp.toISOString(),
    message,
    metadata,
    branch,
    synthetic,
    archived,
    rewound,
    latestTimestamp,
  }
}

/** An event for an answer that must name it even when its content cannot be read. */
export function toWireEventOrDamaged(event: EventView): WireEvent | WireDamagedEvent {
  const { body, timestamp, latestTimestamp, ...envelope } = event
  return (
    toWireEvent(event) ?? {
      ...envelope,
      timestamp: new Date(timestamp).toISOString(),
      latestTimestamp: new Date(latestTimestamp).toISOString(),
      message: null,
      metadata: null,
    }
  )
}

/** A damaged event comes back with an empty body, which nobody can read either. */
export function fromWireEvent(event: WireEvent | WireDamagedEvent): EventView {
  const { id, seq, branch, synthetic, archived, rewound, message, metadata } = event
  return {
    id,
    seq,
    timestamp: Date.parse(event.timestamp),
    latestTimestamp: Date.parse(event.latestTimestamp),
    role: message === null ? event.role : message.role,
    branch,
    synthetic,
    body: message === null ? '' : encodeBody(message, metadata),
    archived,
    rewound,
  }
}

/** What differs from the defaults, so that a batch is no larger here than where its size is limited. */
export function toWireNewEvent(record: NewEventRecord): WireNewEvent {
  const { id, timestamp, branch, synthetic } = record
  const { message, metadata } = JSON.parse(record.body) as {
    readonly message: JsonObject & Message
    readonly metadata: JsonObject
  }
  return {
    id,
    timestamp,
    ...(branch === null ? {} : { branch }),
    ...(synthetic ? { synthetic } : {}),
    message,
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
}
