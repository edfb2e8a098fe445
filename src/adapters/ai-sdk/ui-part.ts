/** What the model is told of a part of a `UIMessage`, as `convertToModelMessages` tells it. */

import type { FilePart, TextPart, ToolSet } from 'ai'
import type { JsonObject, JsonValue } from '../../core/json.ts'

/** A part of a `UIMessage` in its stored form. */
export type UiPart = JsonObject & { readonly type: string }

/** A part of a model message in its stored form. */
export type ModelPart = JsonObject & { readonly type: string }

/** How parts become words for a model. */
export interface PartConversion {
  /** Their `toModelOutput` says what the model is told of an output. */
  readonly tools?: ToolSet | null | undefined
  /** What the model is told of a data part. Default: nothing. */
  readonly convertDataPart?:
    | ((part: DataPart) => TextPart | FilePart | undefined)
    | null
    | undefined
}

/** A data part of any name. */
export interface DataPart {
  type: `data-${string}`
  id?: string
  data: unknown
}

/**
 * One thing that the model is told of a part. A part that grows keeps what it said: a tool's result is
 * told once, after its call.
 */
export interface Piece {
  readonly kind: 'content' | 'call' | 'request' | 'response' | 'result'
  readonly role: 'user' | 'assistant' | 'tool'
  readonly parts: readonly ModelPart[]
}

/** All that the model is told of a part by now. */
export async function piecesOf(
  part: UiPart,
  role: 'system' | 'user' | 'assistant',
  conversion: PartConversion,
): Promise<readonly Piece[]> {
  if (isToolPart(part)) return role === 'assistant' ? toolPieces(part, conversion) : []
  if (part.type === 'steering-message') {
    const parts = (part['parts'] as readonly UiPart[]).flatMap((each) => contentOf(each) ?? [])
    return role === 'assistant' ? [{ kind: 'content', role: 'user', parts }] : []
  }
  const isWord = part.type === 'text' || part.type === 'file'
  const content = part.type.startsWith('data-')
    ? toStored(conversion.convertDataPart?.(part as unknown as DataPart))
    : role === 'assistant' || isWord
      ? contentOf(part)
      : undefined
  if (content === undefined || role === 'system') return []
  return [{ kind: 'content', role, parts: [content] }]
}

export function isToolPart(part: UiPart): boolean {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-')
}

export function toolNameOf(part: UiPart): string {
  return part.type === 'dynamic-tool' ? String(part['toolName']) : part.type.slice('tool-'.length)
}

function toStored(part: TextPart | FilePart | undefined): ModelPart | undefined {
  return part === undefined ? undefined : (JSON.parse(JSON.stringify(part)) as ModelPart)
}

function contentOf(part: UiPart): ModelPart | undefined {
  const options = withOptions(part['providerMetadata'])
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part['text'] ?? '', ...options }
    case 'reasoning':
      return { type: 'reasoning', text: part['text'] ?? '', ...options }
    case 'custom':
      return { type: 'custom', kind: part['kind'] ?? '', ...options }
    case 'file':
    case 'reasoning-file': {
      const { type, providerReference, url = '', mediaType = '', filename } = part
      // An address as plain text: the AI SDK takes it for what it is, also after it was stored.
      const data = providerReference ?? url
      const named = filename === undefined ? {} : { filename }
      return {
        type,
        data: providerReference === undefined ? data : { type: 'reference', reference: data },
        mediaType,
        ...named,
        ...options,
      }
    }
    default:
      return undefined
  }
}

async function toolPieces(part: UiPart, conversion: PartConversion): Promise<readonly Piece[]> {
  const { state, input, rawInput, errorText, output, toolCallId = '', preliminary } = part
  const { callProviderMetadata, resultProviderMetadata, providerExecuted } = part
  if (state === 'input-streaming') return []
  const toolName = toolNameOf(part)
  const names = { toolCallId, toolName }
  const approval = part['approval'] as JsonObject | undefined
  const isProviders = providerExecuted === true
  const byProvider = providerExecuted === undefined ? {} : { providerExecuted }
  const isError = state === 'output-error'
  const pieces: Piece[] = []
  const tell = (kind: Piece['kind'], role: Piece['role'], ...parts: readonly ModelPart[]) =>
    pieces.push({ kind, role, parts })

  const callMetadata = callProviderMetadata ?? (isError ? resultProviderMetadata : undefined)
  tell('call', 'assistant', {
    type: 'tool-call',
    ...names,
    ...given({ input: isError ? (input ?? rawInput) : input }),
    ...byProvider,
    ...withOptions(callMetadata),
  })
  if (approval !== undefined) {
    const { id = '', isAutomatic, requestReason, signature, inputSchemaInput } = approval
    tell('request', 'assistant', {
      type: 'tool-approval-request',
      approvalId: id,
      toolCallId,
      ...given({ isAutomatic, reason: requestReason, signature, inputSchemaInput }),
    })
  }
  if (approval?.['approved'] !== undefined) {
    const { id = '', approved, reason } = approval
    tell('response', 'tool', {
      type: 'tool-approval-response',
      approvalId: id,
      ...given({ approved, reason }),
      ...byProvider,
    })
  }

  const reason = approval?.['reason']
  const tellResult = (result: JsonValue, options: JsonValue | undefined = callProviderMetadata) =>
    tell('result', isProviders && state !== 'approval-responded' ? 'assistant' : 'tool', {
      type: 'tool-result',
      ...names,
      output: result,
      ...withOptions(options),
    })
  if (state === 'approval-responded' && approval?.['approved'] === false) {
    tellResult({ type: 'execution-denied', ...given({ reason }) })
  } else if (state === 'output-denied' && !isProviders) {
    tellResult({ type: 'error-text', value: reason ?? 'Tool call execution denied.' })
  } else if (isError) {
    const type = isProviders ? 'error-json' : 'error-text'
    tellResult({ type, value: errorText ?? '' }, resultOptions(part))
  } else if (state === 'output-available' && preliminary !== true) {
    tellResult(await toModelOutput(part, output, conversion), resultOptions(part))
  }
  return pieces
}

function resultOptions(part: UiPart): JsonValue | undefined {
  const { callProviderMetadata, resultProviderMetadata, providerExecuted } = part
  return providerExecuted === true
    ? (resultProviderMetadata ?? callProviderMetadata)
    : callProviderMetadata
}

async function toModelOutput(
  part: UiPart,
  output: JsonValue | undefined,
  { tools }: PartConversion,
): Promise<JsonValue> {
  const toolName = toolNameOf(part)
  const tool = tools && Object.hasOwn(tools, toolName) ? tools[toolName] : undefined
  const { toolCallId, input } = part
  const told = await tool?.toModelOutput?.({ toolCallId, input, output } as never)
  if (told !== undefined) return JSON.parse(JSON.stringify(told)) as JsonValue
  // The AI SDK's own mark of a tool that is gone: its raw output is not for the model.
  if (tool === undefined && part.type === 'dynamic-tool' && part['dynamic'] === false) {
    return {
      type: 'text',
      value: 'Tool output omitted because the tool is no longer available.',
    }
  }
  return typeof output === 'string'
    ? { type: 'text', value: output }
    : { type: 'json', value: output ?? null }
}

function withOptions(metadata: JsonValue | undefined): JsonObject {
  return metadata === undefined ? {} : { providerOptions: metadata }
}

/** The values that are there. */
function given(values: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  )
}
