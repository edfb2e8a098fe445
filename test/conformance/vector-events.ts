// Turns the events and sessions of the vectors into ours, and brings them into a store.

import { rangesOf } from '../../src/core/seq-ranges.ts'
import type { EventInput, Message, MessageType, SessionService } from '../../src/index.ts'
import type { SessionRepository } from '../../src/stores/index.ts'
import { asList, asObject } from './vector-case.ts'

export interface VectorMessage {
  readonly type: MessageType
  readonly text?: string | null
  readonly toolCalls?: readonly {
    readonly id: string
    readonly name: string
    readonly arguments?: string
  }[]
  readonly toolResponses?: readonly {
    readonly id: string
    readonly name: string
    readonly responseData?: string
  }[]
  readonly media?: readonly Readonly<Record<string, unknown>>[]
}

export interface VectorEvent {
  readonly id: string
  readonly sessionId?: string
  readonly timestamp?: string
  readonly message: VectorMessage
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly branch?: string | null
  readonly synthetic?: boolean
  readonly archived?: boolean
}

/** A message in our form: role and content, calls and responses as parts. */
export function toMessage(message: VectorMessage): Message {
  const { type: role, text } = message
  const parts = [
    ...(text === null || text === undefined ? [] : [{ type: 'text', text }]),
    ...asList<Readonly<Record<string, unknown>>>(message.media).map((media) => ({
      type: 'file',
      mediaType: media['mediaType'] ?? media['mimeType'] ?? 'application/octet-stream',
      ...media,
    })),
    ...asList<{ id: string; name: string; arguments?: string }>(message.toolCalls).map((call) => ({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      input: parseArguments(call.arguments),
    })),
    ...asList<{ id: string; name: string; responseData?: string }>(message.toolResponses).map(
      (response) => ({
        type: 'tool-result',
        toolCallId: response.id,
        toolName: response.name,
        output: { type: 'text', value: response.responseData ?? '' },
      }),
    ),
  ]
  const isPlainText = parts.length === 1 && parts[0]?.type === 'text'
  return { role, content: isPlainText ? (text as string) : parts }
}

function parseArguments(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '{}')
  } catch {
    return text // arguments that are no JSON stay the text they are
  }
}

export function toEventInput(event: VectorEvent): EventInput {
  const { id, timestamp, message, metadata, branch, synthetic } = event
  return {
    id,
    timestamp,
    message: message === null || message === undefined ? (message as never) : toMessage(message),
    metadata: { ...metadata, ...(synthetic === true ? { synthetic: true } : {}) },
    branch,
  }
}

/**
 * Events of a log in which a call and its result carry different ids: pairs them by name and order, so
 * that they are parts of one exchange. Ids that agree already stay as they are.
 */
export function pairToolIds(events: readonly VectorEvent[]): readonly VectorEvent[] {
  const waiting: { readonly id: string; readonly name: string; readonly branch: unknown }[] = []
  return events.map((event) => {
    const branch = event.branch ?? null
    for (const { id, name } of asList<{ id: string; name: string }>(event.message.toolCalls)) {
      waiting.push({ id, name, branch })
    }
    const { toolResponses } = event.message
    if (!toolResponses) return event
    const paired = toolResponses.map((response) => {
      const onBranch = (call: (typeof waiting)[number]) => call.branch === branch
      const sameId = waiting.findIndex((call) => onBranch(call) && call.id === response.id)
      const index =
        sameId >= 0
          ? sameId
          : waiting.findIndex((call) => onBranch(call) && call.name === response.name)
      const [call] = index < 0 ? [] : waiting.splice(index, 1)
      return { ...response, id: call?.id ?? response.id }
    })
    return { ...event, message: { ...event.message, toolResponses: paired } }
  })
}

/** Appends a log to a session, which is created when it is missing, and archives what it says. */
export async function storeLog(
  service: SessionService,
  repository: SessionRepository,
  sessionId: string,
  log: readonly VectorEvent[],
  options: { readonly userId?: string; readonly archivedIds?: readonly string[] } = {},
): Promise<void> {
  if ((await service.findById(sessionId)) === null) {
    await service.create({ id: sessionId, userId: options.userId ?? 'ana', timeToLive: null })
  }
  if (log.length === 0) return
  await service.appendEvents(sessionId, log.map(toEventInput))
  const archivedIds = new Set(options.archivedIds ?? [])
  const isArchived = (event: VectorEvent) => event.archived === true || archivedIds.has(event.id)
  if (!log.some(isArchived)) return
  const kept = log.flatMap((event, index) => (isArchived(event) ? [] : [index + 1]))
  await repository.commit(sessionId, {
    now: Date.now(),
    events: [],
    boundary: { summaries: [], kept: rangesOf(kept), through: log.length, rewound: [] },
    operationId: 'archived by the vector',
  })
}

/** The sessions that a log's events name, in order, with their events. */
export function bySession(
  log: readonly VectorEvent[],
  fallback: string,
): ReadonlyMap<string, readonly VectorEvent[]> {
  const sessions = new Map<string, VectorEvent[]>()
  for (const event of log) {
    const id = event.sessionId ?? fallback
    const events = sessions.get(id)
    if (events === undefined) sessions.set(id, [event])
    else events.push(event)
  }
  return sessions
}

/** The log of a case. */
export function logOf(value: unknown): readonly VectorEvent[] {
  return asList<VectorEvent>(value).filter((event) => asObject(event)['id'] !== undefined)
}
