/** A user's sessions in a Durable Object, for a Worker. */

import { checkMethod, readOptions } from '../core/arguments.ts'
import { createLogService, type LogService } from '../core/create-log-service.ts'
import { createSessionService } from '../core/create-session-service.ts'
import { checkId } from '../core/identifiers.ts'
import type { Message } from '../core/message.ts'
import type { SessionRepository } from '../core/session-repository.ts'
import type { SessionService, SessionServiceOptions } from '../core/session-service.ts'
import { durableObjectRepository } from './durable-object-repository.ts'
import type { SessionStore } from './session-store.ts'

/**
 * The sessions of one user: each user has an object of their own, so that no id leads to another
 * user's data.
 *
 * ```ts
 * const sessions = durableObjectSessions(env.SESSIONS, userId)
 * await sessions.appendMessage('chat-1', { role: 'user', content: 'Hello' })
 * ```
 *
 * @param namespace the binding of `SessionStore`.
 * @param userId from authentication, never from a request's content. Any non-blank string up to 512
 * characters; ids that differ in any character are different users. It is the `defaultUserId`.
 * @throws SessionError `INVALID_ARGUMENT` for a binding that is not there, or a user id that is none.
 */
export function durableObjectSessions<M extends Message = Message>(
  namespace: DurableObjectNamespace<SessionStore>,
  userId: string,
  options: SessionServiceOptions | null = {},
): SessionService<M> {
  const repository = repositoryOf(namespace, userId)
  return createSessionService<M>(repository, { ...readOptions(options), defaultUserId: userId })
}

/** {@link durableObjectSessions} for a Worker that only serves, and need not carry compaction along. */
export function durableObjectLog(
  namespace: DurableObjectNamespace<SessionStore>,
  userId: string,
): LogService {
  return createLogService(repositoryOf(namespace, userId), { defaultUserId: userId }).service
}

function repositoryOf(
  namespace: DurableObjectNamespace<SessionStore>,
  userId: string,
): SessionRepository {
  checkMethod(namespace, 'idFromName', 'namespace')
  const id = namespace.idFromName(objectName(userId))
  return durableObjectRepository(() => namespace.get(id))
}

/**
 * The name of a user's object. Deployed data depends on it: it never changes. The prefix leaves room
 * for objects that belong to no user.
 */
export function objectName(userId: string): string {
  return `user:${checkId(userId, 'userId')}`
}
