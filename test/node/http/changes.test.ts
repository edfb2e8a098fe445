// Following a session over HTTP: server-sent events that go on where they stopped, and the client's
// subscriptions over them.
import { type SessionChange, SessionError } from 'turnlog'
import { createHttpSessionService } from 'turnlog/client'
import { createSessionService } from 'turnlog/store'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openEventStream } from '../../../src/http/event-stream.ts'
import { formatStreamEvent, parseStream, type StreamEvent } from '../../../src/wire/event-stream.ts'
import { BASE_URL, type TestApi, testApi, userMessage } from '../../support/session-api.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function apiWithSession(follow: { pollInterval?: number; duration?: number } = {}) {
  const api = testApi({ follow: { pollInterval: 5, ...follow } })
  await api.request('PUT', '/sessions/s', { body: {} })
  const append = async (...ids: readonly string[]) => {
    await api.request('POST', '/sessions/s/events', {
      body: { events: ids.map((id) => userMessage(`text of ${id}`, id)) },
    })
  }
  return { api, append }
}

/** A stream as it is read, event by event. */
async function open(api: TestApi, query = '', headers: Record<string, string> = {}) {
  const response = await api.fetch(`${BASE_URL}/sessions/s/changes${query}`, {
    headers: { authorization: 'Bearer ana', ...headers },
  })
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('there is no stream')
  stops.push(() => reader.cancel())
  const decoder = new TextDecoder()
  async function* texts() {
    for (;;) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) return
      yield decoder.decode(piece.value, { stream: true })
    }
  }
  const events = parseStream(texts())
  return {
    response,
    cancel: () => reader.cancel(),
    async next(): Promise<StreamEvent & { readonly json: Record<string, unknown> }> {
      const { value, done } = await events.next()
      if (done) throw new Error('the stream has ended')
      return { ...value, json: JSON.parse(value.data) }
    },
    async rest(): Promise<StreamEvent[]> {
      const all: StreamEvent[] = []
      for await (const event of events) all.push(event)
      return all
    },
  }
}

/** Reads until a number of events were appended; gives their ids. */
async function appended(stream: Awaited<ReturnType<typeof open>>, count: number) {
  const ids: string[] = []
  while (ids.length < count) {
    const event = await stream.next()
    if (event.event !== 'appended') continue
    const events = event.json['events'] as { id: string; seq: number }[]
    ids.push(...events.map(({ id }) => id))
    expect(event.id).toBe(`${events.at(-1)?.seq}`)
  }
  return ids
}

describe('the stream', () => {
  test('begins with where the session is, and tells what happens in order', async () => {
    const { api, append } = await apiWithSession()
    await append('a')
    const stream = await open(api)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.response.headers.get('cache-control')).toBe('no-store')
    expect(await stream.next()).toMatchObject({
      event: 'ready',
      json: { lastSeq: 1, version: 1, boundaryId: null },
    })
    await append('b', 'c')
    const event = await stream.next()
    expect(event).toMatchObject({
      event: 'appended',
      id: '3',
      json: {
        lastSeq: 3,
        events: [
          { id: 'b', seq: 2, message: { role: 'user', content: 'text of b' }, archived: false },
          { id: 'c', seq: 3, timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
        ],
      },
    })
    await api.serviceOf('ana').rewind('s', { after: 'b' })
    expect(await stream.next()).toMatchObject({ event: 'rewound', id: '3', data: '{}' })
    await api.serviceOf('ana').clearView('s')
    expect(await stream.next()).toMatchObject({ event: 'compacted', id: '3' })
    await api.request('DELETE', '/sessions/s')
    expect(await stream.next()).toMatchObject({ event: 'deleted', id: '3' })
    expect(await stream.rest()).toEqual([])
  })

  test('goes on after a seq, by Last-Event-ID before the query', async () => {
    const { api, append } = await apiWithSession()
    await append('a', 'b', 'c', 'd')
    expect(await appended(await open(api, '?after=2'), 2)).toEqual(['c', 'd'])
    expect(await appended(await open(api, '?after=0'), 4)).toEqual(['a', 'b', 'c', 'd'])
    expect(await appended(await open(api, '?after=0', { 'last-event-id': '3' }), 1)).toEqual(['d'])
    expect(await appended(await open(api, '?after=3', { 'last-event-id': 'x' }), 1)).toEqual(['d'])
  })

  test('resumed again and again while others append, it misses and doubles nothing', async () => {
    const { api, append } = await apiWithSession()
    const ids = Array.from({ length: 60 }, (_, index) => `e${index}`)
    const writing = (async () => {
      for (const id of ids) await append(id)
    })()
    const heard: string[] = []
    let lastId = '0'
    while (heard.length < ids.length) {
      const stream = await open(api, '?after=0', { 'last-event-id': lastId })
      expect((await stream.next()).event).toBe('ready')
      // Broken off after a few events, at another place every time.
      for (let index = 0; index <= heard.length % 3 && heard.length < ids.length; index++) {
        const event = await stream.next()
        heard.push(...(event.json['events'] as { id: string }[]).map(({ id }) => id))
        lastId = event.id ?? lastId
      }
      await stream.cancel()
    }
    await writing
    expect(heard).toEqual(ids)
  })

  test('of a large log comes in pieces, each with its own place', async () => {
    const { api } = await apiWithSession()
    for (let index = 0; index < 12; index++) {
      await api.request('POST', '/sessions/s/events', {
        body: userMessage('x'.repeat(100_000), `e${index}`),
      })
    }
    const stream = await open(api, '?after=0')
    await stream.next()
    const pieces = [
      await stream.next(),
      await stream.next(),
      await stream.next(),
      await stream.next(),
    ]
    expect(pieces.map(({ id }) => id)).toEqual(['3', '6', '9', '12'])
  })

  test('leaves events out for who only wants to know', async () => {
    const { api, append } = await apiWithSession()
    await append('a', 'b')
    const stream = await open(api, '?after=0&events=false')
    await stream.next()
    expect((await stream.next()).data).toBe('{"lastSeq":2}')
  })

  test('ends at its time, so that callers are authenticated again', async () => {
    const { api, append } = await apiWithSession({ duration: 30 })
    const stream = await open(api)
    const ended = stream.rest()
    await append('a')
    expect((await ended).map(({ event }) => event)).toEqual(['ready', 'appended'])
  })

  test('ends when the store fails, so that callers come back', async () => {
    const { api } = await apiWithSession()
    const service = api.serviceOf('ana')
    let fails = false
    const broken = testApi({
      follow: { pollInterval: 5 },
      sessions: () => {
        const repository = {
          ...service.repository,
          findSession: async (...args: Parameters<typeof service.repository.findSession>) => {
            if (fails) throw new SessionError('STORAGE_FAILED', 'the disk is gone')
            return service.repository.findSession(...args)
          },
        }
        return createSessionService(repository, { defaultUserId: 'ana' })
      },
    })
    const stream = await open(broken)
    await stream.next()
    fails = true
    expect(await stream.rest()).toEqual([])
    expect(broken.log.at(-1)).toMatchObject({ level: 'error', code: 'STORAGE_FAILED' })
  })

  test('ends when nobody reads, and gives what waits', async () => {
    const stream = openEventStream(60_000)
    let ended = 0
    stream.onEnd(() => ended++)
    const text = formatStreamEvent({ data: 'x'.repeat(1 << 20) })
    for (let index = 0; index < 20; index++) stream.send(text)
    expect(ended).toBe(1)
    stream.onEnd(() => ended++)
    expect(ended).toBe(2)
    let bytes = 0
    for await (const piece of stream.body) bytes += piece.length
    expect(bytes).toBeGreaterThan(8 << 20)
    expect(bytes).toBeLessThan(12 << 20)
  })

  test('sends a sign of life every five seconds, and stops when its reader has gone', async () => {
    vi.useFakeTimers()
    try {
      const stream = openEventStream(60_000)
      let ended = 0
      stream.onEnd(() => ended++)
      const reader = stream.body.getReader()
      vi.advanceTimersByTime(5000)
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(': still here\n\n')
      await reader.cancel()
      expect(ended).toBe(1)
      expect(vi.getTimerCount()).toBe(0)
      stream.send('nobody hears this')
      stream.end()
      expect(ended).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })

  test('of a session that nobody has is a 404, and HEAD opens none', async () => {
    const { api } = await apiWithSession()
    expect(await api.request('GET', '/sessions/none/changes')).toMatchObject({
      status: 404,
      json: { code: 'SESSION_NOT_FOUND' },
    })
    const head = await api.request('HEAD', '/sessions/s/changes')
    expect([head.status, head.text]).toEqual([200, ''])
  })

  test('is read whatever the pieces are that it arrives in', async () => {
    const events: StreamEvent[] = [
      { id: '1', event: 'appended', data: '{"a":"ü\\n"}' },
      { event: 'ready', data: '{}' },
      { data: 'x' },
    ]
    const whole = `retry: 5\n: comment\n\n${events.map(formatStreamEvent).join('')}id: 9\ndata: cut o`
    for (const text of [whole, whole.replaceAll('\n', '\r\n')]) {
      for (const size of [1, 2, 3, 7, 1000]) {
        const pieces = async function* () {
          for (let index = 0; index < text.length; index += size)
            yield text.slice(index, index + size)
        }
        const read: StreamEvent[] = []
        for await (const event of parseStream(pieces())) read.push(event)
        expect(read).toEqual(events.map(({ id, event, data }) => ({ id, event, data })))
      }
    }
  })
})

describe('the client', () => {
  const clientOf = (api: TestApi, send: typeof fetch = api.fetch) => {
    const client = createHttpSessionService({
      baseUrl: BASE_URL,
      userId: 'ana',
      getToken: () => 'ana',
      fetch: send,
      retryDelay: 1,
    })
    stops.push(() => client.close())
    return client
  }
  /** Collects what a subscription says, and waits for it. */
  const collect = () => {
    const heard: string[] = []
    let wake: () => void = () => undefined
    const listener = (change: SessionChange) => {
      if (change.type === 'appended') heard.push(...change.events.map(({ id }) => id))
      else heard.push(change.type)
      wake()
    }
    const until = async (length: number) => {
      while (heard.length < length) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return heard
    }
    return { listener, until, heard }
  }

  test('hears what others do, in order, and its own changes', async () => {
    const { api, append } = await apiWithSession()
    const client = clientOf(api)
    const { listener, until } = collect()
    stops.push(await client.subscribe('s', listener))
    await append('a', 'b')
    expect(await until(2)).toEqual(['a', 'b'])
    await client.appendMessage('s', { role: 'user', content: 'own' }, { id: 'c' })
    await until(3)
    await api.serviceOf('ana').clearView('s')
    await until(4)
    await append('d')
    await until(5)
    await api.request('DELETE', '/sessions/s')
    expect(await until(6)).toEqual(['a', 'b', 'c', 'compacted', 'd', 'deleted'])
  })

  test('hears without a stream too, by looking', async () => {
    const { api, append } = await apiWithSession()
    const client = clientOf(api, async (input, init) =>
      String(input).includes('/changes')
        ? Promise.reject(new TypeError('something in between allows no streams'))
        : api.fetch(input, init),
    )
    const { listener, until } = collect()
    stops.push(await client.subscribe('s', listener, { afterSeq: 0 }))
    await append('a')
    expect(await until(1)).toEqual(['a'])
    await append('b')
    expect(await until(2)).toEqual(['a', 'b'])
  })

  test('lets go of its stream when it stops or closes', async () => {
    const { api } = await apiWithSession()
    const signals: AbortSignal[] = []
    const client = clientOf(api, async (input, init) => {
      if (String(input).includes('/changes') && init?.signal) signals.push(init.signal)
      return api.fetch(input, init)
    })
    const first = await client.subscribe('s', () => undefined)
    await client.subscribe('s', () => undefined)
    while (signals.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    first()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    await client.close()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })
})
