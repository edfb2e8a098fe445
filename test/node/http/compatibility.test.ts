// Errors keep their code and status on their way from the object through RPC and HTTP, at the
// compatibility date of wrangler.toml and at one at which RPC drops the properties of errors.
import { expect, test } from 'vitest'
import { startWorker } from '../../../scripts/local-worker.ts'

test.for(['2024-09-01', undefined])('compatibility date %s', async (compatibilityDate) => {
  await using worker = await startWorker({
    entry: 'test/workers/http-harness-worker.ts',
    durableObjects: { SESSIONS: 'HarnessStore' },
    ...(compatibilityDate === undefined ? {} : { compatibilityDate }),
  })
  const request = async (method: string, path: string, body?: object) => {
    const response = await fetch(new URL(path, worker.url), {
      method,
      headers: { 'content-type': 'application/json', 'x-test-scope': 'errors|ana|' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { code } = (await response.json()) as { code?: string }
    return code === undefined ? response.status : `${response.status} ${code}`
  }
  const message = { role: 'user', content: 'hi' }
  expect(await request('GET', '/sessions/none/events')).toBe('404 SESSION_NOT_FOUND')
  expect(await request('POST', '/sessions', { id: 's' })).toBe(201)
  expect(await request('POST', '/sessions', { id: 's' })).toBe('409 SESSION_EXISTS')
  expect(
    await request('POST', '/sessions/s/events', { events: [{ message }], expectedVersion: 5 }),
  ).toBe('409 VERSION_CONFLICT')
  const boundary = { summaries: [], kept: [], through: 0, rewound: [] }
  expect(
    await request('POST', '/sessions/s/commits', { boundary, expectedBoundary: 'other' }),
  ).toBe('409 BOUNDARY_CONFLICT')
  expect(
    await request('POST', '/sessions/s/commits', { boundary: { ...boundary, summaries: ['x'] } }),
  ).toBe('404 EVENT_NOT_FOUND')
  const large = { role: 'user', content: 'x'.repeat(9_000_000) }
  expect(await request('POST', '/sessions/s/events', { message: large })).toBe(
    '413 EVENT_TOO_LARGE',
  )
  const metadata = { note: 'x'.repeat(200_000) }
  expect(await request('PATCH', '/sessions/s', { metadata })).toBe(200)
  expect(await request('PATCH', '/sessions/s', { metadata: { more: metadata.note } })).toBe(
    '400 INVALID_ARGUMENT',
  )
})
