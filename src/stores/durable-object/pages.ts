/** Answers of bounded size, put together again on the side that has the memory. */

import { listTime } from '../../core/session-record.ts'
import type { Boundary, ListRequest, SessionRecord } from '../../core/session-repository.ts'
import type { BoundaryPlace } from './boundary-rows.ts'

/** Some sessions of a list. */
export interface SessionPage {
  readonly sessions: readonly SessionRecord[]
  /** `false` when the answer was full before the limit was reached. */
  readonly complete: boolean
}

/** Some boundaries of a session. */
export interface BoundaryPage {
  readonly boundaries: readonly Boundary[]
  /** Where to go on; `null` at the end. */
  readonly next: BoundaryPlace | null
}

type Reader<Place, Page> = (place: Place) => Page | Promise<Page>

/** The whole list that a request asks for. */
export async function readSessionPages(
  request: ListRequest,
  read: Reader<ListRequest, SessionPage>,
): Promise<readonly SessionRecord[]> {
  let page = await read(request)
  const sessions = [...page.sessions]
  while (!page.complete) {
    const last = sessions.at(-1) as SessionRecord
    page = await read({
      ...request,
      limit: request.limit - sessions.length,
      after: { time: listTime(last, request.order), number: last.number },
    })
    for (const session of page.sessions) sessions.push(session)
  }
  return sessions
}

/** All boundaries of a session. */
export async function readBoundaryPages(
  read: Reader<BoundaryPlace | undefined, BoundaryPage>,
): Promise<readonly Boundary[]> {
  let page = await read(undefined)
  const boundaries = [...page.boundaries]
  while (page.next !== null) {
    page = await read(page.next)
    for (const boundary of page.boundaries) boundaries.push(boundary)
  }
  return boundaries
}
