/** The public keys of an identity provider, fetched rarely. */

import type { verifyWithJwks } from 'hono/jwt'
import { HttpError } from './problem-response.ts'

export type JsonWebKeySet = readonly NonNullable<
  Parameters<typeof verifyWithJwks>[1]['keys']
>[number][]

/** Milliseconds for which keys are used without asking again. */
const FRESH = 10 * 60_000
/** Milliseconds before an unknown key makes it ask again: tokens with made-up keys must not cause a storm. */
const PAUSE = 30_000
/** Milliseconds that the provider may take. */
const TIMEOUT = 10_000

/**
 * Gives the keys at `uri`, among them `kid` when the provider has it. When it does not answer, the keys
 * that are known are used on.
 *
 * @throws HttpError `AUTHENTICATION_UNAVAILABLE` when none are known.
 */
export function cacheKeys(
  uri: string,
  fetchKeys: (url: string, options: { readonly signal: AbortSignal }) => Promise<Response>,
): (kid: string) => Promise<JsonWebKeySet> {
  let keys: JsonWebKeySet = []
  let fetchedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  // The result is shared between requests, never the waiting: a Worker cannot wait for the I/O of
  // another request.
  return async (kid) => {
    const now = Date.now()
    const isKnown = keys.some((key) => key.kid === kid)
    if (isKnown && now - fetchedAt < FRESH) return keys
    if (fetchedAt > Number.NEGATIVE_INFINITY && now - triedAt < PAUSE) return keys
    triedAt = now
    try {
      keys = await readKeys(await fetchKeys(uri, { signal: AbortSignal.timeout(TIMEOUT) }))
      fetchedAt = now
    } catch (cause) {
      if (fetchedAt === Number.NEGATIVE_INFINITY) {
        throw new HttpError('AUTHENTICATION_UNAVAILABLE', 'the keys could not be fetched', {
          cause,
        })
      }
    }
    return keys
  }
}

async function readKeys(response: Response): Promise<JsonWebKeySet> {
  if (!response.ok) throw new Error(`the key set answered with status ${response.status}`)
  const { keys } = (await response.json()) as { readonly keys?: unknown }
  if (!Array.isArray(keys)) throw new Error('the key set has no keys')
  return keys
}
