// Bodies of requests: limits that hold whatever the headers say, media types, and JSON that is none.
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'
import { createSessionApi } from '../../../src/http/index.ts'
import { createInMemorySessionService } from '../../../src/stores/in-memory.ts'
import { testApi, userMessage } from '../../support/session-api.ts'

const mebibyte = 1 << 20

/** A body of `size` bytes that comes in pieces, and says how many were taken. */
function streamed(size: number, piece = mebibyte) {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent >= size) return controller.close()
      controller.enqueue(new Uint8Array(piece).fill(32))
      sent += piece
    },
  })
  return { body, sent: () => sent }
}

describe('in this process', () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  const api = createSessionApi({ authenticate: () => 'ana', sessions: () => service })
  const send = async (
    path: string,
    body: ReadableStream | string,
    headers: Record<string, string> = {},
  ) => {
    const request = new Request(`http://memory.test${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
      duplex: 'half',
    } as RequestInit)
    const response = await api.fetch(request)
    return {
      status: response.status,
      json: (await response.json()) as { code: string; details: object },
    }
  }

  test.each([
    ['/sessions', 2 * mebibyte],
    ['/recall', 2 * mebibyte],
    ['/sessions/s/events', 32 * mebibyte],
    ['/sessions/s/commits', 32 * mebibyte],
    ['/sessions/s/query', 32 * mebibyte],
  ])('%s stops reading at its limit', async (path, limit) => {
    for (const headers of [
      {},
      { 'content-length': 'abc' },
      { 'content-length': '-1' },
      { 'content-length': '10' },
      { 'content-length': '1e3' },
      { 'content-length': '' },
    ]) {
      const stream = streamed(100 * mebibyte)
      const answer = await send(path, stream.body, headers)
      expect(answer).toMatchObject({
        status: 413,
        json: { code: 'PAYLOAD_TOO_LARGE', details: { limit } },
      })
      expect(stream.sent()).toBeLessThanOrEqual(limit + 3 * mebibyte)
    }
    const announced = streamed(mebibyte)
    expect((await send(path, announced.body, { 'content-length': `${limit + 1}` })).status).toBe(
      413,
    )
    expect(announced.sent()).toBeLessThanOrEqual(mebibyte)
  })

  test('a body at the limit is read', async () => {
    expect((await send('/sessions', `${' '.repeat(2 * mebibyte - 2)}{}`)).status).toBe(201)
    expect((await send('/sessions', `${' '.repeat(2 * mebibyte - 1)}{}`)).status).toBe(413)
  })

  test('a body that breaks off stores nothing', async () => {
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('{"id":"broken"'))
        controller.error(new Error('the connection was lost'))
      },
    })
    expect(await send('/sessions', broken)).toMatchObject({
      status: 400,
      json: { code: 'INVALID_ARGUMENT' },
    })
    expect(await service.findById('broken')).toBeNull()
  })
})

test('a body of more values than any batch has is refused before they are made', async () => {
  const api = testApi()
  await api.request('PUT', '/sessions/s', { body: {} })
  for (const body of [
    `{"events":[${'{},'.repeat(1_100_000)}{}]}`,
    `[${'[],'.repeat(2_000_000)}0]`,
  ]) {
    expect(await api.request('POST', '/sessions/s/events', { body })).toMatchObject({
      status: 413,
      json: { code: 'PAYLOAD_TOO_LARGE', details: { limit: 2_000_000 } },
    })
  }
  // In a text they are no values.
  const content = '[{,\\"\\\\'.repeat(720_000)
  expect(
    (await api.request('POST', '/sessions/s/events', { body: userMessage(content) })).status,
  ).toBe(201)
})

test('a body that is no JSON in UTF-8 is refused, and never quoted', async () => {
  const api = testApi()
  for (const body of [
    '',
    ' ',
    '{',
    '{"a":1,}',
    "{'a':1}",
    'secret',
    '[1,2',
    '{"a":secret}',
    'NaN',
    '\ufeff\ufeff{}',
  ]) {
    const answer = await api.request('POST', '/sessions', { body })
    expect(answer, body).toMatchObject({
      status: 400,
      json: { code: 'INVALID_ARGUMENT', details: { field: 'body' } },
    })
    expect(answer.text).not.toContain('secret')
  }
  expect((await api.request('POST', '/sessions', { body: '\ufeff{}' })).status).toBe(201)
  for (const body of ['null', '5', '"text"', '[]', '[{}]', 'true']) {
    expect(await api.request('POST', '/sessions', { body }), body).toMatchObject({
      status: 400,
      json: { code: 'INVALID_ARGUMENT', detail: expect.stringContaining('body') },
    })
  }
})

test('other media types, charsets and encodings are refused', async () => {
  const api = testApi()
  const send = async (type: string, headers: Record<string, string> = {}) =>
    (
      await api.request('POST', '/sessions', {
        body: '{}',
        headers: { 'content-type': type, ...headers },
      })
    ).status
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
  ]) {
    expect(await send(type)).toBe(201)
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/jsonp',
    'text/json',
    'application/x-ndjson',
    'json',
  ]) {
    expect(await send(type), type).toBe(415)
  }
  expect(await send('application/json', { 'content-encoding': 'gzip' })).toBe(415)
  expect(await send('application/json', { 'content-encoding': 'identity' })).toBe(201)
})

test('what JSON can hold and a message cannot is refused by its path', async () => {
  const api = testApi()
  await api.request('PUT', '/sessions/s', { body: {} })
  let deep = '"x"'
  for (let level = 0; level < 50_000; level++) deep = `[${deep}]`
  for (const [body, place] of [
    ['{"message":{"role":"user","content":"a"},"extra":1}', 'extra'],
    ['{"message":{"role":"user","content":"a"},"__proto__":{}}', '__proto__'],
    ['{"message":"hello"}', 'message'],
    ['{}', 'message'],
    ['{"message":{"role":"robot","content":"a"}}', 'message.role'],
    ['{"message":{"role":"user","content":5}}', 'message.content'],
    ['{"message":{"role":"user","content":[{"type":5}]}}', 'message.content[0]'],
    [`{"message":{"role":"user","content":"a"},"metadata":{"a":${deep}}}`, 'metadata'],
    [`{"message":{"role":"user","content":"a","x":${deep}}}`, 'message'],
    ['{"message":{"role":"user","content":"a"},"metadata":[1]}', 'metadata'],
    ['{"message":{"role":"user","content":"a"},"timestamp":"today"}', 'timestamp'],
    ['{"message":{"role":"user","content":"a"},"timestamp":1e300}', 'timestamp'],
    ['{"message":{"role":"user","content":"a"},"branch":5}', 'branch'],
    ['{"message":{"role":"user","content":"a"},"synthetic":"yes"}', 'synthetic'],
    ['{"message":{"role":"user","content":"a"},"id":" "}', 'id'],
    [`{"message":{"role":"user","content":"a"},"id":"${'x'.repeat(513)}"}`, 'id'],
    ['{"message":{"role":"user","content":"a"},"sessionId":"another"}', 'sessionId'],
    ['{"events":{}}', 'events'],
    ['{"events":[null]}', 'events[0]'],
    ['{"events":[{"message":{"role":"user","content":"a"}},{"message":1}]}', 'events[1].message'],
    ['{"events":[],"expectedVersion":-1}', 'expectedVersion'],
    ['{"events":[],"expectedVersion":1.5}', 'expectedVersion'],
  ] as const) {
    const { status, json } = await api.request('POST', '/sessions/s/events', { body })
    expect(status, body.slice(0, 100)).toBe(400)
    expect(json.code).toMatch(/^INVALID_(EVENT|ARGUMENT)$/)
    expect(json.details.field.startsWith(place), `${json.details.field} for ${place}`).toBe(true)
  }
  expect((await api.request('GET', '/sessions/s')).json.session.eventCount).toBe(0)
})

test('keys that look like JavaScript’s own, lone surrogates and odd numbers are data', async () => {
  const api = testApi()
  await api.request('PUT', '/sessions/s', { body: {} })
  const body =
    '{"id":"e","message":{"role":"user","content":"\\ud83d \\ud83c\\udff7"},"metadata":{"__proto__":{"a":1},"constructor":2,"10":"ten","n":-0,"big":123456789012345678901234567890,"nul":"\\u0000"}}'
  expect((await api.request('POST', '/sessions/s/events', { body })).status).toBe(201)
  const { text } = await api.request('GET', '/sessions/s/events/e')
  expect(text).toContain('"content":"\ufffd 🏷"')
  expect(text).toContain(
    '"metadata":{"10":"ten","__proto__":{"a":1},"constructor":2,"n":0,"big":1.2345678901234568e+29,"nul":"\\u0000"}',
  )
  expect(({} as { a?: unknown }).a).toBeUndefined()
})

describe('the Worker that is deployed', () => {
  let worker: LocalWorker
  beforeAll(async () => {
    worker = await startWorker({
      entry: 'src/worker/deploy.ts',
      bindings: { DEVELOPMENT_USER: 'dev' },
    })
  })
  afterAll(() => worker.close())

  /** Sends bytes as they are, and gives the first line of the answer. */
  const raw = (head: readonly string[], body: Iterable<string>) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(worker.url.port), worker.url.hostname)
      let answer = ''
      socket.setEncoding('latin1')
      socket.on('data', (data) => {
        answer += data
        if (answer.includes('\r\n')) socket.destroy()
      })
      socket.on('close', () => resolve(answer.split('\r\n')[0] ?? ''))
      // The server may close while we still send; what it answered is what counts.
      socket.on('error', (error) => (answer === '' ? reject(error) : undefined))
      socket.write(`${[...head, 'Host: localhost', 'Connection: close'].join('\r\n')}\r\n\r\n`)
      for (const piece of body) socket.write(piece)
    })
  const chunk = (size: number) => `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`
  const post = ['POST /sessions HTTP/1.1', 'Content-Type: application/json']

  test('a body in chunks without a length is stopped at the limit', async () => {
    const chunks = Array.from({ length: 40 }, () => chunk(100_000))
    const answer = await raw([...post, 'Transfer-Encoding: chunked'], [...chunks, '0\r\n\r\n'])
    expect(answer).toContain(' 413 ')
    const small = [`2\r\n{}\r\n`, '0\r\n\r\n']
    expect(await raw([...post, 'Transfer-Encoding: chunked'], small)).toContain(' 201 ')
  })

  test('a wrong length is refused and never opens the limit', async () => {
    // No more than fits into a socket: a server that has refused does not read on, and what it answered
    // would be lost to a sender that is cut off.
    const rest = ' '.repeat(1_000)
    expect(await raw([...post, 'Content-Length: 3000000'], [rest])).toContain(' 413 ')
    expect(await raw([...post, 'Content-Length: abc'], [rest])).toMatch(/ 4(00|13) /)
    expect(await raw([...post, 'Content-Length: 2'], [`{}${rest}`])).toMatch(/ (201|400) /)
  })

  test('an event at the limit is stored, one above is refused with both sizes', async () => {
    const request = async (path: string, method: string, body?: object) => {
      const response = await fetch(new URL(path, worker.url), {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, json: (await response.json()) as { details?: object } }
    }
    await request('/sessions/s', 'PUT', {})
    const around = JSON.stringify({ message: { role: 'user', content: '' }, metadata: {} }).length
    const limit = 8 * mebibyte
    const atLimit = userMessage('x'.repeat(limit - around), 'large')
    expect((await request('/sessions/s/events', 'POST', atLimit)).status).toBe(201)
    const above = userMessage('x'.repeat(limit - around + 1), 'larger')
    expect(await request('/sessions/s/events', 'POST', above)).toMatchObject({
      status: 413,
      json: { code: 'EVENT_TOO_LARGE', details: { size: limit + 1, limit } },
    })
    expect((await request('/sessions/s/events', 'POST', userMessage('small'))).status).toBe(201)
  })
})
