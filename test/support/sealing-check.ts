// Sealing that is interrupted, and blocks that are damaged: no answer depends on either. Runs against
// any store that seals, with blocks of 4 events.
import { EventFilter, type SessionService } from 'turnlog'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import { expect } from 'vitest'

/** What a block, or a group of the directory, is made into. */
export type BlockDamage = 'no block' | 'no text' | 'broken entries' | 'no group' | 'broken group'

export const BLOCK_DAMAGES: readonly BlockDamage[] = [
  'no block',
  'no text',
  'broken entries',
  'no group',
  'broken group',
]

export interface SealingHarness {
  /** Opens the store with blocks of 4 events, on the same storage every time. */
  open(): Promise<SessionRepository>
  /** Waits until nothing more is sealed. */
  settle(): Promise<void>
  /** Makes this request or statement of every sealing fail, from 1 on; the result undoes it and tells whether it came to that. */
  failAt(request: number): () => boolean
  /** Which events are in which blocks, `session:seq`, read from the storage. */
  sealed(): Promise<readonly string[]>
  /** Damages the block with an index among those that there are, or its group. */
  damage(kind: BlockDamage, index: number): Promise<void>
  /** Everything that is stored, as text. */
  dump(): Promise<string>
}

const WORDS = ['Straße', 'café', '中文', 'a', 'concat', 'cat', '', 'RED red'] as const
const KEYWORDS = ['strasse', '文', 'a', 'cat', 'red red', 'nowhere', 'x9', 'zz'] as const

function serviceOf(repository: SessionRepository): SessionService {
  return createSessionService(repository, { defaultUserId: 'ana', timeToLive: null })
}

let position = 0

async function append(service: SessionService, sessionId: string, count: number): Promise<void> {
  await service.appendEvents(
    sessionId,
    Array.from({ length: count }, () => {
      position++
      const word = WORDS[position % WORDS.length] ?? ''
      return {
        id: `e${position}`,
        timestamp: position * 1000,
        message: {
          role: position % 2 === 0 ? 'user' : 'assistant',
          content: `${word} x${position}`,
        },
        branch: position % 5 === 0 ? 'a.b' : null,
      } as const
    }),
  )
}

/** Fails unless every search finds what `EventFilter.apply` finds in the whole logs. */
async function expectRightAnswers(service: SessionService, sessionIds: readonly string[]) {
  const logs = await Promise.all(sessionIds.map((id) => service.getEvents(id)))
  for (const [index, sessionId] of sessionIds.entries()) {
    for (const keyword of KEYWORDS) {
      for (const rest of [{}, { lastN: 2 }, { page: 1, pageSize: 2 }, { branch: 'a' }]) {
        const filter = EventFilter.of({ keyword, ...rest })
        const expected = filter.apply(logs[index] ?? []).map(({ id }) => id)
        const found = (await service.getEvents(sessionId, filter)).map(({ id }) => id)
        expect(found, `${sessionId} ${JSON.stringify({ keyword, ...rest })}`).toEqual(expected)
      }
    }
  }
  for (const keyword of KEYWORDS) {
    const filter = EventFilter.of({ keyword })
    const expected = logs
      .flatMap((log) => filter.apply(log))
      .sort((one, other) => one.timestamp.getTime() - other.timestamp.getTime())
      .map(({ id }) => id)
    const options = { keyword, page: 0, pageSize: 1000 }
    const found = await service.recallEvents(options, { userId: 'ana' })
    expect(
      found.map(({ id }) => id),
      `recall of ${keyword}`,
    ).toEqual(expected)
  }
}

/** Fails unless the events, `count` in all, are in one block each, but for the last few. */
async function expectSealedOnce(harness: SealingHarness, count: number): Promise<void> {
  const sealed = await harness.sealed()
  expect(new Set(sealed).size).toBe(sealed.length)
  expect(count - sealed.length).toBeLessThan(4)
}

/** Fails when a sealing that stops at any of its requests loses, doubles or hides anything. */
export async function checkInterruptedSealing(harness: SealingHarness): Promise<void> {
  const repository = await harness.open()
  const service = serviceOf(repository)
  for (const id of ['one', 'two']) await service.create({ id })
  let events = 0
  let requests = 0
  for (let request = 1, reached = true; reached; request++) {
    const undo = harness.failAt(request)
    await append(service, 'one', 3)
    await append(service, 'two', 2)
    events += 5
    await harness.settle()
    reached = undo()
    if (reached) requests++
    await expectRightAnswers(service, ['one', 'two'])
    const sealed = await harness.sealed()
    expect(new Set(sealed).size).toBe(sealed.length)
  }
  expect(requests).toBeGreaterThan(4)
  // The next one seals all that was left.
  await append(service, 'one', 1)
  await harness.settle()
  await expectSealedOnce(harness, events + 1)
  await expectRightAnswers(service, ['one', 'two'])
  await repository.close()
}

/** Fails when a damaged or missing block makes an answer wrong, keeps a text from being removed, or stays. */
export async function checkDamagedBlocks(
  harness: SealingHarness,
  kind: BlockDamage,
): Promise<void> {
  const repository = await harness.open()
  const service = serviceOf(repository)
  const ids = ['one', 'two', 'three']
  for (const id of ids) await service.create({ id })
  const secrets = { two: 'Zyzzyva', three: 'Quixotry' }
  for (const [id, content] of Object.entries(secrets)) {
    await service.appendEvent(id, { id: content, message: { role: 'user', content } })
  }
  // Enough for two groups; a block holds events of two sessions.
  for (let round = 0; round < 12; round++) for (const id of ids) await append(service, id, 3)
  await harness.settle()
  for (const index of [0, 7, -1]) {
    await harness.damage(kind, index)
    await expectRightAnswers(service, ids)
    await harness.settle()
    await expectRightAnswers(service, ids)
    // What a search came by is whole again.
    await append(service, 'one', 4)
    await harness.settle()
    await expectRightAnswers(service, ids)
  }
  // More is sealed before anybody has come by the damage.
  await harness.damage(kind, -1)
  await append(service, 'one', 5)
  await harness.settle()
  await expectRightAnswers(service, ids)
  await harness.settle()
  // Nothing of what is erased or deleted stays, whatever the blocks are like.
  const expectGone = async (secret: string) => {
    const dump = await harness.dump()
    expect(dump.includes(secret), secret).toBe(false)
    expect(dump.includes(secret.toLowerCase()), secret).toBe(false)
  }
  expect(await harness.dump()).toContain(secrets.two.toLowerCase())
  await harness.damage(kind, 0)
  await service.eraseEvent('two', secrets.two)
  // The id is no text, and stays.
  expect(await service.getEvents('two', { keyword: secrets.two })).toEqual([])
  expect((await harness.dump()).includes(secrets.two.toLowerCase())).toBe(false)
  await harness.settle()
  expect((await harness.dump()).includes(secrets.two.toLowerCase())).toBe(false)
  await harness.damage(kind, 0)
  expect(await service.delete('three')).toBe(true)
  await expectGone(secrets.three)
  await harness.settle()
  await expectGone(secrets.three)
  await expectRightAnswers(service, ['one', 'two'])
  await harness.settle()
  const sealed = await harness.sealed()
  expect(new Set(sealed).size).toBe(sealed.length)
  await repository.close()
}
