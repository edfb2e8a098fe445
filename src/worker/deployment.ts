/**
 * What is deployed: the HTTP API over one Durable Object per user, set up by variables and secrets.
 * docs/deploy.md says which.
 */

import { env } from 'cloudflare:workers'
import type { Authenticate } from '../http/authenticate.ts'
import {
  createSessionApi,
  developmentAuth,
  jwtAuth,
  logFaults,
  logRequests,
  type Route,
  type SessionApi,
} from '../http/index.ts'
import { durableObjectLog } from './durable-object-sessions.ts'
import type { SessionStore } from './session-store.ts'

/** What wrangler.toml and the secrets bind. */
export interface DeploymentBindings {
  readonly SESSIONS: DurableObjectNamespace<SessionStore>
  /** Cloudflare's rate limiting, when it is bound. */
  readonly RATE_LIMITER?: {
    limit(options: { readonly key: string }): Promise<{ success: boolean }>
  }
  /** Tokens are signed with this secret … */
  readonly JWT_SECRET?: string
  /** … or with the keys published here. */
  readonly JWKS_URI?: string
  readonly JWT_ISSUER?: string
  readonly JWT_AUDIENCE?: string
  /** Origins that may call, separated by commas. */
  readonly ALLOWED_ORIGINS?: string
  /** `true`: offer `cross_session_search`. */
  readonly CROSS_SESSION_SEARCH?: string
  /** `true`: every request leaves a line in the log. Otherwise only faults of the server do. */
  readonly LOG_REQUESTS?: string
  /** The user of everybody on the developer's own machine. */
  readonly DEVELOPMENT_USER?: string
}

const settings = env as unknown as DeploymentBindings

/** Seconds after which Cloudflare's rate limiting counts anew. */
const RATE_PERIOD = 10

/** The Worker, with further routes if there are any. */
export function createDeployment(routes: readonly Route[] = []): SessionApi<DeploymentBindings> {
  return createSessionApi<DeploymentBindings>({
    authenticate: chooseAuthentication(settings),
    sessions: ({ SESSIONS }, userId) => durableObjectLog(SESSIONS, userId),
    crossSessionSearch: offersCrossSessionSearch(),
    allowedOrigins: listOf(settings.ALLOWED_ORIGINS),
    async rateLimit({ RATE_LIMITER }, userId) {
      const { success } = (await RATE_LIMITER?.limit({ key: userId })) ?? { success: true }
      return success || { retryAfter: RATE_PERIOD }
    },
    log: settings.LOG_REQUESTS === 'true' ? logRequests : logFaults,
    routes,
  })
}

export function offersCrossSessionSearch(): boolean {
  return settings.CROSS_SESSION_SEARCH === 'true'
}

/** Nothing set up means that nobody gets in. */
function chooseAuthentication(given: DeploymentBindings): Authenticate<unknown> | null {
  const claims = { issuer: given.JWT_ISSUER || null, audience: given.JWT_AUDIENCE || null }
  if (given.JWT_SECRET) return jwtAuth({ secret: given.JWT_SECRET, ...claims })
  if (given.JWKS_URI) return jwtAuth({ jwksUri: given.JWKS_URI, ...claims })
  return given.DEVELOPMENT_USER ? developmentAuth({ userId: given.DEVELOPMENT_USER }) : null
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
