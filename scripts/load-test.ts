// Many clients append to the deployable Worker in a local workerd, which is killed (SIGKILL) in the
// middle and started again on the same storage. Afterwards every acknowledged event must be there
// exactly once, in an order that respects each client's own. Prints the counts.
//
//   npm run load            50 users × 200 events, 20 clients × 100 events on one session, 3 kills
//   npm run load -- --small the form that the tests run
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sign } from 'hono/jwt'
import { createHttpSessionService } from '../src/client/index.ts'
import type { SessionService } from '../src/index.ts'
import { type LocalWorker, startWorker } from './local-worker.ts'

export interface LoadOptions {
  /** Users with a session and a client of their own. */
  readonly users: number
  readonly eventsPerUser: number
  /** Clients that append to one session. */
  readonly sharers: number
  readonly eventsPerSharer: number
  /** How often workerd is killed and started again. */
  readonly kills: number
}

export const fullLoad: LoadOptions = {
  users: 50,
  eventsPerUser: 200,
  sharers: 20,
  eventsPerSharer: 100,
  kills: 3,
}
export const smallLoad: LoadOptions = {
  users: 10,
  eventsPerUser: 30,
  sharers: 8,
  eventsPerSharer: 20,
  kills: 2,
}

export interface LoadReport {
  readonly appends: number
  readonly acknowledged: number
  readonly stored: number
  /** Requests that had to be made again. */
  readonly repeated: number
  readonly kills: number
  readonly milliseconds: number
  /** What is wrong; nothing, when all is well. */
  readonly faults: readonly string[]
}

const secret = 'the load test signs its own tokens with this'

/** One client, what it sent in its order, and what it was told. */
interface Client {
  readonly name: string
  readonly userId: string
  readonly sessionId: string
  readonly count: number
  readonly acknowledged: Map<string, number>
}

export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const storage = await mkdtemp(join(tmpdir(), 'turnlog-load-'))
  const start = performance.now()
  let worker: LocalWorker | undefined
  try {
    worker = await launch(storage)
    const { url } = worker
    let requests = 0
    const counting: typeof fetch = (input, init) => {
      if (init?.method !== 'GET') requests++
      return fetch(input, init)
    }
    const clients = listClients(options)
    const total = clients.reduce((sum, { count }) => sum + count, 0)
    const acknowledged = () => clients.reduce((sum, client) => sum + client.acknowledged.size, 0)

    const sessions = new Map<string, SessionService>()
    for (const { userId, sessionId } of clients) {
      if (sessions.has(userId)) continue
      const service = await connect(url, userId, counting)
      await service.create({ id: sessionId, timeToLive: null })
      sessions.set(userId, service)
    }
    requests = 0

    const running = Promise.all(
      clients.map(async (client) => append(await connect(url, client.userId, counting), client)),
    )
    for (let kill = 1; kill <= options.kills; kill++) {
      const threshold = (total * kill) / (options.kills + 1)
      while (acknowledged() < threshold) await pause(5)
      await worker.kill()
      worker = await launch(storage, Number(url.port))
    }
    await running

    const faults: string[] = []
    let stored = 0
    for (const [userId, service] of sessions) {
      const own = clients.filter((client) => client.userId === userId)
      const events = await service.getEvents(own[0]?.sessionId ?? '')
      stored += events.length
      faults.push(...check(own, events))
    }
    return {
      appends: total,
      acknowledged: acknowledged(),
      stored,
      repeated: requests - total,
      kills: options.kills,
      milliseconds: Math.round(performance.now() - start),
      faults,
    }
  } finally {
    await worker?.close()
    await rm(storage, { recursive: true, force: true, maxRetries: 5 })
  }
}

function launch(storage: string, port?: number): Promise<LocalWorker> {
  return startWorker({
    entry: 'src/worker/deploy.ts',
    storage,
    bindings: { JWT_SECRET: secret },
    ...(port === undefined ? {} : { port }),
  })
}

async function connect(url: URL, userId: string, send: typeof fetch): Promise<SessionService> {
  const exp = Math.floor(Date.now() / 1000) + 3600
  const token = await sign({ sub: userId, exp }, secret)
  return createHttpSessionService({
    baseUrl: url,
    userId,
    getToken: () => token,
    fetch: send,
    // A restart takes seconds on a busy machine.
    attempts: 200,
    retryDelay: 50,
    timeout: 20_000,
  })
}

function listClients(options: LoadOptions): readonly Client[] {
  const make = (name: string, userId: string, count: number): Client => ({
    name,
    userId,
    sessionId: `of-${userId}`,
    count,
    acknowledged: new Map(),
  })
  return [
    ...Array.from({ length: options.users }, (_, index) =>
      make(`user-${index}`, `user-${index}`, options.eventsPerUser),
    ),
    ...Array.from({ length: options.sharers }, (_, index) =>
      make(`sharer-${index}`, 'shared', options.eventsPerSharer),
    ),
  ]
}

async function append(service: SessionService, client: Client): Promise<void> {
  for (let number = 0; number < client.count; number++) {
    const id = `${client.name}/${number}`
    const event = await service.appendEvent(client.sessionId, {
      id,
      message: { role: 'user', content: `text of ${id}` },
    })
    client.acknowledged.set(id, event.seq)
  }
}

/** What is wrong with the log of one session. */
function check(
  clients: readonly Client[],
  events: readonly { readonly id: string; readonly seq: number; readonly message: object }[],
): readonly string[] {
  const faults: string[] = []
  const seqs = new Map<string, number>()
  for (const [index, { id, seq, message }] of events.entries()) {
    if (seq !== index + 1) faults.push(`seq ${seq} stands at place ${index + 1}`)
    if (seqs.has(id)) faults.push(`${id} is stored twice`)
    if ((message as { content?: unknown }).content !== `text of ${id}`) {
      faults.push(`${id} has another text`)
    }
    seqs.set(id, seq)
  }
  let expected = 0
  for (const { name, count, acknowledged } of clients) {
    expected += count
    let last = 0
    for (let number = 0; number < count; number++) {
      const id = `${name}/${number}`
      const seq = seqs.get(id)
      if (seq === undefined) faults.push(`${id} is missing`)
      else if (seq <= last) faults.push(`${id} stands before an earlier one of its client`)
      else if (seq !== acknowledged.get(id)) faults.push(`${id} has another seq than was said`)
      last = seq ?? last
    }
  }
  if (events.length !== expected) faults.push(`${events.length} events in place of ${expected}`)
  return faults
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

export function describeReport(report: LoadReport): string {
  const { appends, acknowledged, stored, repeated, kills, milliseconds, faults } = report
  return (
    `${appends} appends, ${acknowledged} acknowledged, ${stored} stored, ${repeated} requests repeated, ` +
    `${kills} kills, ${(milliseconds / 1000).toFixed(1)} s: ${faults.length} faults`
  )
}

if (import.meta.main) {
  const report = await runLoad(process.argv.includes('--small') ? smallLoad : fullLoad)
  console.log(`load: ${describeReport(report)}`)
  for (const fault of report.faults.slice(0, 20)) console.log(`load: ${fault}`)
  process.exit(report.faults.length === 0 ? 0 : 1)
}
