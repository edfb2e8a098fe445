// Random operations over HTTP, against sessions in memory in this process; TURNLOG_RUNS sets how many
// sequences. The operations know several users of one store: here each has a client, and all share the
// store, which no real server would do.
import { AsyncLocalStorage } from 'node:async_hooks'

import { createHttpSessionRepository } from 'turnlog/client'
import { bearerToken, createSessionApi } from 'turnlog/http'
import { createInMemoryDatabase, createInMemoryRepository } from 'turnlog/in-memory'
import { createSessionService, type SessionRepository } from 'turnlog/store'
import { test } from 'vitest'
import { withTime } from '../../support/http-harness.ts'
import { checkRandomOperations } from '../../support/random-operations.ts'
import { BASE_URL } from '../../support/session-api.ts'

const { TURNLOG_RUNS } = process.env
const runs = TURNLOG_RUNS === undefined ? 150 : Number(TURNLOG_RUNS)
const times = new AsyncLocalStorage<number | undefined>()
const now = () => times.getStore() ?? Date.now()

/** One repository of a client for each user. */
function clientsOf(store: SessionRepository): SessionRepository {
  const api = createSessionApi({
    authenticate: ({ req }) => bearerToken(req.raw),
    sessions: () => createSessionService(store, { now }),
    now,
  })
  const connect = (userId: string) =>
    createHttpSessionRepository({
      baseUrl: BASE_URL,
      attempts: 1,
      getToken: () => userId,
      fetch: async (input, init) => api.fetch(new Request(input as string, init)),
    })
  const any = connect('ana')
  return withTime(
    {
      ...any,
      createSession: (session, options) => connect(session.userId).createSession(session, options),
      listSessions: (request) => connect(request.userId).listSessions(request),
      deleteUser: (userId) => connect(userId).deleteUser(userId),
      recallEvents: (request) => connect(request.userId).recallEvents(request),
    },
    times,
  )
}

test(
  'the HTTP client answers random operations like a naive store',
  async () => {
    let database = createInMemoryDatabase()
    await checkRandomOperations(
      {
        async reset() {
          database = createInMemoryDatabase()
        },
        open: async () => clientsOf(createInMemoryRepository(database)),
      },
      { runs },
    )
  },
  60_000 + runs * 500,
)
