// What a page and a Worker do for test/node/e2e-transfer.test.ts, which stands between them.
import type { JsonValue, SessionService } from 'turnlog'
import { createEventfulSession, exportText, snapshotOf } from './eventful-session.ts'

export interface TransferOperations {
  create(): Promise<void>
  export(): Promise<string>
  import(text: string): Promise<void>
  snapshot(): Promise<JsonValue>
}

export function createTransferOperations(service: SessionService): TransferOperations {
  return {
    create: () => createEventfulSession(service),
    export: () => exportText(service),
    import: async (text) => void (await service.importSession(text)),
    snapshot: () => snapshotOf(service),
  }
}
