/** Parts of a `UIMessage` made of model messages that came into the log without one. */

import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { isToolPart, type ModelPart, type UiPart } from './ui-part.ts'

/** The parts of what a user or the system said. */
export function partsOfWords({ content }: Message): readonly UiPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content as readonly ModelPart[]).flatMap((part) => wordPart(part) ?? [])
}

/**
 * Adds what an assistant said, or what tools answered, to the parts of an answer: results and approvals
 * go into the part of their call.
 */
export function addAnswer(parts: (UiPart | undefined)[], { role, content }: Message): void {
  if (role === 'assistant') parts.push({ type: 'step-start' })
  if (typeof content === 'string') {
    if (content !== '') parts.push({ type: 'text', text: content, state: 'done' })
    return
  }
  for (const part of content as readonly ModelPart[]) {
    switch (part.type) {
      case 'tool-call':
        parts.push(callPart(part))
        break
      case 'tool-approval-request':
        change(
          parts,
          (call) => call['toolCallId'] === part['toolCallId'],
          (call) => ({
            ...call,
            state: 'approval-requested',
            approval: pick(part, {
              approvalId: 'id',
              isAutomatic: 'isAutomatic',
              reason: 'requestReason',
              signature: 'signature',
              inputSchemaInput: 'inputSchemaInput',
            }),
          }),
        )
        break
      case 'tool-approval-response':
        change(
          parts,
          (call) => approvalOf(call)['id'] === part['approvalId'],
          (call) => ({
            ...call,
            state: 'approval-responded',
            approval: {
              ...approvalOf(call),
              ...pick(part, { approved: 'approved', reason: 'reason' }),
            },
          }),
        )
        break
      case 'tool-result': {
        const isOwn = (call: UiPart) => call['toolCallId'] === part['toolCallId'] && !isDone(call)
        if (!change(parts, isOwn, (call) => withResult(call, part))) {
          parts.push(withResult(callPart(part), part))
        }
        break
      }
      default: {
        const word = answerPart(part)
        if (word !== undefined) parts.push(word)
      }
    }
  }
}

function change(
  parts: (UiPart | undefined)[],
  isIt: (part: UiPart) => boolean,
  changed: (part: UiPart) => UiPart,
): boolean {
  const index = parts.findLastIndex((part) => part !== undefined && isToolPart(part) && isIt(part))
  const part = parts[index]
  if (part === undefined) return false
  parts[index] = changed(part)
  return true
}

function approvalOf(part: UiPart): JsonObject {
  return (part['approval'] ?? {}) as JsonObject
}

function isDone({ state }: UiPart): boolean {
  return state === 'output-available' || state === 'output-error' || state === 'output-denied'
}

function callPart(part: ModelPart): UiPart {
  return {
    type: `tool-${part['toolName']}`,
    toolCallId: part['toolCallId'] ?? '',
    state: 'input-available',
    ...pick(part, {
      input: 'input',
      providerExecuted: 'providerExecuted',
      ...(part.type === 'tool-call' ? { providerOptions: 'callProviderMetadata' } : {}),
    }),
  }
}

function withResult(call: UiPart, result: ModelPart): UiPart {
  const output = (result['output'] ?? {}) as JsonObject
  const value = output['value']
  const options = result['providerOptions']
  const own =
    call['providerExecuted'] === true && options !== undefined
      ? { resultProviderMetadata: options }
      : {}
  switch (output['type']) {
    case 'error-text':
    case 'error-json':
      return refused(call, typeof value === 'string' ? value : JSON.stringify(value ?? null), own)
    case 'execution-denied':
      return refused(call, String(output['reason'] ?? 'Tool call execution denied.'), own)
    default:
      return { ...call, state: 'output-available', output: value ?? null, ...own }
  }
}

function refused(call: UiPart, errorText: string, own: JsonObject): UiPart {
  return approvalOf(call)['approved'] === false
    ? { ...call, state: 'output-denied' }
    : { ...call, state: 'output-error', errorText, ...own }
}

function wordPart(part: ModelPart): UiPart | undefined {
  switch (part.type) {
    case 'text':
      return { type: 'text', ...pick(part, { text: 'text', providerOptions: 'providerMetadata' }) }
    case 'image':
      return filePart({ ...part, mediaType: part['mediaType'] ?? 'image' }, part['image'])
    case 'file':
      return filePart(part, part['data'])
    default:
      return undefined
  }
}

function answerPart(part: ModelPart): UiPart | undefined {
  const metadata = { providerOptions: 'providerMetadata' }
  switch (part.type) {
    case 'reasoning':
      return { type: 'reasoning', ...pick(part, { text: 'text', ...metadata }), state: 'done' }
    case 'custom':
      return { type: 'custom', ...pick(part, { kind: 'kind', ...metadata }) }
    case 'reasoning-file':
      return filePart(part, part['data'])
    case 'text': {
      const text = wordPart(part)
      return text && { ...text, state: 'done' }
    }
    default:
      return wordPart(part)
  }
}

function filePart(part: ModelPart, data: JsonValue | undefined): UiPart {
  const type = part.type === 'reasoning-file' ? 'reasoning-file' : 'file'
  return {
    type,
    ...pick(part, {
      mediaType: 'mediaType',
      ...(type === 'file' ? { filename: 'filename' } : {}),
      providerOptions: 'providerMetadata',
    }),
    ...toAddress(data, String(part['mediaType'] ?? '')),
  }
}

/** Where a file is: an address, what a provider calls it, or its bytes as a `data:` address. */
function toAddress(data: JsonValue | undefined, mediaType: string): JsonObject {
  if (typeof data === 'string') {
    const isAddress = /^(?:data|https?|blob|file):/i.test(data)
    return { url: isAddress ? data : `data:${mediaType};base64,${data}` }
  }
  const { type, url, data: bytes, reference, text } = (data ?? {}) as JsonObject
  if (type === 'url') return { url: String(url) }
  if (type === 'data') return { url: `data:${mediaType};base64,${bytes}` }
  if (type === 'text') return { url: `data:text/plain,${encodeURIComponent(String(text))}` }
  return { url: '', providerReference: (type === 'reference' ? reference : data) ?? {} }
}

/** The values of a part under other names. */
function pick(part: ModelPart, names: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(names).flatMap(([from, to]) => {
      const value = part[from]
      return value === undefined ? [] : [[to, value]]
    }),
  )
}
