/** Recall across sessions: one user's matching events of many logs, as one list by time. */

import { placeOf } from './boundary.ts'
import { EventFilter } from './event-filter.ts'
import { ANSWER_UNITS, type LogSource, parseMessage, unitsOf, visitMatches } from './read-log.ts'
import type { SeqRange } from './seq-ranges.ts'
import type { EventView, RecallAnswer, RecallRequest, SessionRecord } from './session-repository.ts'

type RecalledEvent = RecallAnswer['events'][number]
type RecalledDamage = RecallAnswer['damage'][number]

/** A match on its way into the answer. */
interface Hit {
  readonly session: SessionRecord
  readonly seq: number
  readonly timestamp: number
  /** Read again for the answer when it is not kept. */
  readonly event: EventView | null
}

/** How many events are read at a time: they may be of 8 MiB each. */
const HITS_AT_A_TIME = 4

/** Collects the matches of a recall in any order, and gives the page that was asked for. */
export class RecallCollector {
  readonly filter: EventFilter
  readonly damage: RecalledDamage[] = []
  readonly #request: RecallRequest
  readonly #open: (session: SessionRecord) => LogSource
  #hits: Hit[] = []
  #keptUnits = 0

  constructor(request: RecallRequest, open: (session: SessionRecord) => LogSource) {
    this.#request = request
    this.#open = open
    this.filter = EventFilter.fromJSON({
      ...request.filter,
      lastN: null,
      page: null,
      pageSize: null,
    })
  }

  /** Adds an event that matches. */
  add(session: SessionRecord, match: EventView): void {
    const units = unitsOf(match)
    const isKept = this.#keptUnits + units <= ANSWER_UNITS
    if (isKept) this.#keptUnits += units
    this.#push({
      session,
      seq: match.seq,
      timestamp: match.timestamp,
      event: isKept ? match : null,
    })
  }

  /** Adds an event by its place, which is known to match but for being archived or rewound. */
  addPlace(session: SessionRecord, seq: number, timestamp: number): void {
    const { archived, rewound } = placeOf(session.boundary, seq)
    const { excludeArchived, excludeRewound } = this.filter
    if ((excludeArchived && (archived || rewound)) || (excludeRewound && rewound)) return
    this.#push({ session, seq, timestamp, event: null })
  }

  /** Adds what matches of a part of a log; default: all of it. */
  async search(session: SessionRecord, range: SeqRange = [1, session.lastSeq]): Promise<void> {
    const add = (event: EventView) => this.add(session, event)
    const source = this.#open(session)
    const damaged = await visitMatches(source, session, this.filter, add, range)
    for (const item of damaged) this.damage.push({ ...item, sessionId: session.id })
  }

  async finish(): Promise<RecallAnswer> {
    this.#keepWanted()
    const events: RecalledEvent[] = []
    let units = 0
    for await (const { session, found } of this.#readHits()) {
      if (found === null) continue
      units += unitsOf(found)
      if (events.length > 0 && units > ANSWER_UNITS) {
        return { events, damage: this.damage, complete: false }
      }
      events.push({ ...found, sessionId: session.id })
    }
    return { events, damage: this.damage, complete: true }
  }

  /** The events of the page, a few at a time. */
  async *#readHits() {
    for (let start = this.#request.offset; start < this.#hits.length; start += HITS_AT_A_TIME) {
      const hits = this.#hits.slice(start, start + HITS_AT_A_TIME)
      const reading = hits.map(({ session, seq, event }) => event ?? this.#read(session, seq))
      const found = await Promise.all(reading)
      for (const [index, { session }] of hits.entries()) {
        yield { session, found: found[index] ?? null }
      }
    }
  }

  #push(hit: Hit): void {
    this.#hits.push(hit)
    // Bounds memory without sorting at every hit.
    if (this.#hits.length > 2 * this.#wanted + 64) this.#keepWanted()
  }

  get #wanted(): number {
    return this.#request.offset + this.#request.limit
  }

  #keepWanted(): void {
    const sorted = this.#hits.sort(compareHits)
    this.#hits = sorted
      // A store may come by an event twice; it is one match.
      .filter((hit, index) => index === 0 || compareHits(sorted[index - 1] as Hit, hit) !== 0)
      .slice(0, this.#wanted)
    this.#keptUnits = this.#hits.reduce(
      (sum, { event }) => sum + (event === null ? 0 : unitsOf(event)),
      0,
    )
  }

  async #read(session: SessionRecord, seq: number): Promise<EventView | null> {
    const [record] = await this.#open(session).read([[seq, seq]])
    const damaged = (reason: string) => {
      this.damage.push({ seq, reason, sessionId: session.id })
      return null
    }
    if (record === undefined) return damaged('the record is missing')
    if ('reason' in record) return damaged(record.reason)
    const message = parseMessage(record.body)
    if (message === null) return damaged('the message is not readable')
    // What an index says is only believed of an event that says so itself.
    return this.filter.matchesText(message)
      ? { ...record, ...placeOf(session.boundary, seq) }
      : null
  }
}

/** Searches the logs of `sessions`, all of the request's user and unexpired, one by one. */
export async function recallLogs(
  request: RecallRequest,
  sessions: readonly SessionRecord[],
  open: (session: SessionRecord) => LogSource,
): Promise<RecallAnswer> {
  const collector = new RecallCollector(request, open)
  for (const session of sessions) await collector.search(session)
  return collector.finish()
}

/** By timestamp, then session id, then `seq`: a total order that every store shares. */
function compareHits(a: Hit, b: Hit): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp
  // Code units and not localeCompare: the order must not depend on a locale.
  if (a.session.id !== b.session.id) return a.session.id < b.session.id ? -1 : 1
  return a.seq - b.seq
}
