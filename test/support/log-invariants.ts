// What must hold of every log at every moment, however it was compacted and rewound.
import type { SessionEvent, SessionService } from 'turnlog'
import { expect } from 'vitest'

/** Remembers a log, and checks that it only grows and that every event is in exactly one place. */
export class LogWitness {
  readonly #service: SessionService
  readonly #sessionId: string
  #log: readonly SessionEvent[] = []
  #rewound: readonly string[] = []

  constructor(service: SessionService, sessionId: string) {
    this.#service = service
    this.#sessionId = sessionId
  }

  /** Looks at log and view, and gives both. */
  async check(): Promise<{
    readonly log: readonly SessionEvent[]
    readonly view: readonly SessionEvent[]
  }> {
    const log = await this.#service.getEvents(this.#sessionId)
    const view = await this.#service.getEvents(this.#sessionId, { excludeArchived: true })
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
    expect(log.slice(0, this.#log.length).map(withoutPlace)).toEqual(this.#log.map(withoutPlace))
    this.#log = log

    // A rewound event stays so.
    const rewound = log.filter((event) => event.rewound).map(({ id }) => id)
    expect(rewound).toEqual(expect.arrayContaining([...this.#rewound]))
    this.#rewound = rewound

    const visible = log.filter((event) => !event.archived && !event.rewound)
    expect(view.map(({ id }) => id).sort()).toEqual(visible.map(({ id }) => id).sort())
    expect(log.filter((event) => event.archived && event.rewound)).toEqual([])
    expect(view.every((event) => !event.archived && !event.rewound)).toBe(true)

    // Summaries come first, the rest by `seq`.
    const seqs = view.filter((event) => !event.synthetic).map(({ seq }) => seq)
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    const firstReal = view.findIndex((event) => !event.synthetic)
    if (firstReal >= 0) expect(view.slice(firstReal).some((event) => event.synthetic)).toBe(false)
    return { log, view }
  }
}

/** An event without what is derived from the boundary: what may never change. */
export function withoutPlace({ archived, rewound, ...event }: SessionEvent): object {
  return event
}
