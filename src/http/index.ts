/** turnlog/http: sessions as an authenticated HTTP API. */

export type { LogService } from '../core/create-log-service.ts'
export type * from '../wire/event.ts'
export type { ProblemCode } from '../wire/problem.ts'
export { PROBLEM_TYPE, type Problem, STATUS_OF } from '../wire/problem.ts'
export type * from '../wire/session.ts'
export { type Authenticate, type AuthenticationContext, bearerToken } from './authenticate.ts'
export { developmentAuth } from './development-auth.ts'
export {
  type JwtAuthOptions,
  jwtAuth,
  type KeySetOptions,
  type SecretOptions,
} from './jwt-auth.ts'
export { HttpError } from './problem-response.ts'
export { type LogEntry, logFaults, logRequests } from './request-log.ts'
export type { Method, Route, RouteRequest } from './route.ts'
export {
  createSessionApi,
  type RateLimit,
  type SessionApi,
  type SessionApiOptions,
} from './session-api.ts'
