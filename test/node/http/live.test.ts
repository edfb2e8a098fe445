// A subscription over HTTP to a real Worker that is killed and started again: every event once, in order.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHttpSessionService } from 'turnlog/client'
import { expect, test } from 'vitest'
import { startWorker } from '../../../scripts/local-worker.ts'

const entry = 'src/worker/deploy.ts'
const bindings = { DEVELOPMENT_USER: 'ana' }

test('a subscription outlives its server', async () => {
  const storage = await mkdtemp(join(tmpdir(), 'turnlog-live-'))
  let worker = await startWorker({ entry, bindings, storage })
  const port = Number(worker.url.port)
  const options = { baseUrl: worker.url, userId: 'ana', attempts: 100, retryDelay: 50 }
  const writer = createHttpSessionService(options)
  const reader = createHttpSessionService(options)
  try {
    await writer.create({ id: 's' })
    const heard: string[] = []
    let wake: () => void = () => undefined
    const until = async (count: number) => {
      while (heard.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
    // Looks that fail while the server is down are made again; they are not this test's subject.
    const stop = await reader.subscribe(
      's',
      (change) => {
        heard.push(
          ...(change.type === 'appended' ? change.events.map(({ id }) => id) : [change.type]),
        )
        wake()
      },
      { onError: () => undefined },
    )
    const append = async (first: number, last: number) => {
      for (let number = first; number <= last; number++) {
        await writer.appendMessage('s', { role: 'user', content: 'hi' }, { id: `e${number}` })
      }
    }
    await append(1, 10)
    await until(10)
    const writing = append(11, 40)
    await until(15)
    await worker.kill()
    worker = await startWorker({ entry, bindings, storage, port })
    await writing
    await until(40)
    await writer.clearView('s')
    await until(41)
    await append(41, 45)
    await until(46)
    stop()
    expect(heard).toEqual([
      ...Array.from({ length: 40 }, (_, index) => `e${index + 1}`),
      'compacted',
      ...Array.from({ length: 5 }, (_, index) => `e${index + 41}`),
    ])
  } finally {
    await reader.close()
    await writer.close()
    await worker.close()
    await rm(storage, { recursive: true, force: true, maxRetries: 5 })
  }
}, 120_000)

test('who follows and goes away holds nothing up', async () => {
  await using worker = await startWorker({ entry, bindings })
  const client = createHttpSessionService({ baseUrl: worker.url, userId: 'ana' })
  await client.create({ id: 's' })
  const url = new URL('/sessions/s/changes', worker.url)
  for (let index = 0; index < 20; index++) {
    const controller = new AbortController()
    const response = await fetch(url, { signal: controller.signal })
    await response.body?.getReader().read()
    controller.abort()
  }
  expect((await client.appendMessage('s', { role: 'user', content: 'hi' })).seq).toBe(1)
  await client.close()
})
