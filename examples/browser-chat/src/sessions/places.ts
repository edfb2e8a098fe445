/** Where conversations are kept: in this browser, or on the Worker that serves this page. */

import type { ModelMessage } from 'ai'
import type { SessionService } from 'turnlog'
import { createHttpSessionService } from 'turnlog/client'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'

export type Place = 'browser' | 'worker'

/** Where `npm start` mounts the Worker. */
const API = '/api'

/** @param onReset hears that the browser has thrown the conversations away. */
export function openPlace(place: Place, onReset: () => void): SessionService<ModelMessage> {
  if (place === 'worker') {
    return createHttpSessionService({
      baseUrl: location.origin + API,
      timeToLive: null,
      attempts: 3,
    })
  }
  return createIndexedDBSessionService({
    databaseName: 'turnlog-chat',
    defaultUserId: 'me',
    timeToLive: null,
    onReset,
  })
}

/** The user that the Worker knows this browser as; `null` when there is no Worker, or it lets nobody in. */
export async function findWorkerUser(): Promise<string | null> {
  if (!navigator.onLine) return null
  try {
    const response = await fetch(`${API}/user`)
    if (!response.ok || !response.headers.get('content-type')?.includes('json')) return null
    const { userId } = (await response.json()) as { readonly userId?: unknown }
    return typeof userId === 'string' ? userId : null
  } catch {
    return null // offline, or served without the Worker
  }
}
