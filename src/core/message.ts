/** Messages: structurally what AI SDK calls `ModelMessage`, without importing it. */

import { describeValue, invalid, reading } from './errors.ts'
import { type JsonObject, toStoredObject } from './json.ts'

/** Who speaks. */
export type MessageType = 'user' | 'assistant' | 'system' | 'tool'

/** All message types. */
export const MESSAGE_TYPES: readonly MessageType[] = ['user', 'assistant', 'system', 'tool']

/**
 * The parts that turnlog itself reads. A message may hold any other part, with any further keys; they
 * are kept as they are.
 */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool-call'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
    }
  | {
      readonly type: 'tool-result'
      readonly toolCallId: string
      readonly toolName: string
      readonly output: unknown
    }
  | { readonly type: 'image' | 'file'; readonly mediaType?: string | undefined }

/** What turnlog needs to know of a message. AI SDK's `ModelMessage` is one. */
export interface Message {
  readonly role: MessageType
  readonly content: string | readonly { readonly type: string }[]
}

/**
 * The text of a message: its string content, or its `text` parts joined by a line feed; `''` when there
 * is none. Reasoning, tool calls and tool results are not text.
 *
 * @throws SessionError `INVALID_EVENT` when it is no message.
 */
export function messageText(message: Message): string {
  return reading('INVALID_EVENT', 'message', () => {
    const { content } = message
    if (typeof content === 'string') return content
    return content
      .filter((part): part is { type: 'text'; text: string } => {
        return part.type === 'text' && typeof (part as { text?: unknown }).text === 'string'
      })
      .map((part) => part.text)
      .join('\n')
  })
}

/**
 * The stored form of a message, as a snapshot.
 *
 * @throws SessionError `INVALID_EVENT` naming the path of what is wrong.
 */
export function toStoredMessage(value: unknown, path = 'message'): JsonObject & Message {
  return reading('INVALID_EVENT', path, () => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid('INVALID_EVENT', path, `must be an object, not ${describeValue(value)}`)
    }
    const message = toStoredObject(value, path)
    checkMessage(message, path)
    return message as JsonObject & Message
  })
}

/**
 * Checks the shape of a message, its snapshot or itself.
 *
 * @throws SessionError `INVALID_EVENT` naming the path of what is wrong.
 */
export function checkMessage(message: object, path: string): asserts message is Message {
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
  if (!MESSAGE_TYPES.includes(role as MessageType)) {
    throw invalid(
      'INVALID_EVENT',
      `${path}.role`,
      `must be one of ${MESSAGE_TYPES.join(', ')}, not ${describeValue(role)}`,
    )
  }
  if (typeof content === 'string') return
  if (!Array.isArray(content)) {
    throw invalid(
      'INVALID_EVENT',
      `${path}.content`,
      `must be a string or an array of parts, not ${describeValue(content)}`,
    )
  }
  for (const [index, part] of content.entries()) checkPart(part, `${path}.content[${index}]`)
}

function checkPart(part: unknown, path: string): void {
  const type = (part as { type?: unknown } | null)?.type
  if (typeof type !== 'string')
    throw invalid('INVALID_EVENT', path, 'must be a part with a string "type"')
  if (type === 'text' && typeof (part as { text?: unknown }).text !== 'string') {
    throw invalid('INVALID_EVENT', `${path}.text`, 'must be a string')
  }
  if (type === 'tool-call' || type === 'tool-result') {
    if (typeof (part as { toolCallId?: unknown }).toolCallId !== 'string') {
      throw invalid('INVALID_EVENT', `${path}.toolCallId`, 'must be a string')
    }
  }
}
