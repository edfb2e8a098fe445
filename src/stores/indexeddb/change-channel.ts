/** Tells this instance's listeners, other instances and other tabs that a session has changed. */

import type { ChangeListener } from '../../core/session-repository.ts'

export interface ChangeChannel {
  notify(sessionIds: readonly string[]): void
  watch(listener: ChangeListener): () => void
  close(): void
}

/** Everyone with the same database hears each other where there is a `BroadcastChannel`. */
export function createChangeChannel(databaseName: string): ChangeChannel {
  const listeners = new Set<ChangeListener>()
  let closed = false
  let channel: BroadcastChannel | null = null

  const tellOwn = (sessionIds: readonly string[]) => {
    for (const sessionId of sessionIds) {
      // In a task of its own: what a listener throws is not an error of the store.
      for (const listener of listeners) queueMicrotask(() => listener(sessionId))
    }
  }

  /** Opened when first needed: importing and creating a store must touch nothing. */
  const connect = (): BroadcastChannel | null => {
    if (channel === null && !closed && typeof BroadcastChannel === 'function') {
      channel = new BroadcastChannel(`turnlog:${databaseName}`)
      channel.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (Array.isArray(data)) tellOwn(data.filter((id) => typeof id === 'string'))
      }
      // In Node an open channel would keep the process alive.
      ;(channel as { unref?(): void }).unref?.()
    }
    return channel
  }

  return {
    notify(sessionIds) {
      if (sessionIds.length === 0) return
      tellOwn(sessionIds)
      connect()?.postMessage(sessionIds)
    },

    watch(listener) {
      connect()
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    close() {
      closed = true
      listeners.clear()
      channel?.close()
      channel = null
    },
  }
}
