// Stands for a model, so that the example runs without a provider's key: it notes what it is told and
// looks up what it is asked. Put a call of your own in its place.
import { type AgentTool, CONVERSATION_SEARCH, type Message, messageText } from 'turnlog'

export async function askModel(request: {
  readonly messages: readonly Message[]
  readonly tools: readonly AgentTool[]
}): Promise<{ role: 'assistant'; content: string }> {
  const { messages, tools } = request
  const last = messages.at(-1)
  const text = last === undefined ? '' : messageText(last)
  const say = (content: string) => ({ role: 'assistant' as const, content })
  if (!text.endsWith('?')) return say(`Noted. I see ${messages.length} messages.`)

  const search = tools.find(({ name }) => name === CONVERSATION_SEARCH)
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  const query = words.reduce((longest, word) => (word.length > longest.length ? word : longest), '')
  const answer = await search?.execute({ innerThought: 'It may have been said before.', query })
  if (!answer?.startsWith('[')) return say(`I know nothing about ${query}.`)
  const hits: { timestamp: string; type: string; text: string }[] = JSON.parse(answer)
  const hit = hits.find((found) => found.type === 'user' && found.text !== text)
  return say(hit ? `You said: ${hit.text}` : `I know nothing about ${query}.`)
}
