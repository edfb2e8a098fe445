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
 * nothing then are left out. Call ids may come again in later turns: a result belongs to the nearest call
 * before it that still waits. One that came late, after other messages, is put where models want it: right
 * behind the results that came in time. A call whose approval was answered counts as complete at the end
 * of the messages only: its tool is about to run.
 */
export function completePairs<M extends Message>(messages: readonly M[]): M[] {
  const places = placeParts(messages)
  const exchanges: M[][] = []
  for (const [index, exchange] of exchangesOf(messages).entries()) {
    const message = messages[index] as M
    const parts = typeof message.content === 'string' ? [] : (message.content as ToolPart[])
    const placeOf = (part: ToolPart) =>
      TOOL_PARTS.includes(part.type) ? places.get(part) : exchange
    for (const place of new Set([exchange, ...parts.flatMap((part) => placeOf(part) ?? [])])) {
      const content = parts.filter((part) => placeOf(part) === place)
      const whole = content.length === parts.length
      const stays = typeof message.content === 'string' || (whole && content.length > 0)
      // Reasoning alone is no message, and providers refuse empty texts.
      if (!stays && content.every(isNothing)) continue
      exchanges[place] = [...(exchanges[place] ?? []), whole ? message : { ...message, content }]
    }
  }
  return exchanges.flat()
}

/** For each message, which exchange it is in: what assistants said, and the tool messages behind it. */
function exchangesOf(messages: readonly Message[]): readonly number[] {
  let exchange = 0
  return messages.map(({ role }, index) => {
    const before = messages[index - 1]?.role
    const continues = role === 'tool' || (role === 'assistant' && before === 'assistant')
    if (index > 0 && !continues) exchange++
    return exchange
  })
}

/** The exchange that each part of a complete pair belongs to; the other tool parts are halves. */
function placeParts(messages: readonly Message[]): ReadonlyMap<ToolPart, number> {
  interface Call {
    readonly part: ToolPart
    readonly exchange: number
    readonly approval: ToolPart[]
  }
  const exchanges = exchangesOf(messages)
  const last = exchanges.at(-1)
  const places = new Map<ToolPart, number>()
  const open = new Map<unknown, Call[]>()
  const asked = new Map<unknown, readonly [Call, ToolPart]>()
  const place = (call: Call) => {
    for (const part of [call.part, ...call.approval]) places.set(part, call.exchange)
  }
  for (const [index, message] of messages.entries()) {
    const exchange = exchanges[index] as number
    for (const part of toolPartsOf(message)) {
      const calls = open.get(part.toolCallId) ?? []
      switch (part.type) {
        case 'tool-call':
          open.set(part.toolCallId, [...calls, { part, exchange, approval: [] }])
          break
        case 'tool-result': {
          const call = calls.pop()
          if (call === undefined) break
          place(call)
          // What a provider ran itself stands in the assistant's own message.
          places.set(part, message.role === 'tool' ? call.exchange : exchange)
          break
        }
        case 'tool-approval-request': {
          const call = calls.at(-1)
          if (call !== undefined) asked.set(part.approvalId, [call, part])
          break
        }
        default: {
          const [call, request] = asked.get(part.approvalId) ?? []
          if (call === undefined || request === undefined) break
          asked.delete(part.approvalId)
          call.approval.push(request, part)
          if (places.has(call.part) || call.exchange === last) place(call)
        }
      }
    }
  }
  return places
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
