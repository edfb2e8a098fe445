/** Following a session: every change once and in order, however unreliable the hints of a store are. */

import { isGiven, readDelay, readInteger, readOptionalFunction, readOptions } from './arguments.ts'
import { isSessionError, sessionNotFound } from './errors.ts'
import type { Message } from './message.ts'
import { countRanges } from './seq-ranges.ts'
import type { SessionEvent } from './session.ts'
import type { Boundary, SessionRecord, SessionRepository } from './session-repository.ts'

/** What happened to a session. */
export type SessionChange<M extends Message = Message> =
  /** New events, by `seq`, summaries included. */
  | { readonly type: 'appended'; readonly events: readonly SessionEvent<M>[] }
  /** The active view has changed by a compaction or by `clearView`. */
  | { readonly type: 'compacted' }
  /** The active view has changed by a rewind. */
  | { readonly type: 'rewound' }
  /** The session is gone or has expired; nothing follows. */
  | { readonly type: 'deleted' }

/** From where on, how often and how loudly a session is followed. */
export interface SubscribeOptions {
  /** Deliver what comes after this `seq`. Default: what comes after the subscription. */
  readonly afterSeq?: number | null | undefined
  /**
   * Milliseconds between looks at the store, for stores and tabs whose hints get lost; at most 2³¹ − 1.
   * Default 1,000.
   */
  readonly pollInterval?: number | null | undefined
  /** Hears of failed looks at the store; the next look tries again. Default: the console. */
  readonly onError?: ((error: unknown) => void) | null | undefined
}

/** What following needs of the service. */
export interface FollowContext<M extends Message> {
  readonly repository: SessionRepository
  readonly now: () => number
  /** The events after a `seq`, in portions, each with the session that it was read from. */
  readonly readAfter: (
    sessionId: string,
    seq: number,
  ) => AsyncIterable<{
    readonly session: SessionRecord
    readonly events: readonly SessionEvent<M>[]
  }>
  /** Called once, when nothing more will be delivered. */
  readonly onStop: (stop: () => void) => void
}

/** {@link SubscribeOptions} that were checked. */
export interface CheckedSubscribeOptions {
  /** `null`: what comes after the subscription. */
  readonly afterSeq: number | null
  readonly pollInterval: number
  readonly onError: (error: unknown) => void
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function readSubscribeOptions(
  given: SubscribeOptions | null | undefined,
): CheckedSubscribeOptions {
  const { afterSeq, pollInterval, onError } = readOptions(given)
  return {
    afterSeq: isGiven(afterSeq) ? readInteger(afterSeq, 'afterSeq', { least: 0 }) : null,
    pollInterval: readDelay(pollInterval, 'pollInterval', 1000),
    onError: readOptionalFunction(onError, 'onError') ?? reportError,
  }
}

/** See `SessionService.subscribe`; gives the way to stop. */
export async function follow<M extends Message>(
  { repository, now, readAfter, onStop }: FollowContext<M>,
  sessionId: string,
  listener: (change: SessionChange<M>) => void,
  options: CheckedSubscribeOptions,
): Promise<() => void> {
  /** The session's number, once the subscription has begun. */
  let number: number | null = null
  /** The last event and the last boundary that were delivered, or lie before the subscription. */
  let seq = 0
  let boundary: Boundary | null = null
  let running = false
  let again = false
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const { afterSeq, pollInterval, onError } = options

  const report = (error: unknown) => {
    try {
      onError(error)
    } catch (failure) {
      reportError(failure)
    }
  }

  // A listener's mistake is the application's to see; it must not stop what follows.
  const deliver = (change: SessionChange<M>) => {
    if (stopped) return
    try {
      Promise.resolve(listener(change)).catch(report)
    } catch (error) {
      report(error)
    }
  }

  // What was delivered is remembered first, so that nothing is delivered twice.
  const deliverEvents = (events: readonly SessionEvent<M>[]) => {
    const last = events.at(-1)
    if (last === undefined) return
    seq = last.seq
    deliver({ type: 'appended', events })
  }
  const deliverBoundary = (next: Boundary) => {
    const grew = countRanges(next.rewound) > countRanges(boundary?.rewound ?? [])
    boundary = next
    deliver({ type: grew ? 'rewound' : 'compacted' })
  }

  /** The boundaries that are still to be delivered, up to the one of `session`, oldest first. */
  const readNewBoundaries = async (session: SessionRecord): Promise<Boundary[]> => {
    const { boundary: newest } = session
    if (newest === null || newest.id === boundary?.id) return []
    const all = await repository.readBoundaries(sessionId, { now: now() })
    const end = all.findIndex(({ id }) => id === newest.id)
    return all.slice(all.findIndex(({ id }) => id === boundary?.id) + 1, end + 1)
  }

  /** Delivers what has happened up to now: each boundary between the events before and after it. */
  const look = async (): Promise<void> => {
    const session = await repository.findSession(sessionId, { now: now() })
    if (session === null || session.number !== number) throw sessionNotFound(sessionId)
    const boundaries = await readNewBoundaries(session)
    if (session.lastSeq > seq) {
      for await (const { session: source, events } of readAfter(sessionId, seq)) {
        if (source.number !== number) throw sessionNotFound(sessionId)
        let rest = events.filter((event) => event.seq <= session.lastSeq)
        // What came after this look began is for the next one.
        again ||= rest.length < events.length
        for (let next = boundaries[0]; rest.length > 0; next = boundaries[0]) {
          const end = next === undefined ? Infinity : next.position
          deliverEvents(rest.filter((event) => event.seq <= end))
          rest = rest.filter((event) => event.seq > end)
          if (next !== undefined && rest.length > 0) {
            boundaries.shift()
            deliverBoundary(next)
          }
        }
        if (stopped || again) break
      }
      seq = Math.max(seq, session.lastSeq)
    }
    for (const next of boundaries) deliverBoundary(next)
  }

  const pump = async (): Promise<void> => {
    // Hints that come before the subscription has begun say nothing new.
    if (running || stopped || number === null) {
      again = true
      return
    }
    running = true
    if (timer !== undefined) clearTimeout(timer)
    try {
      do {
        again = false
        await look()
      } while (again && !stopped)
    } catch (error) {
      const code = isSessionError(error) ? error.code : null
      if (code === 'SESSION_NOT_FOUND') deliver({ type: 'deleted' })
      if (code === 'SESSION_NOT_FOUND' || code === 'CLOSED') stop()
      else if (!stopped) report(error)
    } finally {
      running = false
      if (!stopped) timer = setTimeout(() => void pump(), pollInterval)
    }
  }

  const unwatch = repository.watch(
    (changed) => {
      if (changed === sessionId) void pump()
    },
    { sessionId },
  )
  const stop = () => {
    if (stopped) return
    stopped = true
    if (timer !== undefined) clearTimeout(timer)
    unwatch()
    onStop(stop)
  }

  try {
    const session = await repository.findSession(sessionId, { now: now() })
    if (session === null) throw sessionNotFound(sessionId)
    seq = afterSeq ?? session.lastSeq
    boundary = session.boundary
    number = session.number
  } catch (error) {
    stop()
    throw error
  }
  void pump()
  return stop
}

function reportError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the documented default; a failing subscription must be seen
  console.error('turnlog: a subscription failed and tries again', error)
}
