// A chat agent on Cloudflare Workers. Each user has a Durable Object of their own, which keeps all of
// their conversations; the prompt stays short however long these get.
import { Hono } from 'hono'
import { type JwtVariables, jwt } from 'hono/jwt'
import { createSessionMemory, EventFilter, turnCountTrigger, turnWindow } from 'turnlog'
import { durableObjectSessions, type SessionStore } from 'turnlog/worker'
import { askModel } from './model.ts'

export { SessionStore } from 'turnlog/worker'

interface Env {
  readonly SESSIONS: DurableObjectNamespace<SessionStore>
  readonly JWT_SECRET: string
}

const app = new Hono<{ Bindings: Env; Variables: JwtVariables<{ sub: string }> }>()

// Whose conversations they are, only a verified token says.
app.use((c, next) => jwt({ secret: c.env.JWT_SECRET, alg: 'HS256' })(c, next))

app.post('/chats/:id', async (c) => {
  const body = await c.req.json<{ text?: unknown } | null>().catch(() => null)
  const text = body?.text
  if (typeof text !== 'string') return c.json({ error: 'text is missing' }, 400)
  const sessions = durableObjectSessions(c.env.SESSIONS, c.get('jwtPayload').sub)
  const memory = createSessionMemory(sessions, {
    trigger: turnCountTrigger(20), // with more than 20 turns in the prompt …
    strategy: turnWindow({ maxTurns: 10 }), // … all but the newest 10 are archived
  })
  const run = await memory.begin({
    sessionId: c.req.param('id'),
    runId: c.req.header('idempotency-key'), // the same on a retry: nothing is stored twice
    messages: [{ role: 'user', content: text }],
  })
  const reply = await askModel({ messages: run.messages, tools: run.tools })
  await run.end([reply])
  return c.json(reply)
})

app.get('/chats/:id', async (c) => {
  const sessions = durableObjectSessions(c.env.SESSIONS, c.get('jwtPayload').sub)
  const { id } = await sessions.findOrCreate({ id: c.req.param('id') })
  return c.json(await sessions.getMessages(id, EventFilter.of({ excludeSynthetic: true })))
})

export default app
