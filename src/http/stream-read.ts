/** A large log as lines of JSON (NDJSON), portion by portion as they are taken. */

import type { EventFilter } from '../core/event-filter.ts'
import type { ReadAnswer } from '../core/session-repository.ts'
import { toWireEvent, type WireLine } from '../wire/event.ts'
import { toProblem } from './problem-response.ts'
import type { RouteRequest } from './route.ts'

/** Lines are sent in pieces of about this many UTF-16 units. */
const CHUNK_UNITS = 1 << 17

/**
 * An answer whose lines are `{"event":…}` and `{"damage":…}`, and at last `{"end":…}`. A failure on the
 * way is the last line, `{"error":…}`. What was read is all that is in memory.
 */
export function streamRead(
  request: RouteRequest,
  sessionId: string,
  filter: EventFilter,
  first: ReadAnswer,
): Response {
  const lines = readLines(request, sessionId, filter, first)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await lines.return()
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } })
}

async function* readLines(
  { repository, now, requestId, report }: RouteRequest,
  sessionId: string,
  filter: EventFilter,
  first: ReadAnswer,
): AsyncGenerator<string, void> {
  const { lastSeq } = first.session
  let events = 0
  try {
    for (let answer = first; ; ) {
      let lines = ''
      for (const event of answer.events) {
        const wire = toWireEvent(event)
        if (wire !== null) events++
        lines += line(
          wire === null
            ? { damage: { seq: event.seq, reason: 'the message is not readable' } }
            : { event: wire },
        )
        if (lines.length < CHUNK_UNITS) continue
        yield lines
        lines = ''
      }
      for (const damage of answer.damage) lines += line({ damage })
      if (lines !== '') yield lines
      if (answer.next === null) break
      const request = { now: now(), filter: filter.toJSON(), cursor: answer.next }
      answer = await repository.readEvents(sessionId, request)
    }
    yield line({ end: { events, lastSeq } })
  } catch (error) {
    report(error)
    const { code, detail } = toProblem(error, requestId)
    yield line({ error: { code, detail } })
  }
}

function line(value: WireLine): string {
  return `${JSON.stringify(value)}\n`
}
