// What a store has to be able to hold in one row, and an answer in one RPC, is limited in the core.

import { EventFilter } from 'turnlog'
import { createInMemoryRepository, createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test } from 'vitest'

test('the metadata of a session ends at 256 KiB, merged changes included', async () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  const refused = {
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^metadata is \d+ bytes/),
  }
  await expect(service.create({ metadata: { a: 'x'.repeat(256 << 10) } })).rejects.toMatchObject(
    refused,
  )
  // Three bytes each in UTF-8.
  await expect(service.create({ metadata: { a: '中'.repeat(90_000) } })).rejects.toMatchObject(
    refused,
  )

  await service.create({ id: 's', metadata: { a: 'x'.repeat(200_000) } })
  await expect(service.update('s', { metadata: { b: 'x'.repeat(80_000) } })).rejects.toMatchObject(
    refused,
  )
  expect(Object.keys((await service.findById('s'))?.metadata ?? {})).toEqual(['a'])
  const changed = await service.update('s', { metadata: { a: null, b: 'x'.repeat(80_000) } })
  expect(Object.keys(changed.metadata)).toEqual(['b'])
})

test('a branch ends at 4,096 characters', async () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  const message = { role: 'user', content: 'hi' } as const
  await expect(
    service.appendMessage('s', message, { branch: 'b'.repeat(4097) }),
  ).rejects.toMatchObject({
    code: 'INVALID_EVENT',
    details: { field: 'branch' },
  })
  const { branch } = await service.appendMessage('s', message, { branch: 'b'.repeat(4096) })
  expect(branch).toBe('b'.repeat(4096))
})

test('an answer is full of long ids and branches as well as of bodies', async () => {
  const repository = createInMemoryRepository()
  const now = 1_700_000_000_000
  await repository.createSession(
    {
      id: 's',
      userId: 'ana',
      createdAt: now,
      expiresAt: null,
      slidingTimeToLive: null,
      metadata: '{}',
      lastSeq: 0,
      version: 0,
      lastEventAt: null,
      latestTimestamp: null,
      boundary: null,
    },
    { now },
  )
  const events = Array.from({ length: 3000 }, (_, index) => ({
    id: `${index}`.padEnd(512, '中'),
    timestamp: now,
    role: 'user' as const,
    branch: '中'.repeat(4096),
    synthetic: false,
    body: '{"message":{"role":"user","content":""},"metadata":{}}',
  }))
  await repository.commit('s', { now, events })
  const answer = await repository.readEvents('s', { now, filter: EventFilter.all().toJSON() })
  expect(answer.events.length).toBeLessThan(1000)
  expect(answer.next).not.toBeNull()
})

test('a batch counts ids, branches and the number of its events', async () => {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  const message = { role: 'user', content: '' } as const
  const longIds = Array.from({ length: 20_000 }, (_, index) => ({
    id: `${index}`.padEnd(512, '中'),
    message,
  }))
  await expect(service.appendEvents('s', longIds)).rejects.toMatchObject({
    code: 'EVENT_TOO_LARGE',
    details: { limit: 28 << 20 },
  })
  const many = Array.from({ length: 350_000 }, (_, index) => ({ id: `${index}`, message }))
  await expect(service.appendEvents('s', many)).rejects.toMatchObject({ code: 'EVENT_TOO_LARGE' })
  expect(await service.appendEvents('s', many.slice(0, 100_000))).toHaveLength(100_000)
})
