/** Any server with OpenAI's interface, at the address and with the key that the person has entered. */

import type { LanguageModelV4 } from '@ai-sdk/provider'

export interface OpenAiSettings {
  /** Such as `https://api.openai.com/v1` or `http://localhost:11434/v1`. */
  readonly address: string
  /** Sent to that address only. Empty for servers that want none. */
  readonly key: string
  readonly modelId: string
}

export async function createOpenAiModel(settings: OpenAiSettings): Promise<LanguageModelV4> {
  // Only who enters an address pays for the code.
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    name: 'custom',
    baseURL: readAddress(settings.address),
    fetch: fetchOrExplain,
    ...(settings.key === '' ? {} : { apiKey: settings.key }),
  })
  return provider.chatModel(settings.modelId)
}

function readAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new Error(
    text === ''
      ? 'The address of the model’s server is missing. Enter it in the settings.'
      : `“${text}” is not the address of a server. Change it in the settings.`,
  )
}

/** A browser says no more than “Failed to fetch”. */
const fetchOrExplain: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, init)
  } catch (cause) {
    if (init?.signal?.aborted) throw cause
    throw new Error(
      `${String(input)} cannot be reached: it is down, or it does not let this page in (CORS).`,
      { cause },
    )
  }
}
