// Short ways to write conversations in tests.
import type { EventInput, Message, SessionEvent, SessionService } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'

export const says = (role: Message['role'], content: string): Message => ({ role, content })

export const callsTools = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: 'look',
    input: { id },
  })),
})

export const toolAnswers = (...ids: readonly string[]): Message => ({
  role: 'tool',
  content: ids.map((id) => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: 'look',
    output: { type: 'text', value: `seen ${id}` },
  })),
})

/** Questions and answers: `u1`, `a1`, `u2`, `a2`, … with `question 1`, `answer 1`, … as their texts. */
export function turns(count: number, first = 1): EventInput[] {
  return Array.from({ length: count }, (_, index) => [
    { id: `u${first + index}`, message: says('user', `question ${first + index}`) },
    { id: `a${first + index}`, message: says('assistant', `answer ${first + index}`) },
  ]).flat()
}

/** A service in memory with the session `s` of `ana` that holds these events. */
export async function sessionOf(events: readonly EventInput[] = []): Promise<SessionService> {
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  await service.create({ id: 's' })
  await service.appendEvents('s', events)
  return service
}

export const idsOf = (events: readonly SessionEvent[]): string[] => events.map(({ id }) => id)

/** The ids of the session's view, in view order. */
export async function viewOf(service: SessionService, sessionId = 's'): Promise<string[]> {
  return idsOf(await service.getEvents(sessionId, { excludeArchived: true }))
}

/** The texts of the session's view, in view order. */
export async function viewTexts(service: SessionService, sessionId = 's'): Promise<unknown[]> {
  const messages = await service.getMessages(sessionId, { excludeArchived: true })
  return messages.map(({ content }) => content)
}

/** A promise with its ends in one's own hand. */
export function deferred<T>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
} {
  let resolve: (value: T) => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
