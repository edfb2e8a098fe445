// The page of test/node/e2e-transfer.test.ts: sessions in IndexedDB.
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { createTransferOperations } from '../support/transfer-operations.ts'

const service = createIndexedDBSessionService({ defaultUserId: 'ana' })
Object.assign(globalThis, { transfer: createTransferOperations(service) })
