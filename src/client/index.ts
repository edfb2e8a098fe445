/** turnlog/client: sessions on a server, over its HTTP API. */

export type { ConnectionOptions, TokenRequest } from './connection.ts'
export { createHttpSessionRepository } from './http-repository.ts'
export { createHttpSessionService, type HttpSessionOptions } from './http-service.ts'
