/** MessageFilter: which messages a session memory stores. */

import { describeValue, invalidArgument, reading } from '../core/errors.ts'
import {
  checkMessage,
  MESSAGE_TYPES,
  type Message,
  type MessageType,
  messageText,
} from '../core/message.ts'
import { foldText } from '../core/text.ts'

/** A predicate over messages that can be combined with others; `INVALID_EVENT` for what is no message. */
export interface MessageFilter {
  (message: Message): boolean
  /** Both. */
  and(other: MessageFilter): MessageFilter
  /** At least one. */
  or(other: MessageFilter): MessageFilter
  /** The opposite. */
  negate(): MessageFilter
}

/** A filter from any predicate. */
export function messageFilter(matches: (message: Message) => boolean): MessageFilter {
  if (typeof matches !== 'function') {
    throw invalidArgument('messageFilter', `must be a function, not ${describeValue(matches)}`)
  }
  const filter = (message: Message) => {
    reading('INVALID_EVENT', 'message', () => checkMessage(message, 'message'))
    return matches(message)
  }
  return Object.assign(filter, {
    and: (other: MessageFilter) => {
      const second = checkOther(other)
      return messageFilter((message) => filter(message) && second(message))
    },
    or: (other: MessageFilter) => {
      const second = checkOther(other)
      return messageFilter((message) => filter(message) || second(message))
    },
    negate: () => messageFilter((message) => !filter(message)),
  })
}

function checkOther(other: MessageFilter): MessageFilter {
  if (typeof other !== 'function') {
    throw invalidArgument('other', `must be a MessageFilter, not ${describeValue(other)}`)
  }
  return other
}

/** Every message. */
export const allMessages: MessageFilter = messageFilter(() => true)

/** Drops assistant messages without text, tool calls or media; the default. */
export const skipEmptyMessages: MessageFilter = messageFilter((message) => {
  if (message.role !== 'assistant' || messageText(message).trim() !== '') return true
  return (
    typeof message.content !== 'string' &&
    message.content.some(({ type }) => type !== 'text' && type !== 'reasoning')
  )
})

/** Only messages of these types. */
export function byMessageType(...types: readonly MessageType[]): MessageFilter {
  if (types.length === 0) throw invalidArgument('types', 'must not be empty')
  for (const type of types) {
    if (!MESSAGE_TYPES.includes(type)) {
      throw invalidArgument('types', `must hold only ${MESSAGE_TYPES.join(', ')}`)
    }
  }
  return messageFilter((message) => types.includes(message.role))
}

/** Only messages whose text contains `keyword`, as `EventFilter` matches it. */
export function containsText(keyword: string): MessageFilter {
  if (typeof keyword !== 'string' || keyword.trim() === '') {
    throw invalidArgument('keyword', 'must be a text that is not blank')
  }
  const term = foldText(keyword)
  return messageFilter((message) => foldText(messageText(message)).includes(term))
}
