/** Bodies of requests: read no further than their limit, whatever their headers say. */

import { invalidArgument } from '../core/errors.ts'
import { HttpError } from './problem-response.ts'

/** The largest body with events, in bytes: the largest batch, and what JSON may add around it. */
export const MAX_EVENTS_BODY = 32 << 20
/** The largest other body, in bytes. */
export const MAX_BODY = 2 << 20

/**
 * The JSON value of a body.
 *
 * @throws HttpError `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`; SessionError `INVALID_ARGUMENT`.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  checkMediaType(request, ['application/json'])
  const text = await readText(request, limit)
  try {
    return JSON.parse(text)
  } catch (error) {
    // What the engine says quotes the text; the place is enough.
    const place = /position \d+/.exec(String(error))?.[0]
    throw invalidArgument('body', `is not JSON${place === undefined ? '' : ` (at ${place})`}`)
  }
}

/** The text of a body in UTF-8. */
export async function readText(request: Request, limit: number): Promise<string> {
  const bytes = await readBytes(request, limit)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw invalidArgument('body', 'is not UTF-8')
  }
}

/**
 * Other types are refused, so that a page of another origin cannot send a body without asking first
 * (a form or a `text/plain` body goes out without a preflight).
 */
export function checkMediaType(request: Request, accepted: readonly string[]): void {
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (accepted.includes(type) && isUtf8 && encoding.toLowerCase() === 'identity') return
  throw new HttpError(
    'UNSUPPORTED_MEDIA_TYPE',
    `the body must be ${accepted.join(' or ')} in UTF-8, without a content encoding`,
  )
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const announced = request.headers.get('content-length') ?? ''
  if (/^\d+$/.test(announced) && Number(announced) > limit) throw tooLarge(limit)
  const reader = request.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const pieces: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await readPiece(reader)
    if (done || value === undefined) break
    length += value.length
    if (length > limit) {
      // What is still on its way is of no interest, and neither is how its sender takes that.
      reader.cancel().catch(() => undefined)
      throw tooLarge(limit)
    }
    pieces.push(value)
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const piece of pieces) {
    bytes.set(piece, offset)
    offset += piece.length
  }
  return bytes
}

async function readPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> {
  try {
    return await reader.read()
  } catch {
    throw invalidArgument('body', 'broke off')
  }
}

function tooLarge(limit: number): HttpError {
  return new HttpError('PAYLOAD_TOO_LARGE', `the body is larger than ${limit} bytes`, {
    details: { limit },
  })
}
