/** What the list of conversations does: name, delete with a way back, import, move. */

import type { ModelMessage } from 'ai'
import { isSessionError, type Session, type SessionService } from 'turnlog'

export type Sessions = SessionService<ModelMessage>

/** Milliseconds in which a deletion can be undone; afterwards every byte is removed. */
export const UNDO_TIME = 10_000

const TITLE = 'title'
const DELETED = 'deletedAt'
const TITLE_LENGTH = 60

export function titleOf(session: Session | null | undefined): string {
  const title = session?.metadata[TITLE]
  return typeof title === 'string' && title !== '' ? title : 'Untitled'
}

/** Whether it was deleted and can still be brought back. */
export function isDeleted({ metadata }: Session): boolean {
  return metadata[DELETED] !== undefined
}

export async function createConversation(sessions: Sessions, id: string, firstWords: string) {
  return sessions.findOrCreate({ id, metadata: { [TITLE]: toTitle(firstWords) } })
}

export async function renameConversation(sessions: Sessions, id: string, title: string) {
  return sessions.update(id, { metadata: { [TITLE]: toTitle(title) } })
}

function toTitle(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  return flat.length > TITLE_LENGTH ? `${flat.slice(0, TITLE_LENGTH).toWellFormed()}…` : flat
}

/**
 * Deletes it in a while: it expires by itself, also when the page is closed before. Gives the way back.
 *
 * @param onKept hears that it has expired, but could not be removed.
 */
export async function deleteConversation(
  sessions: Sessions,
  { id, expiresAt }: Session,
  onKept: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const now = Date.now()
  await sessions.update(id, { expiresAt: now + 2 * UNDO_TIME, metadata: { [DELETED]: now } })
  const timer = setTimeout(() => void sessions.delete(id).catch(onKept), UNDO_TIME)
  return async () => {
    clearTimeout(timer)
    await sessions.update(id, { expiresAt, metadata: { [DELETED]: null } })
  }
}

/**
 * Stores an exported conversation; when its id is taken by a different one, as a copy.
 *
 * @throws SessionError when the file is broken; nothing is changed then.
 */
export async function importConversation(sessions: Sessions, file: File): Promise<Session> {
  let session: Session
  try {
    session = await sessions.importSession(textOf(file))
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'SESSION_EXISTS') throw error
    session = await sessions.importSession(textOf(file), { sessionId: newId() })
  }
  const isNamed = typeof session.metadata[TITLE] === 'string'
  if (isNamed && !isDeleted(session)) return session
  const title = isNamed ? {} : { [TITLE]: toTitle(file.name.replace(/\.[^.]*$/, '')) }
  return sessions.update(session.id, {
    metadata: { ...title, [DELETED]: null },
    ...(isDeleted(session) ? { expiresAt: null } : {}),
  })
}

/** All conversations of a place. */
export async function listAll(sessions: Sessions): Promise<readonly Session[]> {
  const all: Session[] = []
  let cursor: string | null = null
  do {
    const page = await sessions.listSessions({ limit: 1000, cursor })
    for (const session of page.sessions) if (!isDeleted(session)) all.push(session)
    cursor = page.cursor
  } while (cursor !== null)
  return all
}

/**
 * Moves conversations to another place, one by one: each is deleted here only when all of it has arrived
 * there.
 *
 * @returns how many were moved, and the titles of those that stay.
 */
export async function moveConversations(
  from: Sessions,
  to: Sessions,
): Promise<{ readonly moved: number; readonly stayed: readonly string[] }> {
  let moved = 0
  const stayed: string[] = []
  for (const session of await listAll(from)) {
    try {
      const arrived = await to.importSession(from.exportSession(session.id))
      const now = await from.findById(session.id)
      if (now?.eventCount !== arrived.eventCount) throw new Error('it has changed meanwhile')
      await from.delete(session.id)
      moved += 1
    } catch (error) {
      stayed.push(`${titleOf(session)} (${messageOf(error)})`)
    }
  }
  return { moved, stayed }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** `crypto.randomUUID` is not there on plain-http pages. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function* textOf(file: File): AsyncGenerator<string> {
  // Not `for await` over the stream: Safari cannot.
  const reader = file.stream().getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) break
    yield decoder.decode(value, { stream: true })
  }
  yield decoder.decode()
}
