/** The messages of `useChat` in a session: stored as they grow, loaded as they were, edited by rewinding. */

import type { ModelMessage, UIMessage } from 'ai'
import { invalidArgument, isSessionError, SessionError } from '../../core/errors.ts'
import { checkId } from '../../core/identifiers.ts'
import { isSameJson, toStoredObject } from '../../core/json.ts'
import { type RewindTarget, readTarget } from '../../core/rewind.ts'
import type { SessionEvent, TimeToLive } from '../../core/session.ts'
import type { SessionService } from '../../core/session-service.ts'
import { type ChatCursor, eventsAfter, readCursor, readPage } from './chat-page.ts'
import { type ReplyOptions, type ReplyRecording, recordReply } from './reply-recording.ts'
import { groupEvents, isShown, type MessageGroup, toUiMessage } from './ui-message-groups.ts'
import {
  growMessage,
  type MessageDraft,
  type StoredUiMessage,
  toStoredUiMessage,
} from './ui-message-growth.ts'
import { METADATA_UI_MESSAGE, readUiMetadata } from './ui-message-log.ts'
import type { PartConversion } from './ui-part.ts'

export interface ChatHistoryOptions extends PartConversion {
  /** Whose sessions are created. Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** Lifetime of sessions that are created. Default: the service's. */
  readonly timeToLive?: TimeToLive | undefined
}

/** A message and where it is in its session. */
export interface ChatEntry<UI extends UIMessage = UIMessage> {
  readonly message: UI
  /** When its first event was appended. */
  readonly timestamp: Date
  /** It has left the active view. */
  readonly archived: boolean
  /** Its events, in order: what `conversation_search` and `getEvents` find it by. */
  readonly eventIds: readonly string[]
}

export interface ChatPage<UI extends UIMessage = UIMessage> {
  /** Oldest first. */
  readonly entries: readonly ChatEntry<UI>[]
  /** Give it to the next call for the messages before; `null` at the beginning of the conversation. */
  readonly cursor: string | null
}

/** What a transport of `useChat` sends. */
export interface ChatRequest<UI extends UIMessage = UIMessage> {
  readonly trigger: 'submit-message' | 'regenerate-message'
  /** What is edited or regenerated, or the answer that goes on. */
  readonly messageId?: string | null | undefined
  /** The conversation as the chat holds it: all of it, or its end. */
  readonly messages: readonly UI[]
}

/** By the id of the first message that is taken out of the view, or of the last one that stays. */
export type ChatRewindTarget = RewindTarget

/** The chats of a service, by session id. */
export interface ChatHistory<UI extends UIMessage = UIMessage> {
  /**
   * The whole conversation, archived messages included, rewound ones and summaries left out; empty for an
   * unknown session. What `useChat` takes as its `messages`.
   */
  load(sessionId: string): Promise<UI[]>
  /**
   * The last messages, or those before a cursor, without reading the rest of the log.
   *
   * @throws SessionError `INVALID_ARGUMENT`
   */
  page(
    sessionId: string,
    options?: {
      /** Messages per page. Default 50. */
      readonly limit?: number | null | undefined
      /** The `cursor` of the page after. */
      readonly cursor?: string | null | undefined
    } | null,
  ): Promise<ChatPage<UI>>
  /**
   * Stores what is new in these messages: messages that are not there yet, and what was added to those
   * that are. Storing a message again changes nothing, and a copy that is behind takes nothing away. When
   * the newest message is no longer what it was, it is replaced. The session is created when needed.
   *
   * @throws SessionError `INVALID_ARGUMENT` when an older message is no longer what it was; `NOT_OWNER`,
   * `INVALID_EVENT`, `EVENT_TOO_LARGE`.
   */
  save(sessionId: string, messages: readonly UI[]): Promise<void>
  /**
   * Stores what a chat sends: a new question, an edited one, which takes the old one and what followed out
   * of the view, the answer to be regenerated, which leaves it, or what the page itself added to an answer.
   *
   * @throws SessionError as `save` does.
   */
  receive(sessionId: string, request: ChatRequest<UI>): Promise<void>
  /**
   * Stores an answer while it streams: after every step, and at its end, also when it was stopped. Spread
   * the result into the options of `toUIMessageStream`.
   */
  recordReply(sessionId: string, options: ReplyOptions<UI>): ReplyRecording<UI>
  /**
   * Takes messages out of the view, for good.
   *
   * @returns how many events left the view.
   * @throws SessionError `EVENT_NOT_FOUND` when there is no such message.
   */
  rewind(sessionId: string, target: ChatRewindTarget): Promise<number>
}

/** How often a message is looked at anew when another writer was faster. */
const ATTEMPTS = 8
/** With more messages than this, the log is read once instead of message by message. */
const MANY_MESSAGES = 8

/** A message as the log holds it. */
interface StoredMessage {
  readonly group: MessageGroup | null
  /** How many ids of its own are taken. */
  readonly taken: number
  /** Something of it was erased: a copy must not bring that back. */
  readonly isErased: boolean
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function createChatHistory<UI extends UIMessage = UIMessage>(
  service: SessionService<ModelMessage>,
  options: ChatHistoryOptions | null = {},
): ChatHistory<UI> {
  const { userId, timeToLive } = options ?? {}
  const conversion: PartConversion = options ?? {}

  /** Creates the session when it is not there. */
  const open = async (sessionId: string): Promise<void> => {
    const session = await service.findById(sessionId)
    if (session === null || (userId ?? session.userId) !== session.userId) {
      // Says as well that it belongs to somebody else.
      await service.findOrCreate({ id: sessionId, userId, timeToLive })
    }
  }

  /** One message, found by the ids of its events. */
  const findMessage = async (sessionId: string, id: string): Promise<StoredMessage> => {
    const events: SessionEvent<ModelMessage>[] = []
    let taken = 0
    for (; ; taken++) {
      const event = await service.findEvent(sessionId, eventIdOf(id, taken))
      if (event === null) break
      events.push(event)
    }
    const [first] = events
    if (first !== undefined && isShown(first) && readUiMetadata(first.metadata) === null) {
      // Not stored as a UIMessage: what belongs to it stands behind it.
      for await (const event of eventsAfter(service, sessionId, first.seq)) {
        if (!isShown(event)) continue
        if (!isAnswer(first) || !isAnswer(event) || readUiMetadata(event.metadata) !== null) break
        events.push(event)
      }
      events.sort((one, other) => one.seq - other.seq)
    }
    const own = events.filter(({ metadata }) => (readUiMetadata(metadata)?.id ?? id) === id)
    const group = groupEvents(own).find((each) => each.id === id) ?? null
    return { group, taken, isErased: events.some(({ metadata }) => metadata['erased'] === true) }
  }

  /** Many messages, found by reading the whole log. */
  const findMessages = async (
    sessionId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, StoredMessage>> => {
    const events = await service.getEvents(sessionId)
    const byId = new Map(events.map((event) => [event.id, event]))
    const groups = new Map(groupEvents(events).map((group) => [group.id, group]))
    return new Map(
      ids.map((id) => {
        let taken = 0
        let isErased = false
        for (let event = byId.get(id); event !== undefined; ) {
          taken += 1
          isErased ||= event.metadata['erased'] === true
          event = byId.get(eventIdOf(id, taken))
        }
        return [id, { group: groups.get(id) ?? null, taken, isErased }]
      }),
    )
  }

  /** Appends what is new; `false` when another writer came in between. */
  const append = async (
    sessionId: string,
    { taken }: StoredMessage,
    drafts: readonly MessageDraft[],
    expectedVersion: number,
  ): Promise<boolean> => {
    const inputs = drafts.map(({ message, uiMessage }, index) => ({
      id: eventIdOf(uiMessage.id, taken + index),
      message,
      metadata: { [METADATA_UI_MESSAGE]: uiMessage },
    }))
    if (inputs.length === 0) return true
    try {
      const stored = await service.appendEvents(sessionId, inputs, { expectedVersion })
      // The ids may all be there, for something that the other writer said.
      return stored.every((event, index) => {
        const { message, metadata } = inputs[index] ?? {}
        const own = toStoredObject({ message, metadata }, 'event')
        return isSameJson(own, { message: event.message, metadata: event.metadata } as never)
      })
    } catch (error) {
      if (isSessionError(error) && error.code === 'VERSION_CONFLICT') return false
      throw error
    }
  }

  const store = async (sessionId: string, message: StoredUiMessage, path: string) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const version = await service.getEventVersion(sessionId)
      const stored = await findMessage(sessionId, message.id)
      if (stored.isErased) return
      const growth = await growMessage(stored.group, message, conversion)
      if (growth.type === 'changed') {
        await replace(sessionId, stored.group, `${path}.${growth.field}`)
      } else if (await append(sessionId, stored, growth.drafts, version)) return
    }
    throw new SessionError(
      'VERSION_CONFLICT',
      `message "${message.id}" of session "${sessionId}" keeps changing`,
      { details: { sessionId, messageId: message.id } },
    )
  }

  const isNews = async ({ group, isErased }: StoredMessage, message: StoredUiMessage) => {
    if (isErased) return false
    const growth = await growMessage(group, message, conversion)
    return growth.type === 'changed' || growth.drafts.length > 0
  }

  /** Takes the newest message out of the view, so that another can take its place. */
  const replace = async (sessionId: string, group: MessageGroup | null, field: string) => {
    const [first] = group?.events ?? []
    if (first === undefined) return
    if ((await nextMessage(sessionId, group as MessageGroup)) !== null) {
      throw invalidArgument(
        field,
        'is not what is stored, and other messages follow: take them out of the view first',
      )
    }
    await service.rewind(sessionId, { before: first.id })
  }

  /** The first event of the message that follows. */
  const nextMessage = async (sessionId: string, { id, events }: MessageGroup) => {
    const own = new Set(events.map((event) => event.id))
    const [first] = events
    if (first === undefined) return null
    for await (const event of eventsAfter(service, sessionId, first.seq)) {
      const isOwn = own.has(event.id) || readUiMetadata(event.metadata)?.id === id
      if (isShown(event) && !isOwn) return event
    }
    return null
  }

  const save = async (sessionId: string, given: readonly UI[]) => {
    const id = checkId(sessionId, 'sessionId')
    if (!Array.isArray(given)) throw invalidArgument('messages', 'must be an array of messages')
    const messages = given.map((each, index) => toStoredUiMessage(each, `messages[${index}]`))
    await open(id)
    const ids = messages.map((message) => message.id)
    const all = messages.length > MANY_MESSAGES ? await findMessages(id, ids) : null
    for (const [index, message] of messages.entries()) {
      const known = all?.get(message.id)
      if (known !== undefined && !(await isNews(known, message))) continue
      await store(id, message, `messages[${index}]`)
    }
  }

  const rewind = async (sessionId: string, target: ChatRewindTarget) => {
    const { id: messageId, stays } = readTarget(target)
    const { group } = await findMessage(sessionId, messageId)
    const [first] = group?.events ?? []
    if (group === null || first === undefined) {
      throw new SessionError(
        'EVENT_NOT_FOUND',
        `message "${messageId}" is not in session "${sessionId}"`,
        { details: { sessionId, messageId } },
      )
    }
    if (!stays) return service.rewind(sessionId, { before: first.id })
    const next = await nextMessage(sessionId, group)
    return next === null ? 0 : service.rewind(sessionId, { before: next.id })
  }

  return {
    async load(sessionId) {
      const id = checkId(sessionId, 'sessionId')
      if ((await service.findById(id)) === null) return []
      const groups = groupEvents(await service.getEvents(id, { excludeSynthetic: true }))
      return groups.flatMap((group) => (toUiMessage(group) as UI | null) ?? [])
    },

    async page(sessionId, request) {
      const id = checkId(sessionId, 'sessionId')
      const limit = request?.limit ?? 50
      if (!Number.isSafeInteger(limit) || limit < 1) {
        throw invalidArgument('limit', 'must be a positive integer')
      }
      const { cursor } = request ?? {}
      const from: ChatCursor | null =
        cursor === null || cursor === undefined ? null : readCursor(cursor)
      const { groups, next } = await readPage(service, id, limit, from)
      return {
        entries: groups.flatMap((group) => toEntry<UI>(group) ?? []),
        cursor: next === null ? null : JSON.stringify(next),
      }
    },

    save,

    async receive(sessionId, { trigger, messageId, messages }) {
      const id = checkId(sessionId, 'sessionId')
      const last = messages.at(-1)
      if (trigger === 'regenerate-message') {
        await save(id, messages)
        if (last !== undefined) await rewind(id, { after: last.id })
        else if (messageId !== null && messageId !== undefined)
          await rewind(id, { before: messageId })
        return
      }
      // The page may also send an answer of the assistant, to which it has added something.
      if (last !== undefined && last.role === 'user' && last.id === messageId) {
        await open(id)
        const { group } = await findMessage(id, last.id)
        if (group !== null) {
          const message = toStoredUiMessage(last, `messages[${messages.length - 1}]`)
          const growth = await growMessage(group, message, conversion)
          const isSame = growth.type === 'grew' && growth.drafts.length === 0
          await rewind(id, isSame ? { after: last.id } : { before: last.id })
        }
      }
      await save(id, messages)
    },

    recordReply: (sessionId, request) =>
      recordReply(request, (message) => save(sessionId, [message])),

    rewind,
  }
}

function isAnswer({ message: { role } }: SessionEvent<ModelMessage>): boolean {
  return role === 'assistant' || role === 'tool'
}

/** The first event of a message is named as the message itself. */
function eventIdOf(messageId: string, index: number): string {
  return index === 0 ? messageId : `${messageId}:${index}`
}

function toEntry<UI extends UIMessage>(group: MessageGroup): ChatEntry<UI> | null {
  const message = toUiMessage(group)
  const [first] = group.events
  if (message === null || first === undefined) return null
  return {
    message: message as UI,
    timestamp: first.timestamp,
    archived: group.events.every(({ archived }) => archived),
    eventIds: group.events.map(({ id }) => id),
  }
}
