// Random and mutated requests: no fault of the server, no hang, and nothing stored that a read fails on.
// FUZZ_SEED and FUZZ_REQUESTS repeat a run or make it longer.
import { describe, expect, test } from 'vitest'
import { startWorker } from '../../../scripts/local-worker.ts'
import { encodeSegment } from '../../../src/wire/ids.ts'
import {
  type FuzzRequest,
  fuzzRequests,
  seededRandom,
  sessionIds,
} from '../../support/fuzz-requests.ts'
import { BASE_URL, testApi } from '../../support/session-api.ts'

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_130)
const inProcess = Number(process.env['FUZZ_REQUESTS'] ?? 20_000)
const overNetwork = Number(process.env['FUZZ_REQUESTS'] ?? 1500)

type Send = (request: FuzzRequest) => Promise<Response>

/** Reads an answer to its end; of a live stream only its beginning. */
async function drain(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text()
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}

/** Fails with the request in the message, so that it can be made again. */
async function withinTime<T>(request: unknown, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer to ${JSON.stringify(request)}`)), 30_000)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The sessions that requests name, so that they meet data although others delete it. */
async function createSessions(send: Send): Promise<void> {
  for (const id of sessionIds) {
    const path = `/sessions/${encodeSegment(id)}`
    const headers = { 'content-type': 'application/json' }
    const response = await send({ method: 'PUT', path, headers, body: '{"timeToLive":null}' })
    expect(response.status).toBeLessThan(300)
    await response.text()
  }
}

async function fuzz(count: number, send: Send): Promise<Map<number, number>> {
  const next = fuzzRequests(seededRandom(seed))
  const statuses = new Map<number, number>()
  for (let index = 0; index < count; index++) {
    if (index % 100 === 0) await createSessions(send)
    const request = next()
    const response = await withinTime(request, send(request))
    const text = await withinTime(request, drain(response))
    const where = `request ${index} of seed ${seed}: ${JSON.stringify(request).slice(0, 2000)}`
    expect(response.status, `${where}\n${text.slice(0, 500)}`).toBeLessThan(500)
    if (response.status >= 400 && request.method !== 'HEAD') {
      expect(JSON.parse(text), where).toMatchObject({ status: response.status })
    }
    expect(response.headers.get('x-injected'), where).toBeNull()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
  }
  return statuses
}

/** Reads everything that is stored in every way. */
async function readAll(get: (path: string) => Promise<Response>): Promise<number> {
  const { sessions } = (await (await get('/sessions?limit=1000')).json()) as {
    sessions: { id: string; eventCount: number; expiresAt: string | null }[]
  }
  let count = 0
  // One that is about to expire may be gone before it is read.
  const lasting = ({ expiresAt }: { expiresAt: string | null }) =>
    expiresAt === null || Date.parse(expiresAt) > Date.now() + 60_000
  for (const { id, eventCount } of sessions.filter(lasting)) {
    const path = `/sessions/${encodeSegment(id)}`
    const read = async (query: string) => {
      const response = await get(path + query)
      expect(response.status, path + query).toBe(200)
      return response
    }
    const log = (await (await read('/events')).json()) as { events: unknown[]; damage: unknown[] }
    expect(log.damage).toEqual([])
    expect(log.events).toHaveLength(eventCount)
    for (const query of ['/view', '/events?keyword=hello', '/events?from=0', '/boundaries', '']) {
      await (await read(query)).text()
    }
    expect((await (await read('/events?format=ndjson')).text()).trimEnd().split('\n')).toHaveLength(
      eventCount + 1,
    )
    expect(await (await read('/export')).text()).toMatch(/\{"type":"end",[^\n]*\}\n$/)
    count += eventCount
  }
  expect((await get('/recall?limit=100000')).status).toBe(200)
  return count
}

const describeStatuses = (statuses: Map<number, number>) =>
  [...statuses]
    .toSorted()
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')

describe('random and mutated requests', () => {
  test(`${inProcess} of them in this process`, async () => {
    const api = testApi({
      crossSessionSearch: true,
      follow: { pollInterval: 1000, duration: 1000 },
    })
    const send: Send = ({ method, path, headers, body }) => {
      const request = new Request(BASE_URL + path, {
        method,
        headers: { authorization: 'Bearer ana', ...headers },
        body,
      })
      return api.fetch(request as never)
    }
    const statuses = await fuzz(inProcess, send)
    const stored = await readAll((path) => send({ method: 'GET', path, headers: {}, body: null }))
    console.log(`seed ${seed}: ${describeStatuses(statuses)}; ${stored} events stored`)
    for (const status of [200, 201, 204, 400, 401, 404, 405, 409, 415]) {
      expect(statuses.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0)
    }
    expect(stored).toBeGreaterThan(50)
    expect(({} as { a?: unknown }).a).toBeUndefined()
  }, 300_000)

  test(`${overNetwork} of them to the Worker that is deployed`, async () => {
    await using worker = await startWorker({
      entry: 'src/worker/deploy.ts',
      bindings: { DEVELOPMENT_USER: 'ana', CROSS_SESSION_SEARCH: 'true' },
    })
    const send: Send = ({ method, path, headers, body }) => {
      // The runtime sets these itself.
      const { host, 'content-length': _, 'x-forwarded-for': __, ...rest } = headers
      return fetch(worker.url.origin + path, { method, headers: rest, body })
    }
    const statuses = await fuzz(overNetwork, send)
    const stored = await readAll((path) => send({ method: 'GET', path, headers: {}, body: null }))
    console.log(`seed ${seed}: ${describeStatuses(statuses)}; ${stored} events stored`)
    expect(stored).toBeGreaterThan(0)
  }, 300_000)
})
