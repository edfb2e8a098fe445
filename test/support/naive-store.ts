// A store that is right because it is simple: what random operations are checked against. It keeps
// everything in plain lists, computes every answer from scratch, and shares no code with the product
// but EventFilter, which is the definition of what a filter gives.
import { EventFilter, type EventFilterOptions, type MessageType } from 'turnlog'

export interface NaiveEvent {
  readonly id: string
  readonly seq: number
  readonly timestamp: number
  readonly role: MessageType
  readonly branch: string | null
  readonly synthetic: boolean
  text: string
  erased: boolean
}

export type NewNaiveEvent = Omit<NaiveEvent, 'seq' | 'erased'>

interface NaiveBoundary {
  readonly id: string
  readonly position: number
  readonly summaries: readonly number[]
  readonly kept: ReadonlySet<number>
  readonly rewound: ReadonlySet<number>
}

export interface NaiveSession {
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  readonly number: number
  expiresAt: number | null
  sliding: number | null
  metadata: Readonly<Record<string, unknown>>
  version: number
  readonly events: NaiveEvent[]
  readonly boundaries: NaiveBoundary[]
}

/** An event as a read gives it. */
export interface NaiveView {
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly timestamp: Date
  readonly message: { readonly role: MessageType; readonly content: string }
  readonly branch: string | null
  readonly synthetic: boolean
  readonly archived: boolean
  readonly rewound: boolean
  readonly erased: boolean
}

/** What an operation fails with. */
export class NaiveFailure extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export interface NaiveCommit {
  readonly events: readonly NewNaiveEvent[]
  readonly boundary?:
    | {
        readonly summaries: readonly string[]
        readonly kept: ReadonlySet<number>
        readonly through: number
        readonly rewound: ReadonlySet<number>
      }
    | undefined
  readonly operationId?: string | undefined
  readonly expectedVersion?: number | undefined
  readonly expectedBoundary?: string | null | undefined
}

export class NaiveStore {
  now: number
  sessions: NaiveSession[] = []
  #created = 0

  constructor(now: number) {
    this.now = now
  }

  find(id: string): NaiveSession | null {
    return this.sessions.find((session) => session.id === id && !this.#isExpired(session)) ?? null
  }

  get(id: string): NaiveSession {
    const session = this.find(id)
    if (session === null) throw new NaiveFailure('SESSION_NOT_FOUND')
    return session
  }

  #isExpired({ expiresAt }: NaiveSession): boolean {
    return expiresAt !== null && expiresAt <= this.now
  }

  create(input: {
    readonly id: string
    readonly userId: string
    readonly lifetime: number | null
    readonly sliding: boolean
    readonly metadata: Readonly<Record<string, unknown>>
  }): NaiveSession {
    if (this.find(input.id) !== null) throw new NaiveFailure('SESSION_EXISTS')
    this.sessions = this.sessions.filter(({ id }) => id !== input.id)
    const session: NaiveSession = {
      id: input.id,
      userId: input.userId,
      createdAt: this.now,
      number: ++this.#created,
      expiresAt: input.lifetime === null ? null : this.now + input.lifetime,
      sliding: input.sliding ? input.lifetime : null,
      metadata: input.metadata,
      version: 0,
      events: [],
      boundaries: [],
    }
    this.sessions.push(session)
    return session
  }

  update(
    id: string,
    change: {
      readonly metadata?: Readonly<Record<string, unknown>> | undefined
      readonly expiresAt?: number | null | undefined
    },
  ): NaiveSession {
    const session = this.get(id)
    if (change.expiresAt !== undefined) {
      session.expiresAt = change.expiresAt
      session.sliding = null
    }
    const merged = { ...session.metadata, ...change.metadata }
    session.metadata = Object.fromEntries(
      Object.entries(merged).filter(([, value]) => value !== null),
    )
    return session
  }

  /** Removes what `isGone` says; how many that were. */
  remove(isGone: (session: NaiveSession) => boolean): number {
    const before = this.sessions.length
    this.sessions = this.sessions.filter((session) => !isGone(session))
    return before - this.sessions.length
  }

  list(userId: string, order: 'recent' | 'created'): readonly NaiveSession[] {
    const time = (session: NaiveSession) =>
      order === 'created'
        ? session.createdAt
        : (session.events.at(-1)?.timestamp ?? session.createdAt)
    const oldestFirst = this.sessions
      .filter((session) => session.userId === userId && !this.#isExpired(session))
      .sort((a, b) => time(a) - time(b) || a.number - b.number)
    return order === 'created' ? oldestFirst : oldestFirst.reverse()
  }

  /** Gives the seq of every event of the commit; of those that it left out, `null`. */
  commit(id: string, commit: NaiveCommit): readonly (number | null)[] {
    const session = this.get(id)
    const seqOf = (eventId: string) =>
      session.events.find((event) => event.id === eventId)?.seq ?? null
    const isRepeated = session.boundaries.some(
      (boundary) => boundary.id === commit.operationId && commit.operationId !== undefined,
    )
    const isNew = (event: NewNaiveEvent, index: number) =>
      seqOf(event.id) === null &&
      commit.events.findIndex((other) => other.id === event.id) === index
    const added = isRepeated ? [] : commit.events.filter(isNew)
    const hasBoundary = commit.boundary !== undefined && !isRepeated
    if (added.length > 0 || hasBoundary) this.#write(session, commit, added, hasBoundary)
    return commit.events.map((event) => seqOf(event.id))
  }

  #write(
    session: NaiveSession,
    commit: NaiveCommit,
    added: readonly NewNaiveEvent[],
    hasBoundary: boolean,
  ): void {
    const current = session.boundaries.at(-1)
    if (commit.expectedVersion !== undefined && commit.expectedVersion !== session.version) {
      throw new NaiveFailure('VERSION_CONFLICT')
    }
    if (
      commit.expectedBoundary !== undefined &&
      commit.expectedBoundary !== (current?.id ?? null)
    ) {
      throw new NaiveFailure('BOUNDARY_CONFLICT')
    }
    const known = [...session.events, ...added]
    const summaries = hasBoundary ? [...new Set(commit.boundary?.summaries ?? [])] : []
    if (summaries.some((id) => !known.some((event) => event.id === id))) {
      throw new NaiveFailure('EVENT_NOT_FOUND')
    }
    const before = session.events.length
    for (const event of added) {
      session.events.push({ ...event, seq: session.events.length + 1, erased: false })
    }
    session.version += added.filter((event) => !summaries.includes(event.id)).length
    if (session.sliding !== null && added.length > 0) session.expiresAt = this.now + session.sliding
    if (!hasBoundary || commit.boundary === undefined) return
    session.version++
    const { boundary } = commit
    const rewound = new Set([
      ...(current?.rewound ?? []),
      ...[...boundary.rewound].filter((seq) => seq <= before),
    ])
    const summarySeqs = summaries
      .map((id) => session.events.find((event) => event.id === id)?.seq ?? 0)
      .filter((seq) => !rewound.has(seq))
    const through = Math.min(boundary.through, before)
    const stays = (seq: number) => seq > through || boundary.kept.has(seq)
    const kept = session.events
      .map(({ seq }) => seq)
      .filter((seq) => stays(seq) && !rewound.has(seq) && !summarySeqs.includes(seq))
    session.boundaries.push({
      id: commit.operationId ?? `unnamed ${session.boundaries.length}`,
      position: session.events.length,
      summaries: summarySeqs,
      kept: new Set(kept),
      rewound,
    })
  }

  /** The whole log, in seq order. */
  log(id: string): readonly NaiveView[] {
    const session = this.get(id)
    const boundary = session.boundaries.at(-1)
    return session.events.map((event) => {
      const isOut =
        boundary !== undefined &&
        event.seq <= boundary.position &&
        !boundary.kept.has(event.seq) &&
        !boundary.summaries.includes(event.seq)
      const rewound = isOut && boundary.rewound.has(event.seq)
      return {
        id: event.id,
        sessionId: id,
        seq: event.seq,
        timestamp: new Date(event.timestamp),
        message: { role: event.role, content: event.text },
        branch: event.branch,
        synthetic: event.synthetic,
        archived: isOut && !rewound,
        rewound,
        erased: event.erased,
      }
    })
  }

  /** The active view, in view order. */
  view(id: string): readonly NaiveView[] {
    const log = this.log(id)
    const boundary = this.get(id).boundaries.at(-1)
    const summaries = (boundary?.summaries ?? []).flatMap((seq) => log[seq - 1] ?? [])
    const rest = log.filter(
      (event) => !event.archived && !event.rewound && !summaries.includes(event),
    )
    return [...summaries, ...rest]
  }

  read(id: string, options: EventFilterOptions, afterSeq = 0): readonly NaiveView[] {
    const filter = EventFilter.of(options)
    const events = filter.excludeArchived ? this.view(id) : this.log(id)
    return filter.apply(events.filter(({ seq }) => seq > afterSeq))
  }

  recall(userId: string, options: EventFilterOptions): readonly NaiveView[] {
    const filter = EventFilter.of({ ...options, page: null, pageSize: null, lastN: null })
    return this.list(userId, 'created')
      .flatMap(({ id }) => filter.apply(this.log(id)))
      .sort(
        (a, b) =>
          Number(a.timestamp) - Number(b.timestamp) ||
          (a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0) ||
          a.seq - b.seq,
      )
  }

  /** The boundary in force when `seq` was appended. */
  boundaryBefore(id: string, seq: number): NaiveBoundary | null {
    return this.get(id).boundaries.findLast(({ position }) => position < seq) ?? null
  }

  erase(id: string, eventId: string): void {
    const event = this.get(id).events.find((other) => other.id === eventId)
    if (event === undefined) throw new NaiveFailure('EVENT_NOT_FOUND')
    event.text = ''
    event.erased = true
  }

  /** Another one that is the same, of which one session may be changed alone. */
  copyFor(sessionId: string): NaiveStore {
    const copy = new NaiveStore(this.now)
    copy.#created = this.#created
    copy.sessions = this.sessions.map((session) =>
      session.id === sessionId
        ? { ...session, events: [...session.events], boundaries: [...session.boundaries] }
        : session,
    )
    return copy
  }
}
