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
    baseURL: settings.address,
    ...(settings.key === '' ? {} : { apiKey: settings.key }),
  })
  return provider.chatModel(settings.modelId)
}
