// A chat in a page. Its prompt stays short however long it gets, and nothing that was said is lost.
import { createSessionMemory, EventFilter, turnCountTrigger, turnWindow } from 'turnlog'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { askModel } from './model.ts'

const sessions = createIndexedDBSessionService({
  defaultUserId: 'me',
  timeToLive: null, // kept for ever; without it, for 60 days
})
const memory = createSessionMemory(sessions, {
  trigger: turnCountTrigger(20), // with more than 20 turns in the prompt …
  strategy: turnWindow({ maxTurns: 10 }), // … all but the newest 10 are archived
})

/** Asks the model, with the history that it needs and a tool to find what left its prompt. */
export async function ask(sessionId: string, text: string): Promise<string> {
  const run = await memory.begin({ sessionId, messages: [{ role: 'user', content: text }] })
  const reply = await askModel({ messages: run.messages, tools: run.tools })
  await run.end([reply])
  return reply.content
}

/** Everything that was said, for people to read. */
export async function history(sessionId: string) {
  await sessions.findOrCreate({ id: sessionId })
  return sessions.getEvents(sessionId, EventFilter.of({ excludeSynthetic: true }))
}
