/** Reads a conversation from its end, page by page, without reading the rest of the log. */

import type { ModelMessage } from 'ai'
import { invalidArgument } from '../../core/errors.ts'
import type { SessionEvent } from '../../core/session.ts'
import type { SessionService } from '../../core/session-service.ts'
import { beginsMessage, groupEvents, isShown, type MessageGroup } from './ui-message-groups.ts'
import { readUiMetadata } from './ui-message-log.ts'

/** Where the page before begins. */
export interface ChatCursor {
  /** The `seq` that it ends at. */
  readonly seq: number
  /** Events behind it of messages that begin in it or before: message id and event id. */
  readonly late: readonly (readonly [messageId: string, eventId: string])[]
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function readCursor(text: string): ChatCursor {
  try {
    const { seq, late } = JSON.parse(text) as ChatCursor
    if (Number.isSafeInteger(seq) && seq > 0 && Array.isArray(late)) return { seq, late }
  } catch {
    // refused below
  }
  throw invalidArgument('cursor', 'must be the cursor of another page')
}

/** The last `limit` messages up to a cursor, and where the ones before are. */
export async function readPage(
  service: SessionService<ModelMessage>,
  sessionId: string,
  limit: number,
  cursor: ChatCursor | null,
): Promise<{ readonly groups: readonly MessageGroup[]; readonly next: ChatCursor | null }> {
  const session = await service.findById(sessionId)
  let start = Math.min(cursor?.seq ?? Number.MAX_SAFE_INTEGER, session?.eventCount ?? 0) + 1
  let events: SessionEvent<ModelMessage>[] = []
  let whole: readonly MessageGroup[] = []
  while (start > 1 && whole.length < limit) {
    const last = start - 1
    start = Math.max(1, start - 2 * limit)
    events = [...(await readRange(service, sessionId, start, last)), ...events]
    const isWhole = (group: MessageGroup, index: number) =>
      start === 1 || hasBeginning(group, index === 0)
    whole = groupEvents(events).filter(isWhole)
  }
  const page = whole.slice(-limit)
  const ids = new Set(page.map(({ id }) => id))
  const seq = whole.length === page.length && start === 1 ? 0 : (page[0]?.events[0]?.seq ?? 1) - 1

  // What belongs to the page's messages, but came later than the page; and to those before it.
  const given = cursor?.late ?? []
  const late: SessionEvent<ModelMessage>[] = []
  for (const [messageId, eventId] of given) {
    const event = ids.has(messageId) ? await service.findEvent(sessionId, eventId) : null
    if (event !== null) late.push(event)
  }
  late.sort((one, other) => one.seq - other.seq)
  const open = events.flatMap((event) => {
    const id = readUiMetadata(event.metadata)?.id
    const isOpen = id !== undefined && event.seq > seq && isShown(event) && !ids.has(id)
    return isOpen ? [[id, event.id] as const] : []
  })
  const rest = given.filter(([messageId]) => !ids.has(messageId))
  return {
    groups: groupEvents([...events, ...late]).filter(({ id }) => ids.has(id)),
    next: seq < 1 ? null : { seq, late: [...rest, ...open] },
  }
}

/**
 * Whether a message is there from its beginning. Of an answer that is no `UIMessage` only the message
 * before it can tell, so that the first one that was read is left to the page before.
 */
function hasBeginning({ events: [first] }: MessageGroup, isFirst: boolean): boolean {
  if (first === undefined) return false
  return beginsMessage(first) || (!isFirst && readUiMetadata(first.metadata) === null)
}

/** The events behind a `seq`, a few at a time. */
export async function* eventsAfter(
  service: SessionService<ModelMessage>,
  sessionId: string,
  seq: number,
): AsyncGenerator<SessionEvent<ModelMessage>> {
  for (let after = seq; ; ) {
    const events = await readRange(service, sessionId, after + 1, after + 32)
    yield* events
    const last = events.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}

async function readRange(
  service: SessionService<ModelMessage>,
  sessionId: string,
  first: number,
  last: number,
): Promise<SessionEvent<ModelMessage>[]> {
  const events: SessionEvent<ModelMessage>[] = []
  const filter = { page: 0, pageSize: last - first + 1 }
  for await (const event of service.iterateEvents(sessionId, filter, { afterSeq: first - 1 })) {
    if (event.seq <= last) events.push(event)
  }
  return events
}
