/** An event as text: what summaries are made from and what token estimates are taken of. */

import { reading } from './errors.ts'
import type { Message } from './message.ts'
import type { SessionEvent } from './session.ts'

/** Renders an event as text. */
export type EventFormatter = (event: SessionEvent) => string

const SPEAKERS = { user: 'User', assistant: 'Assistant', system: 'System', tool: 'Tool' } as const

/**
 * `User: Where is my parcel?`, `Assistant: Let me see. [calls track({"parcel":88})]`,
 * `Tool: [track -> at Porto hub]`. Images and files are named, not included.
 *
 * @throws SessionError `INVALID_ARGUMENT` when it is no event.
 */
export function formatEvent(event: SessionEvent): string {
  return reading('INVALID_ARGUMENT', 'event', () => {
    const { message } = event
    return `${SPEAKERS[message.role]}: ${formatContent(message)}`
  })
}

function formatContent({ content }: Message): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => formatPart(part as Readonly<Record<string, unknown>>))
    .filter((text) => text !== '')
    .join('\n')
}

function formatPart(part: Readonly<Record<string, unknown>>): string {
  switch (part['type']) {
    case 'text':
      return String(part['text'])
    case 'reasoning':
      return '' // The model's own notes: not sent back by most providers, and nothing to remember.
    case 'tool-call':
      return `[calls ${part['toolName']}(${toText(part['input'])})]`
    case 'tool-result':
      return `[${part['toolName']} -> ${toText(outputValue(part['output']))}]`
    default:
      return `[${part['type']}${typeof part['mediaType'] === 'string' ? ` ${part['mediaType']}` : ''}]`
  }
}

/** AI SDK wraps a tool's output as `{ type, value }`. */
function outputValue(output: unknown): unknown {
  return typeof output === 'object' && output !== null && 'value' in output ? output.value : output
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
