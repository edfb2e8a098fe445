/** Tells this instance's listeners, other instances and other tabs that a session has changed. */

import type { ChangeListener } from '../../core/session-repository.ts'

export interface ChangeChannel {
  notify(sessionIds: readonly string[]): void
  watch(listener: ChangeListener): () => void
  /** Sends what is still to be sent, then goes silent. */
  close(): void
}

/** A message costs as much as a tenth of an append: a busy instance sends one in so many milliseconds. */
const PAUSE = 20

/** All instances on one database hear each other, where there is a `BroadcastChannel`. */
export function createChangeChannel(databaseName: string): ChangeChannel {
  const listeners = new Set<ChangeListener>()
  const unsent = new Set<string>()
  let closed = false
  let channel: BroadcastChannel | null = null
  let timer: ReturnType<typeof setTimeout> | null = null

  const tellListeners = (sessionIds: Iterable<string>) => {
    for (const sessionId of sessionIds) {
      // In a task of its own: what a listener throws is not an error of the store.
      for (const listener of listeners) queueMicrotask(() => listener(sessionId))
    }
  }

  /** Opened when first needed: creating a store touches nothing. */
  const connect = (): BroadcastChannel | null => {
    if (channel === null && !closed && typeof BroadcastChannel === 'function') {
      channel = new BroadcastChannel(`turnlog:${databaseName}`)
      channel.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (Array.isArray(data)) tellListeners(data.filter((id) => typeof id === 'string'))
      }
      // In Node an open channel would keep the process alive.
      ;(channel as { unref?(): void }).unref?.()
    }
    return channel
  }

  const send = () => {
    timer = null
    if (unsent.size === 0) return
    connect()?.postMessage([...unsent])
    unsent.clear()
    if (!closed) timer = setTimeout(send, PAUSE)
  }

  return {
    notify(sessionIds) {
      if (closed) return
      tellListeners(sessionIds)
      for (const id of sessionIds) unsent.add(id)
      if (timer === null) send()
    },

    watch(listener) {
      connect()
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    close() {
      if (timer !== null) clearTimeout(timer)
      closed = true
      send()
      listeners.clear()
      channel?.close()
      channel = null
    },
  }
}
