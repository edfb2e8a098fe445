/** The events that this instance appended last, so that sealing need not read them again. */

import { unitsOf } from '../../core/read-log.ts'
import type { SeqRange } from '../../core/seq-ranges.ts'
import type { EventRecord } from '../../core/session-repository.ts'

export interface RecentEvents {
  /** How many there are. */
  readonly count: number
  /**
   * Keeps what was appended to a session.
   *
   * @param stamp of the session's record as the commit left it.
   * @param before the one that the commit found: what was kept until then is right as long as that.
   */
  add(session: number, events: readonly EventRecord[], stamp: number, before: number): void
  /** Gives the events of a range of a session; `null` when not all are here, or the stamp is another. */
  of(session: number, stamp: number | undefined): (range: SeqRange) => readonly EventRecord[] | null
  /** Drops what is before these `seq`s of these sessions. */
  dropBefore(firsts: ReadonlyMap<number, number>): void
  /** Drops all of these sessions. */
  drop(sessions: readonly number[]): void
}

/** How much is kept, by the measure of answers: what is dropped is read when it is sealed. */
const MOST_UNITS = 1 << 20

interface Recent {
  stamp: number
  /** Without gaps in `seq`. */
  readonly events: EventRecord[]
}

export function createRecentEvents(): RecentEvents {
  const kept = new Map<number, Recent>()
  let count = 0
  let units = 0

  const counted = (events: readonly EventRecord[], sign: 1 | -1): void => {
    count += sign * events.length
    for (const event of events) units += sign * unitsOf(event)
  }

  const drop = (session: number): void => {
    counted(kept.get(session)?.events ?? [], -1)
    kept.delete(session)
  }

  return {
    get count() {
      return count
    },

    add(session, events, stamp, before) {
      const [first] = events
      if (first === undefined) return
      const known = kept.get(session)
      const follows = known?.stamp === before && known.events.at(-1)?.seq === first.seq - 1
      if (known !== undefined && !follows) drop(session)
      const recent: Recent = known !== undefined && follows ? known : { stamp, events: [] }
      recent.stamp = stamp
      for (const event of events) recent.events.push(event)
      counted(events, 1)
      // Those that were appended to last come last.
      kept.delete(session)
      kept.set(session, recent)
      for (const oldest of kept.keys()) {
        if (units <= MOST_UNITS) break
        drop(oldest)
      }
    },

    of(session, stamp) {
      const known = kept.get(session)
      if (known === undefined || known.stamp !== stamp) return () => null
      const { events } = known
      const [start = 0, end = 0] = [events[0]?.seq, events.at(-1)?.seq]
      return ([first, last]) =>
        first >= start && last <= end ? events.slice(first - start, last - start + 1) : null
    },

    dropBefore(firsts) {
      for (const [session, first] of firsts) {
        const events = kept.get(session)?.events ?? []
        const end = events.findIndex(({ seq }) => seq >= first)
        if (end === -1) drop(session)
        else counted(events.splice(0, end), -1)
      }
    },

    drop(sessions) {
      for (const session of sessions) drop(session)
    },
  }
}
