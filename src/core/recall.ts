/** Recall across sessions: one user's matching events of many logs, as one list by time. */

import { EventFilter } from './event-filter.ts'
import { ANSWER_UNITS, type LogSource, unitsOf, visitMatches } from './read-log.ts'
import type { EventView, RecallAnswer, RecallRequest, SessionRecord } from './session-repository.ts'

type RecalledEvent = RecallAnswer['events'][number]

/** Searches the logs of `sessions`, all of the request's user and unexpired. */
export async function recallLogs(
  request: RecallRequest,
  sessions: readonly SessionRecord[],
  open: (session: SessionRecord) => LogSource,
): Promise<RecallAnswer> {
  const filter = EventFilter.fromJSON({
    ...request.filter,
    lastN: null,
    page: null,
    pageSize: null,
  })
  const wanted = request.offset + request.limit
  const damage: RecallAnswer['damage'][number][] = []
  let events: RecalledEvent[] = []
  const keepWanted = () => {
    events = events.sort(compareRecalled).slice(0, wanted)
  }
  for (const session of sessions) {
    const visit = (event: EventView) => {
      events.push({ ...event, sessionId: session.id })
      // Bounds memory without sorting at every hit.
      if (events.length > 2 * wanted + 64) keepWanted()
    }
    const damaged = await visitMatches(open(session), session, filter, visit)
    damage.push(...damaged.map((item) => ({ ...item, sessionId: session.id })))
  }
  keepWanted()
  const page = events.slice(request.offset)
  let units = 0
  const fitting = page.findIndex((event, index) => {
    units += unitsOf(event)
    return index > 0 && units > ANSWER_UNITS
  })
  return {
    events: fitting < 0 ? page : page.slice(0, fitting),
    damage,
    complete: fitting < 0,
  }
}

/** By timestamp, then session id, then `seq`: a total order that every store shares. */
export function compareRecalled(a: RecalledEvent, b: RecalledEvent): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp
  // Code units and not localeCompare: the order must not depend on a locale.
  if (a.sessionId !== b.sessionId) return a.sessionId < b.sessionId ? -1 : 1
  return a.seq - b.seq
}
