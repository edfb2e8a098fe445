/** What runs in workerd: each object answers one POST with its figures. */

import { DurableObject } from 'cloudflare:workers'
import { Lifecycle } from 'agents/lifecycle'
import { Sessions } from 'agents/sessions'
import {
  EventFilter,
  type EventFilterOptions,
  type EventInput,
  foldText,
  type SessionService,
} from 'turnlog'
import { createSessionService } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { SEARCH_SETTINGS } from '../../src/search/sealing.ts'
import { type Metric, metric, PAGE_SIZE } from '../metric.ts'
import { type Corpus, checkAnswer, chooseSearches, textAt } from '../texts.ts'
import { meterContext } from './metered-context.ts'

export interface Settings {
  readonly corpus: Corpus
  readonly size: number
  readonly sessions: number
  readonly appends: number
}

const START = Date.UTC(2026, 0, 1)
const PORTION = 5_000
/** The searches whose rows are promised. */
const SEARCHES = ['common', 'late', 'phrase', 'absent', 'twochars', 'cjk2'] as const

function eventAt(corpus: Corpus, seq: number, size: number): EventInput {
  return {
    id: `e${seq}`,
    timestamp: START + seq * 1000,
    message: { role: seq % 2 === 0 ? 'user' : 'assistant', content: textAt(corpus, seq, size) },
  }
}

export class TurnlogBench extends DurableObject {
  readonly meter = meterContext(this, this.ctx)
  readonly #pending: (() => void)[] = []

  override async fetch(request: Request): Promise<Response> {
    const settings = await request.json<Settings>()
    const metrics = [...(await this.#log(settings)), ...(await this.#cross(settings))]
    return Response.json(metrics)
  }

  /** A new instance, as after an eviction; what it wants to seal waits for `#seal`. */
  #open(): SessionService {
    const repository = createSqlRepository(this.ctx.storage, {
      ...SEARCH_SETTINGS,
      schedule: (seal) => this.#pending.push(seal),
    })
    return createSessionService(repository, { defaultUserId: 'me', timeToLive: null })
  }

  #seal(): void {
    for (let seal = this.#pending.shift(); seal !== undefined; seal = this.#pending.shift()) seal()
  }

  async #log({ corpus, size, appends }: Settings): Promise<Metric[]> {
    const { filters, words } = chooseSearches(corpus)
    const before = this.ctx.storage.sql.databaseSize
    const service = this.#open()
    await service.create({ id: 'log' })
    const fill = async (first: number, last: number) => {
      for (let start = first; start <= last; start += PORTION) {
        const length = Math.min(PORTION, last - start + 1)
        await service.appendEvents(
          'log',
          Array.from({ length }, (_, index) => eventAt(corpus, start + index, size)),
        )
      }
    }
    /** Rows written by an append, on average, sealing included. */
    const append = async (first: number) => {
      const { rowsWritten } = await this.meter.measure(async () => {
        for (let seq = first; seq < first + appends; seq++) {
          await service.appendEvent('log', eventAt(corpus, seq, size))
          this.#seal()
        }
      })
      return rowsWritten / appends
    }
    await fill(1, 100)
    const short = await append(101)
    await fill(101 + appends, size / 2)
    this.#seal()
    const long = await append(size / 2 + 1)
    await fill(size / 2 + appends + 1, size)
    const log = await service.getEvents('log')
    this.#seal()
    const databaseSize = this.ctx.storage.sql.databaseSize - before

    const metrics = [
      metric(
        'do.append.rowsWritten',
        'rows',
        long,
        short,
        `mean of ${appends}, sealing included, at ${size / 2} events; against 100`,
      ),
    ]
    for (const name of SEARCHES) {
      const filter = filters[name] as EventFilterOptions
      const { result, rowsRead } = await this.meter.measure(() =>
        this.#open().getEvents('log', filter),
      )
      checkAnswer(`do.search.${name}`, log, filter, result)
      metrics.push(
        metric(
          `do.search.${name}.rowsRead`,
          'rows',
          Math.max(0, rowsRead - result.length),
          size,
          `besides the page; "${words[name]}", ${result.length} found`,
        ),
      )
    }
    const lastN = await this.meter.measure(() => this.#open().getEvents('log', { lastN: 20 }))
    checkAnswer('do.lastN20', log, { lastN: 20 }, lastN.result)
    metrics.push(metric('do.lastN20.rowsRead', 'rows', lastN.rowsRead, 20))
    await service.compact('log', {
      trigger: () => true,
      strategy: (view) => ({
        summaries: [{ message: { role: 'user', content: 'a summary' } }],
        keep: view.slice(-39).map(({ id }) => id),
      }),
    })
    const active = await this.meter.measure(() =>
      this.#open().getEvents('log', EventFilter.active()),
    )
    const ids = ['a summary', ...log.slice(-39).map(({ id }) => id)]
    const found = active.result.map(({ id, synthetic }) => (synthetic ? 'a summary' : id))
    if (found.join() !== ids.join()) throw new Error(`do.active40 is wrong: ${found.join()}`)
    metrics.push(metric('do.active40.rowsRead', 'rows', active.rowsRead, 40))

    const { sql } = this.ctx.storage
    const bytesOf = (statement: string) => {
      const [row] = sql.exec<{ bytes: number }>(statement).toArray()
      return row?.bytes ?? 0
    }
    const search =
      bytesOf(
        'SELECT sum(octet_length(entries) + octet_length(text)) AS bytes FROM turnlog_blocks',
      ) +
      bytesOf(
        'SELECT sum(octet_length(entries) + octet_length(signatures)) AS bytes FROM turnlog_block_groups',
      )
    metrics.push(
      metric(
        'storage.overhead.worker',
        'bytes',
        databaseSize,
        databaseSize - search,
        'the database with and without blocks and directory',
      ),
    )
    return metrics
  }

  async #cross({ corpus, size, sessions }: Settings): Promise<Metric[]> {
    const service = this.#open()
    await service.delete('log')
    const total = size / 2
    const length = total / sessions
    for (let session = 0; session < sessions; session++) {
      const id = `session-${String(session).padStart(5, '0')}`
      await service.create({ id })
      const events = Array.from({ length }, (_, index) =>
        eventAt(corpus, session * length + index + 1, total),
      )
      await service.appendEvents(id, events)
      this.#seal()
    }
    const { words } = chooseSearches(corpus)
    const metrics: Metric[] = []
    for (const name of ['phrase', 'absent'] as const) {
      const keyword = words[name] ?? ''
      const { result, rowsRead } = await this.meter.measure(() =>
        this.#open().recallEvents({ keyword, page: 0, pageSize: PAGE_SIZE }, { userId: 'me' }),
      )
      const expected = Array.from({ length: total }, (_, index) => index + 1)
        .filter((seq) => foldText(textAt(corpus, seq, total)).includes(keyword))
        .slice(0, PAGE_SIZE)
      if (result.map(({ id }) => id).join() !== expected.map((seq) => `e${seq}`).join()) {
        throw new Error(`do.cross.${name} is wrong`)
      }
      metrics.push(
        metric(
          `do.cross.${name === 'phrase' ? 'rare' : name}.rowsRead`,
          'rows',
          Math.max(0, rowsRead - result.length),
          total,
          `besides the page; ${sessions} sessions, ${result.length} found`,
        ),
      )
    }
    return metrics
  }
}

/** Plain SQL: a table that is scanned with `instr`, and an FTS5 index with trigrams. */
export class SqlBench extends DurableObject {
  readonly meter = meterContext(this, this.ctx)

  override async fetch(request: Request): Promise<Response> {
    const { corpus, size } = await request.json<Settings>()
    const { words } = chooseSearches(corpus)
    const { sql } = this.ctx.storage
    const metrics: Metric[] = []
    sql.exec('CREATE TABLE events (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT)')
    sql.exec(`CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'trigram', detail = 'full')`)
    const insert = async (table: 'events' | 'texts', seq: number) => {
      const text = foldText(textAt(corpus, seq, size))
      if (table === 'events') sql.exec('INSERT INTO events VALUES (?, ?, ?)', seq, `e${seq}`, text)
      else sql.exec('INSERT INTO texts (rowid, text) VALUES (?, ?)', seq, text)
    }
    for (const table of ['events', 'texts'] as const) {
      const before = sql.databaseSize
      this.ctx.storage.transactionSync(() => {
        for (let seq = 1; seq < size; seq++) void insert(table, seq)
      })
      const { rowsWritten } = await this.meter.measure(() => insert(table, size))
      const peer = table === 'events' ? 'sql' : 'fts5'
      metrics.push(metric(`peer.${peer}.append.rowsWritten`, 'rows', rowsWritten, 1))
      metrics.push(metric(`peer.${peer}.size`, 'bytes', sql.databaseSize - before, size))
    }
    for (const name of SEARCHES) {
      const word = words[name] ?? ''
      const scan = await this.meter.measure(async () =>
        sql
          .exec(
            'SELECT seq FROM events WHERE instr(text, ?) > 0 ORDER BY seq LIMIT ?',
            word,
            PAGE_SIZE,
          )
          .toArray(),
      )
      metrics.push(metric(`peer.sql.search.${name}.rowsRead`, 'rows', scan.rowsRead, size))
      const index = await this.meter.measure(async () =>
        sql
          .exec(
            'SELECT rowid AS seq FROM texts WHERE texts MATCH ? ORDER BY rowid LIMIT ?',
            `"${word.replaceAll('"', '""')}"`,
            PAGE_SIZE,
          )
          .toArray(),
      )
      const isRight = index.result.length === scan.result.length
      metrics.push(
        metric(
          `peer.fts5.search.${name}.rowsRead`,
          'rows',
          index.rowsRead,
          size,
          isRight ? '' : `finds ${index.result.length} instead of ${scan.result.length}`,
        ),
      )
    }
    return Response.json(metrics)
  }
}

/** The session memory of Cloudflare's `agents`. */
export class AgentsBench extends DurableObject {
  readonly meter = meterContext(this, this.ctx)
  readonly sessions = new Sessions()
  readonly lifecycle = Lifecycle.install(this as never).use(this.sessions)
  readonly session = this.sessions.session()

  override async fetch(request: Request): Promise<Response> {
    const { corpus, size } = await request.json<Settings>()
    const { words } = chooseSearches(corpus)
    const append = (seq: number) =>
      this.session.appendMessage({
        id: `e${seq}`,
        role: seq % 2 === 0 ? 'user' : 'assistant',
        parts: [{ type: 'text', text: textAt(corpus, seq, size) }],
      })
    for (let seq = 1; seq < size; seq++) await append(seq)
    const plain = await this.meter.measure(() => append(size))
    const metrics = [metric('peer.agents.append.rowsWritten', 'rows', plain.rowsWritten, 1)]
    const first = await this.meter.measure(() => this.session.search('nothing'))
    metrics.push(
      metric(
        'peer.agents.firstSearch.rowsWritten',
        'rows',
        first.rowsWritten,
        size,
        'builds its index',
      ),
    )
    const indexed = await this.meter.measure(() => append(size + 1))
    metrics.push(metric('peer.agents.append.indexed.rowsWritten', 'rows', indexed.rowsWritten, 1))
    for (const name of SEARCHES) {
      const word = words[name] ?? ''
      const { result, rowsRead } = await this.meter.measure(() =>
        this.session.search(word, { limit: PAGE_SIZE }),
      )
      let matching = 0
      for (let seq = 1; seq <= size && matching < PAGE_SIZE; seq++) {
        if (foldText(textAt(corpus, seq, size)).includes(word)) matching++
      }
      const missing = result.length < matching ? `, ${matching - result.length} too few` : ''
      metrics.push(
        metric(
          `peer.agents.search.${name}.rowsRead`,
          'rows',
          rowsRead,
          size,
          `whole words by relevance: ${result.length} found${missing}`,
        ),
      )
    }
    const last = await this.meter.measure(async () => {
      const messages: unknown[] = []
      for await (const message of this.session.history({ newestFirst: true })) {
        messages.push(message)
        if (messages.length === 20) break
      }
      return messages.length
    })
    metrics.push(metric('peer.agents.lastN20.rowsRead', 'rows', last.rowsRead, last.result))
    return Response.json(metrics)
  }
}

interface Bindings {
  readonly TURNLOG: DurableObjectNamespace<TurnlogBench>
  readonly SQL: DurableObjectNamespace<SqlBench>
  readonly AGENTS: DurableObjectNamespace<AgentsBench>
}

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname.slice(1)
    const namespace = { turnlog: env.TURNLOG, sql: env.SQL, agents: env.AGENTS }[path]
    try {
      return (
        (await namespace?.getByName('bench').fetch(request)) ?? new Response('', { status: 404 })
      )
    } catch (error) {
      return new Response(error instanceof Error ? error.stack : String(error), { status: 500 })
    }
  },
} satisfies ExportedHandler<Bindings>
