/** Which model answers, and what to call it. */

import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Settings } from '../settings.ts'
import { createOpenAiModel } from './open-ai.ts'
import { createPromptApiModel, findOwnModel } from './prompt-api.ts'
import { createStandIn } from './stand-in.ts'

export type ModelKind = 'stand-in' | 'prompt-api' | 'open-ai'

/** The kind that is used: what was chosen, else the browser's own model, else the stand-in. */
export async function chosenKind(settings: Settings): Promise<ModelKind> {
  if (settings.model !== 'automatic') return settings.model
  return (await findOwnModel()) === 'ready' ? 'prompt-api' : 'stand-in'
}

export async function chooseModel(settings: Settings): Promise<LanguageModelV4> {
  const kind = await chosenKind(settings)
  if (kind === 'open-ai') return createOpenAiModel(settings.openAi)
  return kind === 'prompt-api' ? createPromptApiModel() : createStandIn()
}

export function modelName(kind: ModelKind, settings: Settings): string {
  if (kind === 'open-ai') return settings.openAi.modelId || 'Custom model'
  return kind === 'prompt-api' ? 'Browser model' : 'Built-in stand-in'
}
