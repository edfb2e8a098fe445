// The page, and the worker, of test/node/e2e-indexeddb.test.ts.

import { isSessionError } from 'turnlog'
import {
  createIndexedDBRepository,
  createIndexedDBSessionService,
  requestPersistence,
  storageStatus,
} from 'turnlog/indexeddb'

const damage: number[] = []
let resets = 0

const service = createIndexedDBSessionService({
  defaultUserId: 'me',
  timeToLive: null,
  onDamage: ({ seq }) => damage.push(seq),
  onReset: () => {
    resets++
  },
})

/** Set by Playwright. */
declare const acknowledge: (id: string) => void

async function appendMany(prefix: string, count: number): Promise<void> {
  await service.findOrCreate({ id: 'a' })
  for (let number = 1; number <= count; number++) {
    await service.appendEvent('a', {
      id: `${prefix}${number}`,
      message: { role: 'user', content: `${prefix} ${number}` },
    })
  }
}

function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    text += String.fromCharCode(
      ...crypto.getRandomValues(new Uint8Array(4096)).map((byte) => 32 + (byte % 64)),
    )
  }
  return text.slice(0, length)
}

const page = {
  appendMany,

  /** Appends until the page is killed, and tells of each append that has resolved. */
  async appendForEver(): Promise<void> {
    await service.findOrCreate({ id: 'a' })
    for (let number = 1; ; number++) {
      const { id } = await service.appendMessage('a', { role: 'user', content: `${number}` })
      acknowledge(id)
    }
  },

  /** Appends a text that cannot be compressed. */
  async append(id: string, length: number): Promise<string> {
    await service.findOrCreate({ id: 'a' })
    try {
      await service.appendEvent('a', { id, message: { role: 'user', content: randomText(length) } })
      return 'stored'
    } catch (error) {
      return isSessionError(error) ? error.code : String(error)
    }
  },

  async read(): Promise<{ ids: string[]; seqs: number[]; lengths: number[] } | string> {
    try {
      const events = await service.getEvents('a')
      return {
        ids: events.map(({ id }) => id),
        seqs: events.map(({ seq }) => seq),
        lengths: events.map(({ message }) => message.content.length),
      }
    } catch (error) {
      return isSessionError(error) ? error.code : String(error)
    }
  },

  async watchForOne(): Promise<string> {
    const repository = createIndexedDBRepository()
    const heard = await new Promise<string>((resolve) => repository.watch(resolve))
    await repository.close()
    return heard
  },

  report: () => ({ damage, resets }),
  requestPersistence,
  storageStatus,

  /** The same module as a worker of this page. */
  startWorker(): Worker {
    return new Worker('/entry.js', { type: 'module' })
  },

  async appendInWorker(prefix: string, count: number): Promise<void> {
    const worker = page.startWorker()
    await new Promise<void>((resolve, reject) => {
      worker.onmessage = () => resolve()
      worker.onerror = (event) => reject(new Error(event.message))
      worker.postMessage({ prefix, count })
    })
    worker.terminate()
  },
}

Object.assign(globalThis, page)

if (typeof document === 'undefined') {
  globalThis.addEventListener('message', ({ data }: MessageEvent) => {
    const { prefix, count } = data as { prefix: string; count: number }
    void appendMany(prefix, count).then(() => globalThis.postMessage('done'))
  })
}
