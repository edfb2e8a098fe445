/** Stored messages as the AI SDK wants them. */

import type { ModelMessage } from 'ai'

/**
 * The messages with the addresses of their files as `URL`s again, as the AI SDK demands of a part such as
 * `{ type: 'file', data: { type: 'url', url } }`: stored, they are text. Everything else stays as it is.
 */
export function aiMessages(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (typeof message.content === 'string') return message
    const content = mapChanged(message.content as readonly object[], reviveUrl)
    return content === message.content ? message : ({ ...message, content } as ModelMessage)
  })
}

interface PartWithFile {
  readonly data?: { readonly type?: unknown; readonly url?: unknown }
  readonly output?: { readonly type?: unknown; readonly value?: unknown }
}

function reviveUrl(part: object): object {
  const { data, output } = part as PartWithFile
  if (data?.type === 'url' && typeof data.url === 'string') {
    return { ...part, data: { ...data, url: toUrl(data.url) } }
  }
  if (output?.type !== 'content' || !Array.isArray(output.value)) return part
  const value = mapChanged(output.value as readonly object[], reviveUrl)
  return value === output.value ? part : { ...part, output: { ...output, value } }
}

function toUrl(text: string): URL | string {
  try {
    return new URL(text)
  } catch {
    return text // what is no address is for the AI SDK to refuse
  }
}

/** Like `map`, but gives the list itself when nothing changes. */
function mapChanged<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  const changed = list.map(change)
  return changed.every((item, index) => item === list[index]) ? list : changed
}
