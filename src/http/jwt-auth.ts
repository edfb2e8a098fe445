/** Authentication by JSON Web Tokens, checked by Hono. */

import { decode, verify, verifyWithJwks } from 'hono/jwt'
import { invalidArgument } from '../core/errors.ts'
import { type Authenticate, bearerToken } from './authenticate.ts'
import { cacheKeys, type JsonWebKeySet } from './key-set.ts'

type SymmetricAlgorithm = 'HS256' | 'HS384' | 'HS512'
type AsymmetricAlgorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'

interface CommonOptions {
  /** Who must have issued the token (`iss`). Default: anybody who has the key. */
  readonly issuer?: string | null | undefined
  /**
   * For whom the token must be (`aud`); one of them is enough. Give it whenever the issuer serves other
   * applications too: without it, their tokens are good here. Default: for anybody.
   */
  readonly audience?: string | readonly string[] | null | undefined
  /** The claim that holds the user id. Default `sub`. */
  readonly claim?: string | null | undefined
  /** Accept tokens that never expire. Default `false`. */
  readonly allowUnlimited?: boolean | null | undefined
}

/** Tokens that this server's own side signs. */
export interface SecretOptions extends CommonOptions {
  /** At least 32 bytes, from a secret store. */
  readonly secret: string
  /** Default `HS256`. */
  readonly algorithm?: SymmetricAlgorithm | null | undefined
}

/** Tokens of an identity provider. */
export interface KeySetOptions extends CommonOptions {
  /** Where the provider publishes its keys: `https://…/.well-known/jwks.json`. Kept for 10 minutes. */
  readonly jwksUri: string
  /** Default `RS256`, `ES256` and `EdDSA`. */
  readonly algorithms?: readonly AsymmetricAlgorithm[] | null | undefined
  /** Fetches the keys. Default: the runtime's own. */
  readonly fetch?: ((url: string) => Promise<Response>) | null | undefined
}

export type JwtAuthOptions = SecretOptions | KeySetOptions

/**
 * Authenticates by `Authorization: Bearer <JWT>`: the signature, `exp`, `nbf`, and `iss` and `aud` where
 * they are given. Only the named algorithms are accepted, so that neither `none` nor a public key used as
 * a secret gets through.
 *
 * @throws SessionError `INVALID_ARGUMENT` for options that would be open to everybody.
 */
export function jwtAuth(options: JwtAuthOptions): Authenticate<unknown> {
  const claim = options.claim ?? 'sub'
  const check = 'secret' in options ? bySecret(options) : byKeySet(options)
  return async (context) => {
    const token = bearerToken(context.req.raw)
    if (token === null) return null
    const payload = await check(token)
    if (payload === null) return null
    if (payload['exp'] === undefined && options.allowUnlimited !== true) return null
    const userId = payload[claim]
    return typeof userId === 'string' ? userId : null
  }
}

type Check = (token: string) => Promise<Readonly<Record<string, unknown>> | null>

function bySecret(options: SecretOptions): Check {
  const { secret } = options
  if (typeof secret !== 'string' || new TextEncoder().encode(secret).length < 32) {
    throw invalidArgument('secret', 'must be a text of at least 32 bytes')
  }
  const verification = { ...claimsOf(options), alg: options.algorithm ?? 'HS256' }
  return (token) => orNull(() => verify(token, secret, verification))
}

function byKeySet(options: KeySetOptions): Check {
  const { jwksUri } = options
  if (
    typeof jwksUri !== 'string' ||
    !/^https:|^http:\/\/(localhost|127\.0\.0\.1)[:/]/.test(jwksUri)
  ) {
    throw invalidArgument('jwksUri', 'must be an https URL')
  }
  const allowedAlgorithms = [...(options.algorithms ?? (['RS256', 'ES256', 'EdDSA'] as const))]
  const verification = claimsOf(options)
  const keySet = cacheKeys(jwksUri, options.fetch ?? ((url, init) => fetch(url, init)))
  return async (token) => {
    const header = await orNull(async () => decode(token).header as { readonly kid?: unknown })
    if (header === null || typeof header.kid !== 'string') return null
    // Fetched outside of the check, whose failures all mean a bad token.
    const keys: JsonWebKeySet = await keySet(header.kid)
    return orNull(() => verifyWithJwks(token, { keys: [...keys], verification, allowedAlgorithms }))
  }
}

/** `iat` is not checked: the issuer's clock may be a second ahead, and the claim limits nothing. */
function claimsOf({ issuer, audience }: CommonOptions) {
  const audiences = audience === null || audience === undefined ? [] : [audience].flat()
  return {
    iat: false,
    ...(issuer === null || issuer === undefined ? {} : { iss: issuer }),
    ...(audiences.length === 0 ? {} : { aud: audiences as string[] }),
  }
}

/** Whatever a check stumbles over, the token is refused. */
async function orNull<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run()
  } catch {
    return null
  }
}
