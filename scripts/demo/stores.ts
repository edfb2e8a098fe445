// The three stores of the demo, each in the runtime it is made for, behind the same operations.
import { createRequire } from 'node:module'
import { createInMemorySessionService } from '../../src/stores/in-memory.ts'
import { openBrowser } from '../browser-page.ts'
import { startWorker } from '../local-worker.ts'
import { createOperations, type SessionOperations } from './session-operations.ts'

export type StoreName = 'memory' | 'indexeddb' | 'worker'

export interface DemoStore extends SessionOperations, AsyncDisposable {
  readonly name: StoreName
  /** For people. */
  readonly title: string
  /** Where it runs. */
  readonly place: string
}

export async function openMemory(): Promise<DemoStore> {
  const sessions = createInMemorySessionService({ defaultUserId: 'me' })
  return {
    ...createOperations(sessions),
    name: 'memory',
    title: 'in memory',
    place: `in Node ${process.versions.node}; the reference that the others are compared with`,
    [Symbol.asyncDispose]: () => sessions.close(),
  }
}

/** A page in a headless browser, with the browser's own IndexedDB. */
export async function openIndexedDB(): Promise<DemoStore> {
  const browser = await openBrowser({ entry: 'scripts/demo/page.ts' })
  const page = await browser.newPage().catch(async (error: unknown) => {
    await browser.close()
    throw error
  })
  const call: Call = (operation, args) =>
    page.evaluate(
      ([name, given]) => (globalThis as unknown as { demo: AnyOperations }).demo[name]?.(...given),
      [operation, args] as const,
    )
  const version = browser.context.browser()?.version() ?? ''
  return {
    ...remoteOperations(call),
    name: 'indexeddb',
    title: 'IndexedDB',
    place: `in a page of Chromium ${version} (${browser.source})`,
    [Symbol.asyncDispose]: browser.close,
  }
}

/** A Worker in a local workerd, with the SQLite of its Durable Object on disk. */
export async function openWorker(): Promise<DemoStore> {
  const worker = await startWorker({ entry: 'scripts/demo/worker.ts' })
  const call: Call = async (operation, args) => {
    const body = JSON.stringify({ operation, args })
    const response = await fetch(worker.url, { method: 'POST', body })
    const { value, error } = (await response.json()) as { value?: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return value
  }
  const { version } = createRequire(import.meta.url)('workerd/package.json') as { version: string }
  return {
    ...remoteOperations(call),
    name: 'worker',
    title: 'Durable Object',
    place: `in workerd ${version}, the runtime of Cloudflare Workers, at ${worker.url.host}`,
    [Symbol.asyncDispose]: worker.close,
  }
}

/** The store, but one message of every portion never arrives: for seeing that the comparison notices. */
export function sabotage(store: DemoStore): DemoStore {
  return {
    ...store,
    append: (sessionId, messages) =>
      store.append(sessionId, messages.toSpliced(messages.length >> 1, 1)),
  }
}

type Call = (operation: keyof SessionOperations, args: readonly unknown[]) => Promise<unknown>
type AnyOperations = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

function remoteOperations(call: Call): SessionOperations {
  const remote = (operation: keyof SessionOperations) => {
    return (...args: readonly unknown[]) => call(operation, args)
  }
  const operations: Record<keyof SessionOperations, (...args: readonly unknown[]) => unknown> = {
    append: remote('append'),
    compact: remote('compact'),
    read: remote('read'),
    search: remote('search'),
  }
  return operations as SessionOperations
}
