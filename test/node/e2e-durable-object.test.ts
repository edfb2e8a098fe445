// The Durable Object store in a workerd of its own, from outside: killed in the middle of writing, and
// run with old and new compatibility dates.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionService } from 'turnlog'
import { expect, test } from 'vitest'
import { startWorker } from '../../scripts/local-worker.ts'

const entry = 'test/workers/worker.ts'

interface Reply {
  readonly value?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly details: unknown }
}

/** Calls a session service in the Worker. */
async function call(url: URL, method: keyof SessionService, ...args: unknown[]): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ userId: 'ana', method, args }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as Reply
}

interface StoredEvent {
  readonly id: string
  readonly seq: number
  readonly message: { readonly content: string }
}

test('killed in the middle of appends: what was acknowledged is there, once and in order', async () => {
  const storage = await mkdtemp(join(tmpdir(), 'turnlog-killed-'))
  try {
    const acknowledged = new Set<string>()
    const sent: string[] = []
    let worker = await startWorker({ entry, storage })
    await call(worker.url, 'create', { id: 's', timeToLive: null })

    /** Appends until the worker is killed; then says what it was not told about. */
    const client = async (name: string, first: number): Promise<string> => {
      for (let number = first; ; number++) {
        const id = `${name}-${number}`
        sent.push(id)
        try {
          const reply = await call(worker.url, 'appendEvent', 's', {
            id,
            message: { role: 'user', content: `from ${id}` },
          })
          if (reply.error !== undefined) return id
          acknowledged.add(id)
        } catch {
          return id // the connection broke: nobody knows whether it was stored
        }
      }
    }
    let unknown: string[] = []
    for (let round = 0; round < 2; round++) {
      const before = acknowledged.size
      const clients = ['a', 'b', 'c', 'd'].map((name) => client(name, round * 1_000_000))
      while (acknowledged.size < before + 100)
        await new Promise((resolve) => setTimeout(resolve, 5))
      await worker.kill()
      unknown = [...unknown, ...(await Promise.all(clients))]
      worker = await startWorker({ entry, storage })
    }
    await using running = worker
    const read = async () => {
      const { value } = await call(running.url, 'getEvents', 's')
      return value as StoredEvent[]
    }
    const ids = (await read()).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect([...acknowledged].filter((id) => !ids.includes(id))).toEqual([])
    expect(ids.filter((id) => !sent.includes(id))).toEqual([])

    // Each client says again what it was not told about.
    for (const id of unknown) {
      await call(running.url, 'appendEvent', 's', {
        id,
        message: { role: 'user', content: `from ${id}` },
      })
    }
    const events = await read()
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.map(({ id }) => id).sort()).toEqual([...new Set(sent)].sort())
    expect(events.every(({ id, message }) => message.content === `from ${id}`)).toBe(true)
    for (const name of ['a', 'b', 'c', 'd']) {
      const own = ids.filter((id) => id.startsWith(`${name}-`))
      const inOrder = own.toSorted((a, b) => Number(a.slice(2)) - Number(b.slice(2)))
      expect(own).toEqual(inOrder)
    }
    console.log(
      `${acknowledged.size} appends acknowledged, two kills, ${events.length} events stored`,
    )
  } finally {
    await rm(storage, { recursive: true, force: true, maxRetries: 5 })
  }
})

test.for(['2024-09-01', undefined])(
  'errors keep code, message and details at compatibility date %s',
  async (compatibilityDate) => {
    await using worker = await startWorker({
      entry,
      ...(compatibilityDate === undefined ? {} : { compatibilityDate }),
    })
    const message = { role: 'user', content: 'hi' }
    expect(await call(worker.url, 'getEvents', 'nowhere')).toEqual({
      error: {
        code: 'SESSION_NOT_FOUND',
        message: 'session "nowhere" does not exist',
        details: { sessionId: 'nowhere' },
      },
    })
    await call(worker.url, 'create', { id: 's' })
    expect(await call(worker.url, 'create', { id: 's' })).toMatchObject({
      error: { code: 'SESSION_EXISTS' },
    })
    expect(
      await call(worker.url, 'appendEvents', 's', [{ message }], { expectedVersion: 3 }),
    ).toMatchObject({
      error: { code: 'VERSION_CONFLICT', details: { sessionId: 's', expected: 3, actual: 0 } },
    })
    const large = { role: 'user', content: 'x'.repeat(9e6) }
    expect(await call(worker.url, 'appendEvent', 's', { message: large })).toMatchObject({
      error: { code: 'EVENT_TOO_LARGE', details: { limit: 8 << 20 } },
    })
    expect(await call(worker.url, 'getEvents', 's', { lastN: 0 })).toMatchObject({
      error: { code: 'INVALID_FILTER', details: { field: 'lastN' } },
    })
    expect(await call(worker.url, 'eraseEvent', 's', 'nothing')).toMatchObject({
      error: { code: 'EVENT_NOT_FOUND' },
    })
    expect(await call(worker.url, 'appendEvent', 's', { message })).toMatchObject({
      value: { seq: 1 },
    })
  },
)
