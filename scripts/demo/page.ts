// The demo's page: the operations over IndexedDB.
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { createOperations } from './session-operations.ts'

const sessions = createIndexedDBSessionService({ defaultUserId: 'me' })
Object.assign(globalThis, { demo: createOperations(sessions) })
