/** What one step of a stream has said so far, for when it never ends: the AI SDK gives only finished steps. */

import type { ModelMessage, ToolSet } from 'ai'

/** A part of an answer, in the form of the AI SDK's `ContentPart`. */
interface AnswerPart {
  readonly type: string
  readonly [key: string]: unknown
}

/** Collects the parts of one step. */
export interface PartialAnswer {
  /** A part of the stream. */
  add(chunk: AnswerPart): void
  /** What there is, as messages; then begins anew. */
  take(tools: ToolSet | undefined): Promise<ModelMessage[]>
}

export function createPartialAnswer(): PartialAnswer {
  let parts: Record<string, unknown>[] = []
  /** By kind and id: the texts that are still growing. */
  let growing = new Map<string, Record<string, unknown>>()

  return {
    add(chunk) {
      const [kind, event] = splitType(chunk.type)
      const key = `${kind} ${String(chunk['id'])}`
      const metadata = chunk['providerMetadata']
      if (event === 'start') {
        const part = { type: kind, text: '', providerMetadata: metadata }
        growing.set(key, part)
        parts.push(part)
      } else if (event !== null) {
        const part = growing.get(key)
        if (part === undefined) return
        if (event === 'delta') part['text'] = `${part['text']}${String(chunk['text'])}`
        part['providerMetadata'] = metadata ?? part['providerMetadata']
        if (event === 'end') growing.delete(key)
      } else if (CONTENT.includes(chunk.type) && chunk['preliminary'] !== true) {
        parts.push(chunk)
      }
    },
    async take(tools) {
      const taken = parts as unknown as readonly AnswerPart[]
      parts = []
      growing = new Map()
      return toMessages(taken, tools)
    },
  }
}

/** What of a stream is content of the answer. */
const CONTENT = [
  'custom',
  'file',
  'reasoning-file',
  'tool-call',
  'tool-result',
  'tool-error',
  'tool-approval-request',
  'tool-approval-response',
]

function splitType(type: string): readonly [kind: string, event: string | null] {
  const match = /^(text|reasoning)-(start|delta|end)$/.exec(type)
  return [match?.[1] ?? type, match?.[2] ?? null]
}

/** As the AI SDK makes messages of a finished step. */
async function toMessages(
  parts: readonly AnswerPart[],
  tools: ToolSet | undefined,
): Promise<ModelMessage[]> {
  const said: unknown[] = []
  const results: unknown[] = []
  for (const part of parts) {
    const { type, toolCallId, toolName, providerExecuted, providerMetadata } = part
    const rest = { providerOptions: providerMetadata }
    switch (type) {
      case 'text':
        if (part['text'] !== '' || providerMetadata !== undefined)
          said.push({ type, text: part['text'], ...rest })
        break
      case 'reasoning':
        said.push({ type, text: part['text'], ...rest })
        break
      case 'custom':
        said.push({ type, kind: part['kind'], ...rest })
        break
      case 'file':
      case 'reasoning-file': {
        const { base64, mediaType } = part['file'] as { base64: string; mediaType: string }
        said.push({ type, data: base64, mediaType, ...rest })
        break
      }
      case 'tool-call': {
        const isBroken = part['invalid'] === true && typeof part['input'] !== 'object'
        const input = isBroken ? {} : part['input']
        said.push({ type, toolCallId, toolName, input, providerExecuted, ...rest })
        break
      }
      case 'tool-result':
      case 'tool-error': {
        const output = await toModelOutput(part, tools)
        const result = { type: 'tool-result', toolCallId, toolName, output, ...rest }
        ;(providerExecuted === true ? said : results).push(result)
        break
      }
      case 'tool-approval-request': {
        const { approvalId, reason, isAutomatic, signature } = part
        const { toolCallId: id } = part['toolCall'] as { toolCallId: string }
        said.push({ type, approvalId, toolCallId: id, reason, isAutomatic, signature })
        break
      }
      case 'tool-approval-response': {
        const { approvalId, approved, reason } = part
        results.push({ type, approvalId, approved, reason, providerExecuted })
      }
    }
  }
  return [
    ...(said.length > 0 ? [{ role: 'assistant', content: said }] : []),
    ...(results.length > 0 ? [{ role: 'tool', content: results }] : []),
  ] as ModelMessage[]
}

/** What the model is told of a tool's output: what the tool itself says, else text or JSON. */
async function toModelOutput(part: AnswerPart, tools: ToolSet | undefined): Promise<unknown> {
  const { type, toolCallId, toolName, input, output, error, providerExecuted } = part
  if (type === 'tool-error') {
    return providerExecuted === true
      ? { type: 'error-json', value: error }
      : { type: 'error-text', value: error instanceof Error ? error.message : String(error) }
  }
  const name = String(toolName)
  const own = tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined
  const given = own?.toModelOutput?.({ toolCallId: String(toolCallId), input, output } as never)
  if (given !== undefined) return given
  return typeof output === 'string'
    ? { type: 'text', value: output }
    : { type: 'json', value: output ?? null }
}
