// A session of the OpenAI Agents SDK in memory.
import { agentSessionSuite } from '../../support/agent-session-suite.ts'
import { inMemoryHarness } from '../../support/in-memory-harness.ts'
import { runs } from '../../support/random-conversation.ts'

agentSessionSuite(inMemoryHarness(), runs(200))
