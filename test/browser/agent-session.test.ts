// A session of the OpenAI Agents SDK on IndexedDB.
import { agentSessionSuite } from '../support/agent-session-suite.ts'
import { indexedDBHarness } from './indexeddb-harness.ts'

agentSessionSuite(indexedDBHarness(), 50)
