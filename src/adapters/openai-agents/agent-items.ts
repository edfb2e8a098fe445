/**
 * Items of the OpenAI Agents SDK as events and back. Messages become messages, calls and results of any
 * kind become tool calls and results, so that turns, search and compaction see what they are; what a
 * message cannot hold lies in the event's metadata.
 */

import type { AgentInputItem } from '@openai/agents-core'
import { type JsonObject, type JsonValue, toStoredObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { SessionEvent } from '../../core/session.ts'

/** The key in an event's metadata that holds the rest of an item. */
export const METADATA_AGENT_ITEM = 'agentItem'

/** What an event is made from. */
export interface ItemEvent {
  readonly message: Message
  readonly metadata: JsonObject
}

interface ItemMetadata {
  /** Keys of the item that the message does not hold. */
  readonly rest: JsonObject
  /** What the text parts of the message were called. */
  readonly types?: readonly (string | null)[]
  /** The arguments of a call are no JSON, or JSON that would be written otherwise: kept as text. */
  readonly raw?: true
  /** Where bytes were, which are stored as base64. */
  readonly bytes?: readonly (readonly (string | number)[])[]
}

type Part = JsonObject & { readonly type: string }

/** @throws SessionError `INVALID_EVENT` naming what cannot be stored. */
export function toItemEvent(item: AgentInputItem, path: string): ItemEvent {
  const stored = toStoredObject(item, path)
  const { message, ...metadata } = encode(stored)
  const bytes = findBytes(item, [])
  return {
    message,
    metadata: {
      [METADATA_AGENT_ITEM]: {
        ...metadata,
        ...(bytes.length > 0 ? { bytes } : {}),
      } as unknown as JsonObject,
    },
  }
}

/** The items that an event holds: one, unless it came from elsewhere. */
export function itemsOf({ message, metadata }: SessionEvent): readonly AgentInputItem[] {
  const given = metadata[METADATA_AGENT_ITEM] as unknown as ItemMetadata | undefined
  if (metadata['erased'] === true) return []
  if (given === undefined) return derivedItems(message) as unknown as AgentInputItem[]
  const item = decode(message, given)
  for (const path of given.bytes ?? []) reviveBytes(item, path)
  return [item as unknown as AgentInputItem]
}

function encode(item: JsonObject): { readonly message: Message } & ItemMetadata {
  const { type, role, content, callId, name, output, ...rest } = item
  if ((type === undefined || type === 'message') && typeof role === 'string') {
    const kept = { ...rest, ...given({ type, callId, name, output }) }
    if (!Array.isArray(content)) {
      return { message: { role, content: content ?? '' } as Message, rest: kept }
    }
    const parts = content as readonly Part[]
    return {
      message: {
        role,
        content: parts.map((part) => (isText(part) ? { ...part, type: 'text' } : part)),
      } as Message,
      rest: kept,
      types: parts.map((part) => (isText(part) ? part.type : null)),
    }
  }
  if (type === 'function_call' && typeof callId === 'string') {
    const { arguments: text, ...other } = rest
    const input = parseExactly(text)
    return {
      message: call(callId, name, input === undefined ? (text ?? null) : input),
      rest: { ...other, ...given({ type, role, content, output }) },
      ...(input === undefined ? { raw: true } : {}),
    }
  }
  if (type === 'function_call_result' && typeof callId === 'string') {
    return {
      message: result(callId, name, output ?? null),
      rest: { ...rest, ...given({ type, role, content }) },
    }
  }
  const own = given({ role, content, name, output, ...rest })
  if (typeof type === 'string' && typeof callId === 'string') {
    const toolName = type.replace(/_(?:result|output)$/, '')
    const message = toolName === type ? call(callId, toolName, own) : result(callId, toolName, own)
    return { message, rest: { type } }
  }
  const part = { type: 'agent-item', item }
  return { message: { role: 'assistant', content: [part] } as Message, rest: {} }
}

function decode(message: Message, { rest, types, raw }: ItemMetadata): Record<string, JsonValue> {
  const { role, content } = message as unknown as { role: string; content: JsonValue }
  const [part] = (Array.isArray(content) ? content : []) as readonly Part[]
  const { type } = rest
  if (part?.type === 'agent-item') return { ...(part['item'] as JsonObject) }
  if (type === undefined || type === 'message') {
    const parts = (content as readonly Part[] | string) ?? ''
    return {
      ...rest,
      role,
      content:
        typeof parts === 'string'
          ? parts
          : parts.map((each, index) => ({ ...each, type: types?.[index] ?? each.type })),
    }
  }
  const { toolCallId: callId = '', toolName: name, input, output }: JsonObject = part ?? {}
  const value = (output as JsonObject | undefined)?.['value'] ?? null
  if (type === 'function_call') {
    const text = raw === true ? input : JSON.stringify(input)
    return { ...rest, callId, ...given({ name, arguments: text }) }
  }
  if (type === 'function_call_result') {
    return { ...rest, callId, ...given({ name, output: value }) }
  }
  return { ...rest, callId, ...((input ?? value) as JsonObject) }
}

function isText({ type }: Part): boolean {
  return type === 'input_text' || type === 'output_text'
}

function call(toolCallId: string, toolName: JsonValue | undefined, input: JsonValue): Message {
  const part = { type: 'tool-call', toolCallId, toolName, input }
  return { role: 'assistant', content: [part] } as Message
}

function result(toolCallId: string, toolName: JsonValue | undefined, value: JsonValue): Message {
  const output = { type: typeof value === 'string' ? 'text' : 'json', value }
  const part = { type: 'tool-result', toolCallId, toolName, output }
  return { role: 'tool', content: [part] } as Message
}

/** The value of JSON that is written as `JSON.stringify` writes it. */
function parseExactly(text: JsonValue | undefined): JsonValue | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value = JSON.parse(text) as JsonValue
    return JSON.stringify(value) === text ? value : undefined
  } catch {
    return undefined // models write what they want
  }
}

/** The values that are there. */
function given(values: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  )
}

/** Items for messages that did not come from the Agents SDK, such as summaries. */
function derivedItems({ role, content }: Message): readonly JsonObject[] {
  const parts = (
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  ) as readonly Part[]
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => String(text))
  if (role === 'system') return [{ type: 'message', role, content: texts.join('\n') }]
  if (role === 'user') {
    const own = parts.flatMap((part) => userPart(part) ?? [])
    return own.length === 0 ? [] : [{ type: 'message', role, content: own }]
  }
  const items = parts.map(callItem).filter((item) => item !== undefined)
  const said = texts.filter((text) => text !== '').map((text) => ({ type: 'output_text', text }))
  if (said.length > 0 && role === 'assistant') {
    items.unshift({ type: 'message', role, status: 'completed', content: said })
  }
  return items
}

function userPart(part: Part): JsonObject | undefined {
  const address = (data: JsonValue | undefined): string => {
    if (typeof data !== 'string') return String((data as JsonObject | undefined)?.['url'] ?? '')
    const isAddress = /^(?:data|https?):/i.test(data)
    return isAddress ? data : `data:${part['mediaType'] ?? 'image/png'};base64,${data}`
  }
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part['text'] ?? '' }
    case 'image':
      return { type: 'input_image', image: address(part['image']) }
    case 'file':
      return { type: 'input_file', file: address(part['data']) }
    default:
      return undefined
  }
}

function callItem(part: Part): JsonObject | undefined {
  const { type, toolCallId: callId = '', toolName: name = '', input, output } = part
  if (type === 'tool-call') {
    const text = JSON.stringify(input ?? {})
    return { type: 'function_call', callId, name, arguments: text, status: 'completed' }
  }
  if (type !== 'tool-result') return undefined
  const value = (output as JsonObject | undefined)?.['value'] ?? null
  const told = typeof value === 'string' ? value : JSON.stringify(value)
  return { type: 'function_call_result', callId, name, output: told, status: 'completed' }
}

function findBytes(
  value: unknown,
  path: readonly (string | number)[],
): (readonly (string | number)[])[] {
  if (value instanceof Uint8Array) return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) =>
    findBytes(each, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

/** Puts bytes back where they were. */
function reviveBytes(item: Record<string, JsonValue>, path: readonly (string | number)[]): void {
  let holder: unknown = item
  for (const key of path.slice(0, -1)) holder = (holder as Record<string | number, unknown>)?.[key]
  const last = path.at(-1)
  const base64 = last === undefined ? undefined : (holder as Record<string, unknown>)?.[last]
  if (last === undefined || typeof base64 !== 'string') return
  ;(holder as Record<string | number, unknown>)[last] = fromBase64(base64)
}

function fromBase64(text: string): Uint8Array {
  const digits = text.replace(/=+$/, '')
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4))
  for (let index = 0, bits = 0, filled = 0, position = 0; index < digits.length; index++) {
    bits = (bits << 6) | BASE64.indexOf(digits.charAt(index))
    filled += 6
    if (filled < 8) continue
    filled -= 8
    bytes[position++] = bits >> filled
    bits &= (1 << filled) - 1
  }
  return bytes
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
