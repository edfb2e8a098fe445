/** Hints that a session changed: from its live stream, and by the clock while there is none. */

import { parseStream } from '../wire/event-stream.ts'
import type { Connection } from './connection.ts'

/** Milliseconds between hints by the clock, while no stream says that nothing has happened. */
const INTERVAL = 1000
/** Milliseconds before a stream that broke is opened again; doubled after each failure up to 30 s. */
const RECONNECT = 1000
const MAX_RECONNECT = 30_000
/** Milliseconds without a sign of life (the server gives one every 5 s) after which a stream is dead. */
const SILENCE = 20_000

/** Calls `hint` whenever something may have changed; gives the way to stop. */
export function followChanges(connection: Connection, path: string, hint: () => void): () => void {
  const stopping = new AbortController()
  let isLive = false
  const clock = setInterval(() => {
    if (!isLive) hint()
  }, INTERVAL)
  const stop = () => {
    clearInterval(clock)
    stopping.abort()
  }

  const readOnce = async (): Promise<void> => {
    const silent = new AbortController()
    const end = () => silent.abort()
    let timer = setTimeout(end, SILENCE)
    stopping.signal.addEventListener('abort', end)
    try {
      const response = await connection.open(
        { method: 'GET', path: `${path}?events=false`, headers: { accept: 'text/event-stream' } },
        silent.signal,
      )
      if (!response.ok || response.body === null) {
        await response.body?.cancel()
        return
      }
      const alive = () => {
        clearTimeout(timer)
        timer = setTimeout(end, SILENCE)
      }
      for await (const _ of parseStream(textOf(response.body, alive))) {
        isLive = true
        hint()
      }
    } finally {
      isLive = false
      clearTimeout(timer)
      stopping.signal.removeEventListener('abort', end)
    }
  }

  const run = async (): Promise<void> => {
    let delay = RECONNECT
    while (!stopping.signal.aborted) {
      const start = Date.now()
      try {
        await readOnce()
      } catch {
        // The clock hints on, and a call that is made then says what is wrong.
      }
      // One that lived has ended as the server wanted; one that failed at once will fail again.
      delay = Date.now() - start > MAX_RECONNECT ? RECONNECT : Math.min(delay * 2, MAX_RECONNECT)
      await pause(delay, stopping.signal)
    }
  }
  void run()
  return stop
}

async function* textOf(
  body: ReadableStream<Uint8Array>,
  alive: () => void,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      alive()
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    // Also when the reader of these texts stops early: the connection must not stay open.
    reader.cancel().catch(() => undefined)
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
