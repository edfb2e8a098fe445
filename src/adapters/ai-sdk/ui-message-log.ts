/**
 * How a `UIMessage` lies in a log: as events whose messages are what the model is told, and whose metadata
 * holds the rest. A message that grows gets further events. Read in order, they say how to put the message
 * together again, part by part.
 */

import { isSameJson, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { ModelPart, UiPart } from './ui-part.ts'

/** The key in an event's metadata. */
export const METADATA_UI_MESSAGE = 'uiMessage'

/** Who speaks in a `UIMessage`. */
export type UiRole = 'system' | 'user' | 'assistant'

/** What an event's metadata says of the `UIMessage` that it belongs to. */
export interface UiMessageMetadata {
  readonly id: string
  /** In the first event of a message only. */
  readonly role?: UiRole
  /** What the message holds besides id, role and parts, when it has changed. */
  readonly rest?: JsonObject
  readonly parts: readonly PartPatch[]
}

/** What one part is from this event on. */
export interface PartPatch {
  readonly at: number
  /** Its values, those left out that are found elsewhere. */
  readonly part: JsonObject
  /** Values that stand in the event's message: for each key, in which part of its content. */
  readonly take?: Readonly<Record<string, number>>
  /** Keys whose values stay as they were. */
  readonly keep?: readonly string[]
  /** The text that is taken goes behind the text that was there. */
  readonly add?: true
}

/** What the metadata of an event says; `null` when it belongs to no `UIMessage`. */
export function readUiMetadata(metadata: JsonObject): UiMessageMetadata | null {
  const value = metadata[METADATA_UI_MESSAGE] as unknown as Partial<UiMessageMetadata> | undefined
  return typeof value?.id === 'string' && Array.isArray(value.parts)
    ? (value as UiMessageMetadata)
    : null
}

/** A part after a patch. */
export function applyPatch(
  { part, take = {}, keep = [], add }: PartPatch,
  content: readonly ModelPart[],
  before: UiPart | undefined,
): UiPart {
  const values: Record<string, JsonValue> = { ...part }
  for (const key of keep) {
    const value = before?.[key]
    if (value !== undefined) values[key] = value
  }
  for (const [key, index] of Object.entries(take)) {
    const source = content[index]
    const value = source && sharedValue(source, key)
    if (value !== undefined) values[key] = value
  }
  if (add === true) values['text'] = `${before?.['text'] ?? ''}${values['text'] ?? ''}`
  return values as UiPart
}

/**
 * The patch that makes `part` of `before`, given where in a message parts of its content stand that tell
 * of it.
 */
export function patchFor(
  at: number,
  part: UiPart,
  content: readonly (readonly [index: number, part: ModelPart])[],
  before: UiPart | undefined,
): PartPatch {
  const own: Record<string, JsonValue> = {}
  const take: Record<string, number> = {}
  const keep: string[] = []
  for (const [key, value] of Object.entries(part)) {
    const source = content.find(([, other]) => isSameJson(sharedValue(other, key), value))
    if (source !== undefined) take[key] = source[0]
    else if (KEPT.includes(key) && isSameJson(before?.[key], value)) keep.push(key)
    else own[key] = value
  }
  return {
    at,
    part: own,
    ...(Object.keys(take).length > 0 ? { take } : {}),
    ...(keep.length > 0 ? { keep } : {}),
  }
}

/** Keys of a part whose values can be large. */
const KEPT = [
  'text',
  'url',
  'data',
  'input',
  'output',
  'errorText',
  'callProviderMetadata',
  'providerMetadata',
]

/** The value of a key of a `UIMessage`'s part, as a part of a model message holds it. */
function sharedValue(part: ModelPart, key: string): JsonValue | undefined {
  const output = part['output'] as JsonObject | undefined
  switch (`${part.type} ${key}`) {
    case 'text text':
    case 'reasoning text':
    case 'custom kind':
    case 'file mediaType':
    case 'file filename':
    case 'reasoning-file mediaType':
    case 'tool-call toolCallId':
    case 'tool-call toolName':
    case 'tool-call input':
    case 'tool-call providerExecuted':
      return part[key]
    case 'file url':
    case 'reasoning-file url':
      return typeof part['data'] === 'string' ? part['data'] : undefined
    case 'text providerMetadata':
    case 'reasoning providerMetadata':
    case 'custom providerMetadata':
    case 'file providerMetadata':
    case 'reasoning-file providerMetadata':
    case 'tool-call callProviderMetadata':
      return part['providerOptions']
    case 'tool-result output':
      return output?.['type'] === 'text' || output?.['type'] === 'json'
        ? output['value']
        : undefined
    case 'tool-result errorText':
      return output?.['type'] === 'error-text' || output?.['type'] === 'error-json'
        ? output['value']
        : undefined
    default:
      return undefined
  }
}
