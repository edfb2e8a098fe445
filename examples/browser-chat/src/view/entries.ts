/** Events, and the messages of a run that is still going on, as what a person reads. */

import type { ModelMessage, UIMessage } from 'ai'
import type { SessionEvent } from 'turnlog'

export type EntryPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool'
      readonly id: string
      readonly name: string
      readonly input: unknown
      /** `null` while the tool runs. */
      readonly output: string | null
    }
  | { readonly type: 'file'; readonly mediaType: string }

/** One question, one answer with the tools it used, or one summary. */
export interface Entry {
  readonly id: string
  readonly kind: 'question' | 'answer' | 'summary' | 'instruction'
  /** 0 while it is not stored. */
  readonly seq: number
  readonly lastSeq: number
  readonly time: Date | null
  readonly archived: boolean
  /** It broke off. */
  readonly aborted: boolean
  readonly parts: readonly EntryPart[]
}

/**
 * What is shown of a window of a log: not what was rewound or erased, nor the question that a summary
 * answers, nor summaries that newer ones have replaced.
 */
export function entriesOf(
  events: readonly SessionEvent<ModelMessage>[],
  hiddenRun: string | null = null,
): readonly Entry[] {
  const entries: Entry[] = []
  for (const event of events) {
    if (event.rewound || event.metadata['erased'] === true) continue
    if (event.synthetic && (event.archived || event.message.role === 'user')) continue
    if (hiddenRun !== null && event.id.startsWith(`${hiddenRun}:`)) continue
    const last = entries.at(-1)
    const isTool = event.message.role === 'tool'
    const joins =
      (event.message.role === 'assistant' || isTool) &&
      !event.synthetic &&
      last?.kind === 'answer' &&
      last.archived === event.archived
    const parts = partsOf(event.message)
    if (joins && last !== undefined) {
      entries[entries.length - 1] = {
        ...last,
        lastSeq: event.seq,
        aborted: event.metadata['aborted'] === true,
        parts: isTool ? withResults(last.parts, parts) : [...last.parts, ...parts],
      }
      continue
    }
    entries.push({
      id: event.id,
      kind: kindOf(event),
      seq: event.seq,
      lastSeq: event.seq,
      time: event.timestamp,
      archived: event.archived,
      aborted: event.metadata['aborted'] === true,
      parts,
    })
  }
  return entries
}

/** What is shown of a run that is still going on. */
export function liveEntries(messages: readonly UIMessage[]): readonly Entry[] {
  return messages.map(
    (message): Entry => ({
      id: message.id,
      kind: message.role === 'user' ? 'question' : 'answer',
      seq: 0,
      lastSeq: 0,
      time: null,
      archived: false,
      aborted: false,
      parts: message.parts.flatMap((part): readonly EntryPart[] => {
        if (part.type === 'text' || part.type === 'reasoning') {
          return part.text === '' ? [] : [{ type: part.type, text: part.text }]
        }
        if (part.type === 'file') return [{ type: 'file', mediaType: part.mediaType }]
        if (!('toolCallId' in part)) return []
        const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length)
        const output =
          part.state === 'output-available'
            ? toText(part.output)
            : part.state === 'output-error'
              ? part.errorText
              : null
        return [{ type: 'tool', id: part.toolCallId, name, input: part.input, output }]
      }),
    }),
  )
}

/** The words of an entry, without tools. */
export function entryText({ parts }: Entry): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function kindOf({ message, synthetic }: SessionEvent<ModelMessage>): Entry['kind'] {
  if (synthetic) return 'summary'
  if (message.role === 'system') return 'instruction'
  return message.role === 'user' ? 'question' : 'answer'
}

function partsOf({ content }: ModelMessage): readonly EntryPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part): readonly EntryPart[] => {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return part.text === '' ? [] : [{ type: part.type, text: part.text }]
      case 'tool-call':
        return [
          {
            type: 'tool',
            id: part.toolCallId,
            name: part.toolName,
            input: part.input,
            output: null,
          },
        ]
      case 'tool-result': {
        const output = 'value' in part.output ? toText(part.output.value) : part.output.type
        return [{ type: 'tool', id: part.toolCallId, name: part.toolName, input: null, output }]
      }
      case 'file':
      case 'image':
        return [{ type: 'file', mediaType: part.mediaType ?? part.type }]
      default:
        return []
    }
  })
}

/** Results go to their calls; one without a call stands by itself. */
function withResults(
  parts: readonly EntryPart[],
  results: readonly EntryPart[],
): readonly EntryPart[] {
  const rest = [...results]
  const merged = parts.map((part) => {
    if (part.type !== 'tool' || part.output !== null) return part
    const index = rest.findIndex((result) => result.type === 'tool' && result.id === part.id)
    const result = index < 0 ? undefined : rest.splice(index, 1)[0]
    return result?.type === 'tool' ? { ...part, output: result.output } : part
  })
  return [...merged, ...rest]
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
