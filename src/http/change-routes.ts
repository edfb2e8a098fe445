/** Following a session live, as server-sent events. */

import { sessionNotFound } from '../core/errors.ts'
import type { SessionChange } from '../core/follow.ts'
import { formatStreamEvent } from '../wire/event-stream.ts'
import { openEventStream } from './event-stream.ts'
import { queries } from './queries.ts'
import { readQuery } from './query-parameters.ts'
import type { Route, RouteRequest } from './route.ts'
import { checkCount, sessionIdOf } from './session-routes.ts'

/** Milliseconds that a caller is to wait before it comes back. */
const RETRY = 1000
/** Events are sent in pieces of about this many UTF-16 units, so that little is sent again after a break. */
const PIECE_UNITS = 1 << 18

export interface ChangeOptions {
  /** Milliseconds between looks at the store. */
  readonly pollInterval: number
  /** Milliseconds after which a stream ends; callers come back, and are authenticated again. */
  readonly duration: number
}

export function changeRoutes(options: ChangeOptions): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/sessions/{sessionId}/changes',
      handle: (request) => followSession(request, options),
    },
  ]
}

async function followSession(request: RouteRequest, options: ChangeOptions): Promise<Response> {
  const { raw, repository, service, now, report } = request
  const sessionId = sessionIdOf(request)
  const given = readQuery(raw.url, queries.changes)
  const after = lastEventId(raw) ?? given.after
  if (after !== undefined) checkCount(after, 'after')
  const session = await repository.findSession(sessionId, { now: now() })
  if (session === null) throw sessionNotFound(sessionId)
  const headers = { 'content-type': 'text/event-stream' }
  if (raw.method === 'HEAD') return new Response(null, { headers })

  const stream = openEventStream(options.duration)
  let seq = after ?? session.lastSeq
  const boundaryId = session.boundary?.id ?? null
  const state = { lastSeq: session.lastSeq, version: session.version, boundaryId }
  stream.send(
    `retry: ${RETRY}\n${formatStreamEvent({ event: 'ready', data: JSON.stringify(state) })}`,
  )
  try {
    const unsubscribe = await service.subscribe(
      sessionId,
      (change) => {
        for (const piece of formatChange(change, seq, given.events !== false)) {
          seq = piece.seq
          stream.send(piece.text)
        }
        if (change.type === 'deleted') stream.end()
      },
      {
        afterSeq: seq,
        pollInterval: options.pollInterval,
        // Who follows comes back and goes on where this stream stopped, instead of waiting for nothing.
        onError: (error) => {
          report(error)
          stream.end()
        },
      },
    )
    stream.onEnd(unsubscribe)
  } catch (error) {
    stream.end()
    throw error
  }
  return new Response(stream.body, { headers })
}

/** A change as the text of one or more events, each with the `seq` that it leads to. */
function* formatChange(
  change: SessionChange,
  before: number,
  withEvents: boolean,
): Generator<{ readonly seq: number; readonly text: string }> {
  if (change.type !== 'appended') {
    yield {
      seq: before,
      text: formatStreamEvent({ id: `${before}`, event: change.type, data: '{}' }),
    }
    return
  }
  let pieces: string[] = []
  let units = 0
  for (const [index, { sessionId, ...event }] of change.events.entries()) {
    if (withEvents) {
      const piece = JSON.stringify(event) // ISO-8601 of its timestamp
      pieces.push(piece)
      units += piece.length
    }
    if (units < PIECE_UNITS && index < change.events.length - 1) continue
    const events = withEvents ? `,"events":[${pieces.join(',')}]` : ''
    const data = `{"lastSeq":${event.seq}${events}}`
    yield {
      seq: event.seq,
      text: formatStreamEvent({ id: `${event.seq}`, event: 'appended', data }),
    }
    pieces = []
    units = 0
  }
}

/** Where an earlier stream stopped; what is no `seq` is ignored, as the standard says of unknown ids. */
function lastEventId(request: Request): number | undefined {
  const id = request.headers.get('last-event-id')
  return id !== null && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}
