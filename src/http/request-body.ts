/** Bodies of requests: read no further than their limit, whatever their headers say. */

import { invalidArgument } from '../core/errors.ts'
import { HttpError } from './problem-response.ts'

/** The largest body with events, in bytes: the largest batch, and what JSON may add around it. */
export const MAX_EVENTS_BODY = 32 << 20
/** The largest other body, in bytes. */
export const MAX_BODY = 2 << 20

/**
 * The most values that a JSON body may hold: the largest batch has 1.9 million. Ten million empty objects
 * fit into 32 MiB, and would take the memory of everybody who shares the Worker.
 */
export const MAX_VALUES = 2_000_000

/**
 * The JSON value of a body.
 *
 * @throws HttpError `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`; SessionError `INVALID_ARGUMENT`.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  checkMediaType(request, ['application/json'])
  const counter = new ValueCounter()
  const text = await readText(request, limit, (piece) => counter.add(piece))
  try {
    return JSON.parse(text)
  } catch (error) {
    // What the engine says quotes the text; the place is enough.
    const place = /position \d+/.exec(String(error))?.[0]
    throw invalidArgument('body', `is not JSON${place === undefined ? '' : ` (at ${place})`}`)
  }
}

/**
 * The text of a body in UTF-8. Decoded as it arrives, so that bytes and text are not both in memory.
 *
 * @param look sees every piece first, and may refuse it.
 */
export async function readText(
  request: Request,
  limit: number,
  look: (piece: Uint8Array) => void = () => undefined,
): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  let text = ''
  await readPieces(request, limit, (piece) => {
    look(piece)
    text += decode(decoder, piece)
  })
  return text + decode(decoder)
}

function decode(decoder: InstanceType<typeof TextDecoder>, piece?: Uint8Array): string {
  try {
    return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true })
  } catch {
    throw invalidArgument('body', 'is not UTF-8')
  }
}

/** Counts the values of a JSON text by what separates them, outside of strings. */
class ValueCounter {
  #count = 0
  #inString = false
  #escaped = false

  /** @throws HttpError `PAYLOAD_TOO_LARGE` */
  add(piece: Uint8Array): void {
    for (const byte of piece) {
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inString = false
      } else if (byte === QUOTE) this.#inString = true
      else if (byte === COMMA || byte === BRACE || byte === BRACKET) this.#count++
    }
    if (this.#count <= MAX_VALUES) return
    throw new HttpError('PAYLOAD_TOO_LARGE', `the body holds more than ${MAX_VALUES} values`, {
      details: { limit: MAX_VALUES },
    })
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const BRACE = 0x7b

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

async function readPieces(
  request: Request,
  limit: number,
  take: (piece: Uint8Array) => void,
): Promise<void> {
  const announced = request.headers.get('content-length') ?? ''
  if (/^\d+$/.test(announced) && Number(announced) > limit) throw tooLarge(limit)
  const reader = request.body?.getReader()
  if (reader === undefined) return
  let length = 0
  try {
    for (;;) {
      const { done, value } = await readPiece(reader)
      if (done || value === undefined) return
      length += value.length
      if (length > limit) throw tooLarge(limit)
      take(value)
    }
  } catch (error) {
    // What is still on its way is of no interest, and neither is how its sender takes that.
    reader.cancel().catch(() => undefined)
    throw error
  }
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
