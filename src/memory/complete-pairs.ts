/** No model accepts half of a tool exchange: this takes halves out of a prompt. */

import type { Message } from '../core/message.ts'

interface ToolPart {
  readonly type: string
  readonly toolCallId?: unknown
  readonly approvalId?: unknown
  readonly text?: unknown
}

/**
 * The messages without tool calls that have no result and results that have no call; messages that hold
 * nothing else then are left out. A call whose approval was answered counts as complete: its tool is
 * about to run. Call ids may come again in later turns: a result belongs to the nearest call before it
 * that still waits.
 */
export function completePairs<M extends Message>(messages: readonly M[]): M[] {
  const open = new Map<unknown, ToolPart[]>()
  const complete = new Set<ToolPart>()
  const requests = new Map<unknown, readonly ToolPart[]>()
  for (const part of messages.flatMap(toolPartsOf)) {
    const calls = open.get(part.toolCallId) ?? []
    switch (part.type) {
      case 'tool-call':
        open.set(part.toolCallId, [...calls, part])
        break
      case 'tool-result': {
        const call = calls.pop()
        if (call !== undefined) complete.add(call).add(part)
        break
      }
      case 'tool-approval-request': {
        const call = calls.at(-1)
        if (call !== undefined) requests.set(part.approvalId, [call, part])
        break
      }
      default: {
        const request = requests.get(part.approvalId)
        if (request === undefined) break
        for (const other of [...request, part]) complete.add(other)
        requests.delete(part.approvalId)
      }
    }
  }
  return messages.flatMap((message) => {
    const halves = new Set(toolPartsOf(message).filter((part) => !complete.has(part)))
    if (halves.size === 0) return [message]
    const content = (message.content as readonly ToolPart[]).filter((part) => !halves.has(part))
    // Reasoning alone is no message, and providers refuse empty texts.
    return content.every(isNothing) ? [] : [{ ...message, content }]
  })
}

function isNothing({ type, text }: ToolPart): boolean {
  return type === 'reasoning' || (type === 'text' && String(text).trim() === '')
}

const TOOL_PARTS = ['tool-call', 'tool-result', 'tool-approval-request', 'tool-approval-response']

function toolPartsOf({ content }: Message): readonly ToolPart[] {
  return typeof content === 'string'
    ? []
    : (content as readonly ToolPart[]).filter(({ type }) => TOOL_PARTS.includes(type))
}
