/** Puts `UIMessage`s together from the events of a log. */

import type { ModelMessage, UIMessage } from 'ai'
import type { JsonObject } from '../../core/json.ts'
import type { SessionEvent } from '../../core/session.ts'
import { addAnswer, partsOfWords } from './derived-parts.ts'
import type { StoredUiMessage } from './ui-message-growth.ts'
import { applyPatch, readUiMetadata, type UiRole } from './ui-message-log.ts'
import type { ModelPart, UiPart } from './ui-part.ts'

/** A message and the events that it is made of. */
export interface MessageGroup extends StoredUiMessage {
  readonly events: readonly SessionEvent<ModelMessage>[]
}

interface GrowingGroup {
  readonly id: string
  readonly role: UiRole
  rest: JsonObject
  readonly parts: (UiPart | undefined)[]
  readonly events: SessionEvent<ModelMessage>[]
}

/**
 * The messages of these events, each at its first place. Summaries, what was rewound and what was erased
 * are left out. Events that belong to no `UIMessage` make their own: an answer with its tool results is
 * one message, named by its first event.
 */
export function groupEvents(events: Iterable<SessionEvent<ModelMessage>>): readonly MessageGroup[] {
  const groups = new Map<string, GrowingGroup>()
  /** An answer without a `UIMessage` that the next event may belong to. */
  let open: GrowingGroup | null = null
  const groupOf = (id: string, role: UiRole): GrowingGroup => {
    const known = groups.get(id)
    if (known !== undefined) return known
    const group: GrowingGroup = { id, role, rest: {}, parts: [], events: [] }
    groups.set(id, group)
    return group
  }
  for (const event of events) {
    const { message, metadata } = event
    if (!isShown(event)) continue
    const given = readUiMetadata(metadata)
    let group: GrowingGroup
    if (given !== null) {
      open = null
      group = groupOf(given.id, given.role ?? roleOf(message))
      if (given.rest !== undefined) group.rest = given.rest
      const content = typeof message.content === 'string' ? [] : message.content
      for (const patch of given.parts) {
        const before = group.parts[patch.at]
        group.parts[patch.at] = applyPatch(patch, content as unknown as ModelPart[], before)
      }
    } else if (message.role === 'assistant' || message.role === 'tool') {
      open ??= groupOf(event.id, 'assistant')
      group = open
      addAnswer(group.parts, message)
    } else {
      open = null
      group = groupOf(event.id, message.role)
      group.parts.push(...partsOfWords(message))
    }
    group.events.push(event)
  }
  return [...groups.values()]
}

/** Whether an event is part of what people see of a conversation. */
export function isShown({ metadata, synthetic, rewound }: SessionEvent<ModelMessage>): boolean {
  return !synthetic && !rewound && metadata['erased'] !== true
}

/** Whether a message begins with this event, as far as it alone can tell. */
export function beginsMessage({ message, metadata }: SessionEvent<ModelMessage>): boolean {
  const given = readUiMetadata(metadata)
  if (given !== null) return given.role !== undefined
  return message.role === 'user' || message.role === 'system'
}

/** The message, unless nothing of it is left: the AI SDK refuses words without parts. */
export function toUiMessage({ id, role, rest, parts }: StoredUiMessage): UIMessage | null {
  const left = parts.filter((part) => part !== undefined)
  if (left.length === 0 && role !== 'assistant') return null
  return { id, ...rest, role, parts: left } as unknown as UIMessage
}

function roleOf({ role }: ModelMessage): UiRole {
  return role === 'tool' ? 'assistant' : role
}
