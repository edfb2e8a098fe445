// What the list of examples/browser-chat does with conversations.
import type { ModelMessage } from 'ai'
import type { SessionService } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, test, vi } from 'vitest'
import {
  deleteConversation,
  moveConversations,
  UNDO_TIME,
} from '../../../examples/browser-chat/src/sessions/conversations.ts'

const createPlace = (userId: string) =>
  createInMemorySessionService<ModelMessage>({ defaultUserId: userId, timeToLive: null })

async function placeWith(...titles: readonly string[]) {
  const place = createPlace('me')
  for (const title of titles) {
    await place.create({ id: title, metadata: { title } })
    await place.appendMessage(title, { role: 'user', content: `This is ${title}.` })
  }
  return place
}

const idsOf = async (place: SessionService<ModelMessage>) =>
  (await place.listSessions({ order: 'created' })).sessions.map(({ id }) => id)

test('conversations move whole, archived and rewound messages too', async () => {
  const from = await placeWith('a', 'b')
  const second = await from.appendMessage('a', { role: 'user', content: 'Second.' })
  await from.rewind('a', { before: second.id })
  await from.appendMessage('a', { role: 'user', content: 'Instead.' })
  const before = await from.getEvents('a')
  const to = createPlace('developer')
  expect(await moveConversations(from, to)).toEqual({ moved: 2, stayed: [] })
  expect(await idsOf(from)).toEqual([])
  expect((await idsOf(to)).toSorted()).toEqual(['a', 'b'])
  expect(await to.getEvents('a')).toEqual(before)
  expect((await to.findById('a'))?.userId).toBe('developer')
})

test('what cannot be moved stays, and the rest is moved all the same', async () => {
  const from = await placeWith('a', 'b', 'c')
  const to = createPlace('developer')
  // Another conversation has the id there.
  await to.create({ id: 'b' })
  await to.appendMessage('b', { role: 'user', content: 'Another one.' })
  const { moved, stayed } = await moveConversations(from, to)
  expect(moved).toBe(2)
  expect(stayed).toEqual([expect.stringMatching(/^b \(.*exists/)])
  expect(await idsOf(from)).toEqual(['b'])
  expect((await to.getMessages('b')).map(({ content }) => content)).toEqual(['Another one.'])
})

test('what changes while it is moved stays', async () => {
  const from = await placeWith('a')
  const to = createPlace('developer')
  const slow: SessionService<ModelMessage> = {
    ...to,
    async importSession(input, options) {
      const session = await to.importSession(input, options)
      await from.appendMessage('a', { role: 'user', content: 'One more.' })
      return session
    },
  }
  expect(await moveConversations(from, slow)).toEqual({
    moved: 0,
    stayed: ['a (it has changed meanwhile)'],
  })
  expect(await from.getMessages('a')).toHaveLength(2)
})

test('a deletion is undone, done, or said to have failed', async () => {
  vi.useFakeTimers()
  try {
    const place = await placeWith('a', 'b', 'c')
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((id) => place.findById(id)))
    if (!a || !b || !c) throw new Error('not stored')
    const failures: unknown[] = []
    const undo = await deleteConversation(place, a, (error) => failures.push(error))
    await undo()
    await deleteConversation(place, b, (error) => failures.push(error))
    const failing = { ...place, delete: () => Promise.reject(new Error('down')) }
    await deleteConversation(failing, c, (error) => failures.push(error))
    await vi.advanceTimersByTimeAsync(UNDO_TIME)
    expect(failures).toEqual([new Error('down')])
    await vi.advanceTimersByTimeAsync(2 * UNDO_TIME)
    expect(await idsOf(place)).toEqual(['a'])
    expect((await place.findById('a'))?.expiresAt).toBe(null)
  } finally {
    vi.useRealTimers()
  }
})
