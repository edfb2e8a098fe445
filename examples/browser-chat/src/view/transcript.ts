/**
 * The part of a conversation that is on the screen: a window of its log, moved as the person scrolls,
 * so that a log of any length opens by its last screen and nothing else of it is read.
 */

import type { ModelMessage } from 'ai'
import { isSessionError, type Session, type SessionEvent, type SessionService } from 'turnlog'

export interface TranscriptState {
  readonly status: 'loading' | 'ready' | 'missing' | 'deleted' | 'failed'
  readonly session: Session | null
  /** By `seq`, without gaps. */
  readonly events: readonly SessionEvent<ModelMessage>[]
  /** Events before and after the window. */
  readonly before: number
  readonly after: number
  readonly error: string | null
}

export interface Transcript {
  readonly getState: () => TranscriptState
  /** Calls the listener after every change of the state; gives the way to stop. */
  readonly watch: (listener: () => void) => () => void
  /** Moves the window to the end of the log, or to around an event. */
  open(seq?: number): Promise<void>
  loadEarlier(): Promise<void>
  loadLater(): Promise<void>
  /** Reads what has come since, and what has changed. */
  refresh(): Promise<void>
  close(): void
}

/** Events of one portion, and of the whole window. */
const PORTION = 40
const WINDOW = 240

const EMPTY: TranscriptState = {
  status: 'loading',
  session: null,
  events: [],
  before: 0,
  after: 0,
  error: null,
}

export function createTranscript(
  service: SessionService<ModelMessage>,
  sessionId: string,
): Transcript {
  let state = EMPTY
  let unsubscribe: (() => void) | null = null
  let isClosed = false
  let work: Promise<void> = Promise.resolve()
  const listeners = new Set<() => void>()

  const change = (next: Partial<TranscriptState>) => {
    if (isClosed) return
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }

  /** One after the other: a window that moves twice at once would tear. */
  const enqueue = (task: () => Promise<void>): Promise<void> => {
    work = work.then(async () => {
      if (isClosed) return
      try {
        await task()
      } catch (error) {
        if (isClosed) return
        if (isSessionError(error) && error.code === 'SESSION_NOT_FOUND') change(gone())
        else
          change({
            status: 'failed',
            error: error instanceof Error ? error.message : String(error),
          })
      }
    })
    return work
  }

  const gone = (): Partial<TranscriptState> => ({
    status: state.session === null ? 'missing' : 'deleted',
    session: null,
    events: [],
    before: 0,
    after: 0,
  })

  const read = async (afterSeq: number, count: number) => {
    const events: SessionEvent<ModelMessage>[] = []
    if (count <= 0) return events
    const portion = service.iterateEvents(sessionId, { pageSize: count }, { afterSeq })
    for await (const event of portion) events.push(event)
    return events
  }

  const show = (session: Session, events: readonly SessionEvent<ModelMessage>[]) => {
    const first = events[0]?.seq ?? session.eventCount + 1
    const last = events.at(-1)?.seq ?? session.eventCount
    change({
      status: 'ready',
      session,
      events,
      before: first - 1,
      after: Math.max(0, session.eventCount - last),
      error: null,
    })
  }

  const find = async () => {
    const session = await service.findById(sessionId)
    if (session === null) change(gone())
    return session
  }

  const subscribe = async () => {
    if (unsubscribe !== null || isClosed) return
    const stop = await service.subscribe(
      sessionId,
      ({ type }) => {
        if (type === 'deleted') change(gone())
        else void refresh(type !== 'appended')
      },
      { onError: () => undefined }, // offline from a Worker: the next look tries again
    )
    if (isClosed) stop()
    else unsubscribe = stop
  }

  /** `rereads` what is shown as well: archived or rewound may have changed. */
  const refresh = (rereads: boolean): Promise<void> =>
    enqueue(async () => {
      const session = await find()
      if (session === null) return
      if (state.status !== 'ready') {
        show(session, await read(Math.max(0, session.eventCount - PORTION), PORTION))
        return subscribe()
      }
      const { events } = state
      const last = events.at(-1)?.seq ?? 0
      const kept =
        rereads && events.length > 0 ? await read((events[0]?.seq ?? 1) - 1, events.length) : events
      const wasAtEnd = state.after === 0
      const news = wasAtEnd ? await read(last, Math.max(0, session.eventCount - last)) : []
      const all = [...kept, ...news.filter(({ seq }) => seq > (kept.at(-1)?.seq ?? 0))]
      show(session, all.length > WINDOW ? all.slice(-WINDOW) : all)
    })

  return {
    getState: () => state,
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    open: (seq) =>
      enqueue(async () => {
        const session = await find()
        if (session === null) return
        const after =
          seq === undefined || seq > session.eventCount - PORTION / 2
            ? session.eventCount - PORTION
            : seq - PORTION / 2
        show(session, await read(Math.max(0, after), PORTION))
        await subscribe()
      }),
    loadEarlier: () =>
      enqueue(async () => {
        const { session, events, before } = state
        if (session === null || before === 0) return
        const after = Math.max(0, before - PORTION)
        const earlier = await read(after, before - after)
        show(session, [...earlier, ...events].slice(0, WINDOW))
      }),
    loadLater: () =>
      enqueue(async () => {
        const { session, events, after } = state
        if (session === null || after === 0) return
        const later = await read(events.at(-1)?.seq ?? 0, PORTION)
        show(session, [...events, ...later].slice(-WINDOW))
      }),
    refresh: () => refresh(true),
    close() {
      isClosed = true
      unsubscribe?.()
      listeners.clear()
    },
  }
}
