/** Recall across sessions: one user's matching events of many logs, as one list by time. */

import { EventFilter } from './event-filter.ts'
import { ANSWER_UNITS, type LogSource, unitsOf, visitMatches } from './read-log.ts'
import type { EventView, RecallAnswer, RecallRequest, SessionRecord } from './session-repository.ts'

type RecalledEvent = RecallAnswer['events'][number]

/** A match on its way into the answer. */
interface Hit {
  readonly event: RecalledEvent
  readonly session: SessionRecord
  /** Whether `event` has its body; without it, it is read again for the answer. */
  readonly hasBody: boolean
}

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
  let hits: Hit[] = []
  let keptUnits = 0
  const keepWanted = () => {
    hits = hits.sort((a, b) => compareRecalled(a.event, b.event)).slice(0, wanted)
    keptUnits = hits.reduce((sum, { event }) => sum + unitsOf(event), 0)
  }
  for (const session of sessions) {
    const visit = (match: EventView) => {
      const hasBody = keptUnits + unitsOf(match) <= ANSWER_UNITS
      const event = { ...match, ...(hasBody ? {} : { body: '' }), sessionId: session.id }
      keptUnits += unitsOf(event)
      hits.push({ event, session, hasBody })
      // Bounds memory without sorting at every hit.
      if (hits.length > 2 * wanted + 64) keepWanted()
    }
    const damaged = await visitMatches(open(session), session, filter, visit)
    damage.push(...damaged.map((item) => ({ ...item, sessionId: session.id })))
  }
  keepWanted()
  const events: RecalledEvent[] = []
  let units = 0
  let complete = true
  for (const hit of hits.slice(request.offset)) {
    const body = hit.hasBody ? hit.event.body : await readBody(open(hit.session), hit.event.seq)
    const event = { ...hit.event, body: body ?? '' }
    units += unitsOf(event)
    if (events.length > 0 && units > ANSWER_UNITS) {
      complete = false
      break
    }
    events.push(event)
  }
  return { events, damage, complete }
}

async function readBody(source: LogSource, seq: number): Promise<string | null> {
  const [record] = await source.read([[seq, seq]])
  return record === undefined || 'reason' in record ? null : record.body
}

/** By timestamp, then session id, then `seq`: a total order that every store shares. */
export function compareRecalled(a: RecalledEvent, b: RecalledEvent): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp
  // Code units and not localeCompare: the order must not depend on a locale.
  if (a.sessionId !== b.sessionId) return a.sessionId < b.sessionId ? -1 : 1
  return a.seq - b.seq
}
