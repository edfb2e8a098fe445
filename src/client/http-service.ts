/** Sessions on a server, as the same `SessionService` as everywhere. */

import { isGiven, readDelay, readOptions } from '../core/arguments.ts'
import { createSessionService } from '../core/create-session-service.ts'
import { checkInstant } from '../core/instant.ts'
import type { Message } from '../core/message.ts'
import type { SessionService, SessionServiceOptions } from '../core/session-service.ts'
import { type ConnectionOptions, connect } from './connection.ts'
import { deleteExpired, httpRepository } from './http-repository.ts'

/** The connection to the server, and what holds for all calls of the service. */
export interface HttpSessionOptions
  extends ConnectionOptions,
    Omit<SessionServiceOptions, 'defaultUserId' | 'now'> {
  /**
   * The user whose token is sent. Default: the server is asked once. A client is for one user: make
   * another one when somebody else signs in; a call with a token of another user fails with `NOT_OWNER`.
   */
  readonly userId?: string | null | undefined
}

/** Milliseconds between looks at the server while a live stream tells of changes. */
const POLL_INTERVAL = 30_000

/**
 * A service over the HTTP API of `turnlog/http`. Trigger, strategy and model of a compaction run here;
 * the server only stores what they lead to.
 *
 * ```ts
 * const sessions = createHttpSessionService({ baseUrl: 'https://memory.example.com', getToken })
 * ```
 */
export function createHttpSessionService<M extends Message = Message>(
  options: HttpSessionOptions,
): SessionService<M> {
  const connection = connect(options)
  const { userId, timeToLive, generateId, onDamage } = options
  const service = createSessionService<M>(httpRepository(connection), {
    defaultUserId: userId,
    timeToLive,
    generateId,
    onDamage,
  })

  let known: string | null = userId ?? null
  /** `given` with a user, who is the authenticated one unless it names another. */
  const withUser = async <O extends { readonly userId?: string | null | undefined }>(
    given: O | null | undefined,
  ): Promise<O | null | undefined> => {
    const options = readOptions(given)
    if (isGiven(options.userId)) return given
    known ??= await connection.call(
      { method: 'GET', path: '/user' },
      ({ userId }: { readonly userId: string }) => userId,
    )
    return { ...options, userId: known } as O
  }

  return {
    ...service,
    create: async (given) => service.create(await withUser(given)),
    findOrCreate: async (given) => service.findOrCreate(await withUser(given)),
    listSessions: async (given) => service.listSessions(await withUser(given)),
    recallEvents: async (filter, given) => service.recallEvents(filter, await withUser(given)),
    importSession: async (input, given) => service.importSession(input, await withUser(given)),
    deleteExpiredSessions: async (given) => {
      const { before } = readOptions(given)
      // Without an instant it is the server's clock that says what has expired.
      if (!isGiven(before)) return deleteExpired(connection, null)
      return deleteExpired(connection, checkInstant(before, 'before'))
    },
    subscribe: async (sessionId, listener, given) => {
      const options = readOptions(given)
      const pollInterval = readDelay(options.pollInterval, 'pollInterval', POLL_INTERVAL)
      return service.subscribe(sessionId, listener, { ...options, pollInterval })
    },
  }
}
