/** A session as it travels over HTTP. */

import type { JsonObject } from '../core/json.ts'
import type { SeqRanges } from '../core/seq-ranges.ts'
import type { TimeToLive } from '../core/session.ts'
import type { Boundary, SessionRecord } from '../core/session-repository.ts'

/** A session. Instants are ISO-8601 with milliseconds. */
export interface WireSession {
  readonly id: string
  /** 1, 2, 3 … in the order of creation, never used again. */
  readonly number: number
  readonly userId: string
  readonly createdAt: string
  readonly expiresAt: string | null
  /** Milliseconds from the last append, when the lifetime slides. */
  readonly slidingTimeToLive: number | null
  readonly metadata: JsonObject
  /** How many events the log holds: also the `seq` of the newest. */
  readonly eventCount: number
  readonly version: number
  readonly lastEventAt: string | null
  /** The latest timestamp of all events. */
  readonly latestTimestamp: string | null
  /** What the active view is; `null`: the whole log. */
  readonly boundary: WireBoundary | null
}

/** What the active view is: the summaries, the kept events, and everything after `position`. */
export interface WireBoundary {
  readonly id: string
  readonly position: number
  readonly summaries: readonly number[]
  readonly kept: SeqRanges
  readonly rewound: SeqRanges
  readonly appended: number
  readonly createdAt: string
}

/** A session on its way to the store. */
export interface WireNewSession {
  /** Only where the path does not name it; default a random UUID. */
  readonly id?: string | null | undefined
  readonly metadata?: JsonObject | null | undefined
  /** Milliseconds, `{ sliding: milliseconds }`, or `null` for ever. Default 60 days. */
  readonly timeToLive?: TimeToLive | undefined
  /** For a session that is restored. Default: the server's clock. */
  readonly createdAt?: number | string | null | undefined
  /** For a session that is restored. Default: what `timeToLive` gives. */
  readonly expiresAt?: number | string | null | undefined
  /** Whom the caller takes itself for: refused unless it is the authenticated user. */
  readonly userId?: string | null | undefined
}

/** The answer to a creation. */
export interface WireCreated {
  readonly session: WireSession
  /** `false`: the session was there before, and is returned as it is. */
  readonly created: boolean
}

/** A page of a list. */
export interface WireSessionPage {
  readonly sessions: readonly WireSession[]
  /** For the query of the next page; `null` at the end. A page may be short of its limit before that. */
  readonly cursor: string | null
}

export function toWireSession(record: SessionRecord): WireSession {
  const { id, number, userId, slidingTimeToLive, version, boundary } = record
  return {
    id,
    number,
    userId,
    createdAt: toText(record.createdAt),
    expiresAt: toNullableText(record.expiresAt),
    slidingTimeToLive,
    metadata: JSON.parse(record.metadata) as JsonObject,
    eventCount: record.lastSeq,
    version,
    lastEventAt: toNullableText(record.lastEventAt),
    latestTimestamp: toNullableText(record.latestTimestamp),
    boundary: boundary === null ? null : toWireBoundary(boundary),
  }
}

export function fromWireSession(session: WireSession): SessionRecord {
  const { id, number, userId, slidingTimeToLive, version, boundary } = session
  return {
    number,
    id,
    userId,
    createdAt: Date.parse(session.createdAt),
    expiresAt: fromNullableText(session.expiresAt),
    slidingTimeToLive,
    metadata: JSON.stringify(session.metadata),
    lastSeq: session.eventCount,
    version,
    lastEventAt: fromNullableText(session.lastEventAt),
    latestTimestamp: fromNullableText(session.latestTimestamp),
    boundary: boundary === null ? null : fromWireBoundary(boundary),
  }
}

export function toWireBoundary(boundary: Boundary): WireBoundary {
  return { ...boundary, createdAt: toText(boundary.createdAt) }
}

export function fromWireBoundary(boundary: WireBoundary): Boundary {
  return { ...boundary, createdAt: Date.parse(boundary.createdAt) }
}

function toText(time: number): string {
  return new Date(time).toISOString()
}

function toNullableText(time: number | null): string | null {
  return time === null ? null : toText(time)
}

function fromNullableText(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}
