/** Following a session: every change once and in order, however unreliable the hints of a store are. */

import { isSessionError, sessionNotFound } from './errors.ts'
import type { Message } from './message.ts'
import { countRanges } from './seq-ranges.ts'
import type { SessionEvent } from './session.ts'
import type { SessionRecord, SessionRepository } from './session-repository.ts'

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

export interface SubscribeOptions {
  /** Deliver what comes after this `seq`. Default: what comes after the subscription. */
  readonly afterSeq?: number | null | undefined
  /** Milliseconds between looks at the store, for stores and tabs whose hints get lost. Default 1,000. */
  readonly pollInterval?: number | null | undefined
  /** Hears of failed looks at the store; the next look tries again. Default: the console. */
  readonly onError?: ((error: unknown) => void) | null | undefined
}

/** What following needs of the service. */
export interface FollowContext<M extends Message> {
  readonly repository: SessionRepository
  readonly now: () => number
  readonly readAfter: (sessionId: string, seq: number) => AsyncIterable<readonly SessionEvent<M>[]>
}

/** See `SessionService.subscribe`; gives the way to stop. */
export async function follow<M extends Message>(
  { repository, now, readAfter }: FollowContext<M>,
  sessionId: string,
  listener: (change: SessionChange<M>) => void,
  options: SubscribeOptions,
): Promise<() => void> {
  let known: SessionRecord | null = null
  let delivered = options.afterSeq ?? 0
  let running = false
  let again = false
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const interval = options.pollInterval ?? 1000
  const onError = options.onError ?? reportError

  const deliver = (change: SessionChange<M>) => {
    if (stopped) return
    try {
      listener(change)
    } catch (error) {
      // A listener's mistake is the application's to see; it must not stop the others.
      onError(error)
    }
  }

  const look = async (): Promise<void> => {
    const session = await repository.findSession(sessionId, { now: now() })
    if (session === null || (known !== null && session.number !== known.number)) {
      deliver({ type: 'deleted' })
      stop()
      return
    }
    if (session.lastSeq > delivered) {
      for await (const events of readAfter(sessionId, delivered)) {
        if (stopped) return
        const last = events.at(-1)
        if (last === undefined) continue
        // Remembered first: what a listener throws must not deliver an event twice.
        delivered = last.seq
        deliver({ type: 'appended', events })
      }
      delivered = Math.max(delivered, session.lastSeq)
    }
    const before = known?.boundary
    if (known !== null && session.boundary !== null && session.boundary.id !== before?.id) {
      const grew = countRanges(session.boundary.rewound) > countRanges(before?.rewound ?? [])
      deliver({ type: grew ? 'rewound' : 'compacted' })
    }
    known = session
  }

  const pump = async (): Promise<void> => {
    if (running || stopped) {
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
      if (isSessionError(error) && error.code === 'CLOSED') stop()
      else if (!stopped) onError(error)
    } finally {
      running = false
      if (!stopped) timer = setTimeout(() => void pump(), interval)
    }
  }

  const unwatch = repository.watch(
    (changed) => {
      if (changed === sessionId) void pump()
    },
    { sessionId },
  )
  const stop = () => {
    stopped = true
    if (timer !== undefined) clearTimeout(timer)
    unwatch()
  }

  try {
    const session = await repository.findSession(sessionId, { now: now() })
    if (session === null) throw sessionNotFound(sessionId)
    if (options.afterSeq === null || options.afterSeq === undefined) delivered = session.lastSeq
    known = session
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
