/** No model accepts half of a tool exchange: this takes halves out of a prompt. */

import type { Message } from '../core/message.ts'

interface ToolPart {
  readonly type: string
  readonly toolCallId?: unknown
  readonly approvalId?: unknown
}

/**
 * The messages without tool calls that have no result and results that have no call; messages that hold
 * nothing else then are left out. A call whose approval was answered counts as complete: its tool is
 * about to run. Call ids may come again in later turns: a result belongs to the nearest call before it.
 */
export function completePairs<M extends Message>(messages: readonly M[]): M[] {
  const open = new Map<unknown, ToolPart>()
  const complete = new Set<ToolPart>()
  const requests = new Map<unknown, ToolPart>()
  for (const part of messages.flatMap(toolPartsOf)) {
    switch (part.type) {
      case 'tool-call':
        open.set(part.toolCallId, part)
        break
      case 'tool-result': {
        const call = open.get(part.toolCallId)
        if (call === undefined) break
        complete.add(call).add(part)
        open.delete(part.toolCallId)
        break
      }
      case 'tool-approval-request':
        requests.set(part.approvalId, part)
        break
      default: {
        const request = requests.get(part.approvalId)
        const call = open.get(request?.toolCallId)
        complete.add(part)
        if (request !== undefined) complete.add(request)
        if (call !== undefined) complete.add(call)
      }
    }
  }
  return messages.flatMap((message) => {
    const parts = toolPartsOf(message)
    if (parts.every((part) => complete.has(part))) return [message]
    const halves = new Set<unknown>(parts.filter((part) => !complete.has(part)))
    const content = (message.content as readonly ToolPart[]).filter((part) => !halves.has(part))
    // Reasoning alone is no message either.
    return content.every(({ type }) => type === 'reasoning') ? [] : [{ ...message, content }]
  })
}

const TOOL_PARTS = ['tool-call', 'tool-result', 'tool-approval-request', 'tool-approval-response']

function toolPartsOf({ content }: Message): readonly ToolPart[] {
  return typeof content === 'string'
    ? []
    : (content as readonly ToolPart[]).filter(({ type }) => TOOL_PARTS.includes(type))
}
