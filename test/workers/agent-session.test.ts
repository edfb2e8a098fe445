// A session of the OpenAI Agents SDK on a Durable Object, through a stub.
import { env } from 'cloudflare:workers'
import { agentSessionSuite } from '../support/agent-session-suite.ts'
import { durableObjectHarness } from './durable-object-harness.ts'

agentSessionSuite(durableObjectHarness(env.SESSIONS, 'agent-session'), 30)
