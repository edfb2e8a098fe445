/** The service: a log, and what changes its view. */

import { type CompactionResult, compact, readCompactOptions, withoutChange } from './compact.ts'
import { createLogService } from './create-log-service.ts'
import { checkId } from './identifiers.ts'
import type { Message } from './message.ts'
import { clearView, rewind } from './rewind.ts'
import type { SessionRepository } from './session-repository.ts'
import type { SessionService, SessionServiceOptions } from './session-service.ts'
import { untilAborted } from './until-aborted.ts'

/** A service over a repository of one's own; the stores of turnlog come with factories that call this. */
export function createSessionService<M extends Message = Message>(
  repository: SessionRepository,
  options: SessionServiceOptions | null = {},
): SessionService<M> {
  const { service, context } = createLogService<M>(repository, options)
  const compactions = new Map<string, Promise<CompactionResult>>()

  return {
    ...service,

    async compact(sessionId, request) {
      const id = checkId(sessionId, 'sessionId')
      const options = readCompactOptions(request)
      const running = compactions.get(id)
      if (running === undefined) {
        const started = compact(context, id, options).finally(() => compactions.delete(id))
        compactions.set(id, started)
        return started
      }
      const { signal } = options
      try {
        return await untilAborted(signal, () => running)
      } catch (error) {
        if (!signal.aborted) throw error
        return withoutChange('failed', (await context.readView(id)).events, error)
      }
    },

    async rewind(sessionId, target) {
      return rewind(context, checkId(sessionId, 'sessionId'), target)
    },

    async clearView(sessionId) {
      return clearView(context, checkId(sessionId, 'sessionId'))
    },
  }
}
