/** An answer of server-sent events that ends by itself: at its time, or when nobody reads it. */

/**
 * Milliseconds between comments. They keep a silent connection open, and show when it is not any more: a
 * Worker learns that its caller has gone only from what it sends.
 */
const HEARTBEAT = 5_000
/** A stream that nobody reads ends when this many bytes wait. */
const MAX_WAITING = 8 << 20

export interface EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Nothing more is sent; what waits still arrives. */
  end(): void
  send(text: string): void
  /** Called once when the stream has ended, by whomever; at once when it has already. */
  onEnd(listener: () => void): void
}

/** @param duration milliseconds after which the stream ends. */
export function openEventStream(duration: number): EventStream {
  const encoder = new TextEncoder()
  const listeners: (() => void)[] = []
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let ended = false
  const stop = () => {
    if (ended) return
    ended = true
    clearInterval(heartbeat)
    clearTimeout(limit)
    for (const listener of listeners) listener()
  }
  const end = () => {
    if (ended) return
    stop()
    controller?.close()
  }
  const send = (text: string) => {
    if (ended) return
    controller?.enqueue(encoder.encode(text))
    if ((controller?.desiredSize ?? 0) < -MAX_WAITING) end()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      cancel: stop,
    },
    { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
  )
  const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT)
  const limit = setTimeout(end, duration)
  return {
    body,
    end,
    send,
    onEnd(listener) {
      if (ended) listener()
      else listeners.push(listener)
    },
  }
}
