/** turnlog/worker: sessions in Durable Objects, for Cloudflare Workers. */

export { createSqlRepository } from '../stores/durable-object/sql-repository.ts'
export { durableObjectRepository } from './durable-object-repository.ts'
export { durableObjectSessions } from './durable-object-sessions.ts'
export type { RetryOptions } from './retries.ts'
export type { Answer, DeletedSessions, ErrorRecord, SessionObject } from './session-object.ts'
export { SessionStore } from './session-store.ts'
