// Forgetting: nothing of an erased text is left in a dump of everything that a store holds.
import {
  CONVERSATION_ID,
  createSessionEventTools,
  type EventInput,
  foldText,
  type SessionService,
} from 'turnlog'
import { createSessionService } from 'turnlog/store'
import type { StoreHarness } from 'turnlog/testing'
import { expect } from 'vitest'
import { says } from './conversation.ts'

/** Words that occur in nothing else, one for each thing that is to be forgotten. */
const SECRETS = {
  text: 'Zyzzogeton-ÄÖ-Хөөмий',
  part: 'Quixotry懐石料理ßŤŘ',
  tool: 'Xylographer_Ωμέγα',
  metadata: 'Jabberwocky-Ünïcödé',
  archived: 'Kwyjibo-ԱԲԳ',
  late: 'Vexillology-ЖЗИ',
  long: 'Flibbertigibbet-한국어말',
  summary: 'Gobbledygook-ไทยไทย',
} as const

const DELETED = 'Borborygmus-Đđđ'
const OWNED = 'Hullabaloo-Ññññ'
const STAYS = 'Nincompoop-Øøøø'

/** Pieces by which a part of a text would betray itself, as it was written and as search folds it. */
function piecesOf(text: string): readonly string[] {
  const length = 5
  const forms = new Set([text, text.toLowerCase(), foldText(text)])
  return [...forms].flatMap((form) =>
    Array.from({ length: form.length - length + 1 }, (_, start) =>
      form.slice(start, start + length),
    ),
  )
}

async function search(service: SessionService, sessionId: string, query: string): Promise<string> {
  const [tool] = createSessionEventTools(service)
  return tool.execute({ innerThought: '', query }, { [CONVERSATION_ID]: sessionId })
}

/** Enough talk that a store builds what makes its search fast, with something to forget in the middle. */
async function fill(service: SessionService, sessionId: string, events: readonly EventInput[]) {
  const talk = (count: number, word: string) =>
    Array.from({ length: count }, (_, index) => ({
      message: says(index % 2 === 0 ? 'user' : 'assistant', `${word} ${index} of the weather`),
    }))
  await service.appendEvents(sessionId, talk(300, 'early'))
  await service.appendEvents(sessionId, events)
  await service.appendEvents(sessionId, talk(300, 'later'))
}

/**
 * Fails unless `eraseEvent`, `delete`, `deleteUser` and `deleteExpiredSessions` leave nothing.
 *
 * @param dump everything that the store holds, as text; binary as every text that it could be.
 * @param settle waits for what the store does in the background.
 */
export async function checkErasure(
  harness: Pick<StoreHarness, 'open'>,
  dump: () => Promise<string>,
  settle: () => Promise<void> = async () => undefined,
): Promise<void> {
  const clock = { now: Date.now() }
  const service = createSessionService(await harness.open(), { now: () => clock.now })
  const expectGone = async (...texts: readonly string[]) => {
    const all = await dump()
    const left = texts.flatMap(piecesOf).filter((piece) => all.includes(piece))
    expect(left).toEqual([])
  }
  const expectThere = async (...texts: readonly string[]) => {
    const all = await dump()
    expect(texts.filter((text) => !all.includes(text))).toEqual([])
  }

  const events: readonly EventInput[] = [
    { id: 'text', message: says('user', SECRETS.text) },
    {
      id: 'part',
      message: { role: 'user', content: [{ type: 'text', text: SECRETS.part } as never] },
    },
    {
      id: 'tool',
      message: {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'A', output: SECRETS.tool } as never],
      },
    },
    { id: 'metadata', message: says('assistant', 'x'), metadata: { [SECRETS.metadata]: 1 } },
    { id: 'archived', message: says('user', SECRETS.archived) },
    { id: 'long', message: says('user', `${SECRETS.long} `.repeat(60_000)) },
    { id: 'late', message: says('user', SECRETS.late), timestamp: clock.now - 1_000_000 },
  ]
  await service.create({ id: 'one', userId: 'ana', metadata: { note: OWNED } })
  await fill(service, 'one', events)
  const { compactedEvents } = await service.compact('one', {
    trigger: () => true,
    strategy: () => ({
      summaries: [{ message: says('assistant', SECRETS.summary) }],
      keep: [],
    }),
  })
  await service.create({ id: `two ${DELETED}`, userId: 'ana', metadata: { note: DELETED } })
  await fill(service, `two ${DELETED}`, [
    { id: DELETED, branch: DELETED, message: says('user', DELETED) },
    { message: says('user', `${DELETED} `.repeat(5_000)) },
  ])
  await service.create({ id: 'three', userId: `bob ${STAYS}`, timeToLive: 1000 })
  await fill(service, 'three', [{ message: says('user', STAYS) }])
  await settle()
  await expectThere(...Object.values(SECRETS), DELETED, OWNED, STAYS)
  expect(await search(service, 'one', 'ZYZZOGETON')).toContain(SECRETS.text)

  const before = await service.getEvents('one')
  const ids = [...events.map(({ id }) => id ?? ''), compactedEvents[0]?.id ?? '']
  for (const id of ids) await service.eraseEvent('one', id)
  await settle()
  await expectGone(...Object.values(SECRETS))
  for (const text of Object.values(SECRETS)) {
    expect(await search(service, 'one', text)).toBe('No results found.')
  }
  const after = await service.getEvents('one')
  expect(after.map(({ id, seq }) => [id, seq])).toEqual(before.map(({ id, seq }) => [id, seq]))
  expect(after.filter((event) => event.metadata['erased'] === true).map(({ id }) => id)).toEqual(
    ids,
  )
  // A repeated append does not bring it back.
  await service.appendEvents('one', events)
  await settle()
  await expectGone(SECRETS.text)

  await expectThere(DELETED)
  expect(await service.delete(`two ${DELETED}`)).toBe(true)
  await settle()
  await expectGone(DELETED)

  await expectThere(OWNED)
  expect(await service.deleteUser('ana')).toBe(1)
  await settle()
  await expectGone(OWNED)

  await expectThere(STAYS)
  clock.now += 2000
  expect(await service.deleteExpiredSessions()).toBe(1)
  await settle()
  await expectGone(STAYS, 'of the weather')
}

/** Every text that bytes could be, for a dump. */
export function textsOf(bytes: Uint8Array): string {
  const decode = (encoding: string) => new TextDecoder(encoding).decode(bytes)
  return [decode('utf-8'), decode('utf-16le'), decode('latin1')].join('\n')
}
