/** The routes that take a session out as JSON Lines and bring it back. */

import { invalidArgument } from '../core/errors.ts'
import { checkId } from '../core/identifiers.ts'
import { toWireSession } from '../wire/session.ts'
import { HttpError } from './problem-response.ts'
import { queries } from './queries.ts'
import { readQuery } from './query-parameters.ts'
import { checkMediaType, MAX_EVENTS_BODY, readText } from './request-body.ts'
import { json, type Route, type RouteRequest } from './route.ts'
import { sessionIdOf } from './session-routes.ts'

const LINES = 'application/x-ndjson'
/** Lines are sent in pieces of about this many UTF-16 units. */
const CHUNK_UNITS = 1 << 17

export const transferRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/sessions/{sessionId}/export',
    handle: exportSession,
  },
  {
    method: 'POST',
    path: '/import',
    handle: importSession,
  },
]

async function exportSession(request: RouteRequest): Promise<Response> {
  const lines = request.service.exportSession(sessionIdOf(request))[Symbol.asyncIterator]()
  // Fetched before the answer begins, so that an unknown session is a 404.
  let next = await lines.next()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        let text = ''
        while (!next.done && text.length < CHUNK_UNITS) {
          text += next.value
          next = await lines.next()
        }
        if (text !== '') controller.enqueue(encoder.encode(text))
        if (next.done) controller.close()
      } catch (error) {
        // A file without its last line says by itself that it is not whole.
        request.report(error)
        controller.error(error)
      }
    },
    async cancel() {
      await lines.return?.()
    },
  })
  return new Response(body, { headers: { 'content-type': LINES } })
}

async function importSession(request: RouteRequest): Promise<Response> {
  const { raw, service, repository, userId, now } = request
  const { sessionId } = readQuery(raw.url, queries.import)
  const id = sessionId === undefined ? undefined : checkId(sessionId, 'sessionId')
  checkMediaType(raw, [LINES, 'application/jsonl', 'application/ndjson'])
  const text = await readText(raw, MAX_EVENTS_BODY)
  if (text === '') throw invalidArgument('body', 'is empty')
  const session = await service.importSession(text, { sessionId: id, userId })
  const record = await repository.findSession(session.id, { now: now() })
  if (record === null) {
    throw new HttpError('SESSION_NOT_FOUND', `session "${session.id}" was deleted meanwhile`)
  }
  return json({ session: toWireSession(record) }, 201)
}
