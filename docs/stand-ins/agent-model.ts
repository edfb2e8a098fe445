// What stands in for a model of the OpenAI Agents SDK in the code of the documents.
import type { Model } from '@openai/agents-core'
import { assistantMessage, modelResponder, ScriptedModel } from '@openai/agents-core/testing'

export const agentModel: Model = new ScriptedModel(
  Array.from({ length: 20 }, () =>
    modelResponder(({ request }) => {
      const items = Array.isArray(request.input) ? request.input : []
      const questions = items.filter((item) => 'role' in item && item.role === 'user').length
      return [assistantMessage(`Answer to question ${questions}.`)]
    }),
  ),
)
