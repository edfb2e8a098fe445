// Who gets in: nobody without a token that says so.
import type { webcrypto } from 'node:crypto'
import { sign } from 'hono/jwt'
import { createSessionApi, developmentAuth, jwtAuth, type SessionApiOptions } from 'turnlog/http'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test, vi } from 'vitest'

const secret = 'a secret of at least thirty-two bytes'
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600

function apiWith(authenticate: SessionApiOptions['authenticate'], url = 'https://memory.test') {
  const api = createSessionApi({
    authenticate,
    sessions: (_, userId) => createInMemorySessionService({ defaultUserId: userId }),
    log: () => undefined,
  })
  return async (authorization: string | null, headers: Record<string, string> = {}) => {
    const response = await api.request(`${url}/user`, {
      headers: { ...(authorization === null ? {} : { authorization }), ...headers },
    })
    const body = (await response.json()) as { userId?: string; code?: string }
    return response.status === 200 ? body.userId : `${response.status} ${body.code}`
  }
}

const refused = '401 UNAUTHENTICATED'
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('by a secret', () => {
  const user = apiWith(jwtAuth({ secret, issuer: 'https://issuer.test', audience: 'memory' }))
  const claims = { sub: 'ana', iss: 'https://issuer.test', aud: 'memory' }
  const token = (change: object = {}, key = secret, algorithm: 'HS256' | 'HS512' = 'HS256') =>
    sign({ ...claims, exp: inAnHour(), ...change }, key, algorithm)

  test('a good token is its subject', async () => {
    expect(await user(`Bearer ${await token()}`)).toBe('ana')
    expect(await user(`bearer  ${await token({ aud: ['other', 'memory'] })}`)).toBe('ana')
    expect(await user(`Bearer ${await token({ iat: inAnHour() })}`)).toBe('ana')
    expect(await user(`Bearer ${await token({ sub: 'ü/..|x' })}`)).toBe('ü/..|x')
  })

  test.each<readonly [string, () => Promise<string>]>([
    ['expired', () => token({ exp: inAnHour() - 3601 })],
    ['without an expiry', () => sign(claims, secret)],
    ['with an expiry that is no number', () => token({ exp: 'never' })],
    ['not valid yet', () => token({ nbf: inAnHour() })],
    ['signed with another secret', () => token({}, `${secret}!`)],
    ['signed with another algorithm', () => token({}, secret, 'HS512')],
    ['of another issuer', () => token({ iss: 'https://other.test' })],
    ['of no issuer', () => token({ iss: undefined })],
    ['for another audience', () => token({ aud: 'other' })],
    ['for no audience', () => token({ aud: undefined })],
    ['for a list of others', () => token({ aud: ['a', 'b'] })],
    ['without a subject', () => token({ sub: undefined })],
    ['with a subject that is no text', () => token({ sub: 5 })],
    ['with a blank subject', () => token({ sub: ' ' })],
    ['with a subject that is too long', () => token({ sub: 'x'.repeat(513) })],
    [
      'with algorithm none',
      async () => `${part({ alg: 'none', typ: 'JWT' })}.${part({ ...claims, exp: inAnHour() })}.`,
    ],
    [
      'with algorithm nOnE and the signature of another',
      async () => {
        const [, payload, signature] = (await token()).split('.')
        return `${part({ alg: 'nOnE', typ: 'JWT' })}.${payload}.${signature}`
      },
    ],
    [
      'with a payload that was changed',
      async () => {
        const [header, , signature] = (await token()).split('.')
        return `${header}.${part({ ...claims, sub: 'bo', exp: inAnHour() })}.${signature}`
      },
    ],
    ['with its signature cut off', async () => (await token()).replace(/\.[^.]*$/, '.')],
    ['with a part too few', async () => (await token()).split('.').slice(0, 2).join('.')],
    ['with a part too many', async () => `${await token()}.x`],
    ['with a payload of null', async () => `${part({ alg: 'HS256' })}.bnVsbA.x`],
    ['that is none', async () => 'hello'],
    ['that is empty', async () => ''],
    ['with rubbish in it', async () => 'a.b.c'],
  ])('a token %s is refused', async (_, make) => {
    expect(await user(`Bearer ${await make()}`)).toBe(refused)
  })

  test('another scheme, no scheme, two tokens or none are refused', async () => {
    const good = await token()
    for (const header of [
      null,
      '',
      'Bearer',
      good,
      `Basic ${good}`,
      `Bearer ${good}, Bearer ${good}`,
      `Bearer ${good} x`,
    ]) {
      expect(await user(header)).toBe(refused)
    }
    expect(await user(null, { cookie: `token=${good}`, 'x-user-id': 'ana' })).toBe(refused)
  })

  test('the answer says how to authenticate, and nothing else', async () => {
    const api = createSessionApi({
      authenticate: jwtAuth({ secret }),
      sessions: () => createInMemorySessionService(),
    })
    const response = await api.request('https://memory.test/sessions/x')
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await response.json()).toEqual({
      title: 'Unauthorized',
      status: 401,
      code: 'UNAUTHENTICATED',
      detail: 'the request shows no valid credentials',
      details: {},
      requestId: response.headers.get('x-request-id'),
    })
  })

  test('another claim may hold the user, and tokens may be unlimited where that is wanted', async () => {
    const byEmail = apiWith(jwtAuth({ secret, claim: 'email', allowUnlimited: true }))
    const good = await sign({ sub: 'ana', email: 'ana@example.com' }, secret)
    expect(await byEmail(`Bearer ${good}`)).toBe('ana@example.com')
    expect(await byEmail(`Bearer ${await sign({ sub: 'ana' }, secret)}`)).toBe(refused)
  })

  test.each([
    { secret: '' },
    { secret: 'short' },
    { secret: undefined as never },
    { jwksUri: '' },
    { jwksUri: 'http://issuer.test/keys' },
  ])('options that would be open to everybody are refused: %o', (options) => {
    expect(() => jwtAuth(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('by published keys', () => {
  const keyPair = async (kid: string, algorithm: 'RS256' | 'ES256') => {
    const parameters =
      algorithm === 'RS256'
        ? {
            name: 'RSASSA-PKCS1-v1_5',
            hash: 'SHA-256',
            modulusLength: 2048,
            publicExponent: new Uint8Array([1, 0, 1]),
          }
        : { name: 'ECDSA', namedCurve: 'P-256' }
    const pair = (await crypto.subtle.generateKey(parameters, true, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair
    const exported = async (key: webcrypto.CryptoKey) => ({
      ...(await crypto.subtle.exportKey('jwk', key)),
      kid,
      alg: algorithm,
    })
    return { own: await exported(pair.privateKey), published: await exported(pair.publicKey) }
  }
  const jwksUri = 'https://issuer.test/keys'
  const serve = (keys: readonly object[]) => vi.fn(async () => Response.json({ keys }))
  const token = (key: object, change: object = {}) =>
    sign({ sub: 'ana', exp: inAnHour(), ...change }, key as never)

  test('a good token is its subject; keys are fetched once', async () => {
    const rsa = await keyPair('one', 'RS256')
    const elliptic = await keyPair('two', 'ES256')
    const fetch = serve([rsa.published, elliptic.published])
    const user = apiWith(jwtAuth({ jwksUri, fetch }))
    expect(await user(`Bearer ${await token(rsa.own)}`)).toBe('ana')
    expect(await user(`Bearer ${await token(elliptic.own, { sub: 'bo' })}`)).toBe('bo')
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test('tokens of others, and those that pretend, are refused', async () => {
    const rsa = await keyPair('one', 'RS256')
    const stranger = await keyPair('one', 'RS256')
    const user = apiWith(jwtAuth({ jwksUri, audience: 'memory', fetch: serve([rsa.published]) }))
    const claims = { aud: 'memory' }
    expect(await user(`Bearer ${await token(rsa.own, claims)}`)).toBe('ana')
    expect(await user(`Bearer ${await token(stranger.own, claims)}`)).toBe(refused)
    expect(await user(`Bearer ${await token(rsa.own, { aud: 'other' })}`)).toBe(refused)
    expect(await user(`Bearer ${await token(rsa.own, { ...claims, exp: 1 })}`)).toBe(refused)
    // The public key as if it were a secret, and no signature at all.
    const header = { alg: 'HS256', typ: 'JWT', kid: 'one' }
    const payload = part({ sub: 'ana', exp: inAnHour(), ...claims })
    const key = await crypto.subtle.importKey(
      'raw',
      new TextEncoder().encode(JSON.stringify(rsa.published)),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    )
    const signature = await crypto.subtle.sign(
      'HMAC',
      key,
      new TextEncoder().encode(`${part(header)}.${payload}`),
    )
    const forged = `${part(header)}.${payload}.${Buffer.from(signature).toString('base64url')}`
    expect(await user(`Bearer ${forged}`)).toBe(refused)
    for (const change of [
      { alg: 'none' },
      { alg: 'RS256', kid: undefined },
      { alg: 'RS256', kid: 5 },
    ]) {
      const unsigned = `${part({ ...header, ...change })}.${payload}.`
      expect(await user(`Bearer ${unsigned}`)).toBe(refused)
    }
  })

  test('a new key is fetched when a token names it; made-up names do not cause a storm', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const old = await keyPair('old', 'ES256')
      const fresh = await keyPair('fresh', 'ES256')
      const keys: object[] = [old.published]
      const fetch = serve(keys)
      const user = apiWith(jwtAuth({ jwksUri, fetch }))
      expect(await user(`Bearer ${await token(old.own)}`)).toBe('ana')
      keys.push(fresh.published)
      expect(await user(`Bearer ${await token(fresh.own)}`)).toBe(refused)
      vi.advanceTimersByTime(31_000)
      expect(await user(`Bearer ${await token(fresh.own)}`)).toBe('ana')
      expect(fetch).toHaveBeenCalledTimes(2)
      const unknown = await keyPair('unknown', 'ES256')
      for (let index = 0; index < 20; index++) {
        expect(await user(`Bearer ${await token(unknown.own)}`)).toBe(refused)
      }
      expect(fetch).toHaveBeenCalledTimes(2)
      vi.advanceTimersByTime(11 * 60_000)
      expect(await user(`Bearer ${await token(old.own)}`)).toBe('ana')
      expect(fetch).toHaveBeenCalledTimes(3)
    } finally {
      vi.useRealTimers()
    }
  })

  test('when the issuer does not answer, known keys go on; without any nobody gets in', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const pair = await keyPair('one', 'ES256')
      let works = false
      const fetch = async () => {
        if (!works) throw new TypeError('no route to host')
        return Response.json({ keys: [pair.published] })
      }
      const user = apiWith(jwtAuth({ jwksUri, fetch }))
      const good = `Bearer ${await token(pair.own)}`
      expect(await user(good)).toBe('503 AUTHENTICATION_UNAVAILABLE')
      works = true
      expect(await user(good)).toBe('ana')
      works = false
      vi.advanceTimersByTime(20 * 60_000)
      expect(await user(good)).toBe('ana')
    } finally {
      vi.useRealTimers()
    }
    for (const answer of [
      new Response('no', { status: 500 }),
      new Response('<html>'),
      Response.json({}),
      Response.json({ keys: 'many' }),
    ]) {
      const user = apiWith(jwtAuth({ jwksUri, fetch: async () => answer }))
      const pair = await keyPair('one', 'ES256')
      expect(await user(`Bearer ${await token(pair.own)}`)).toBe('503 AUTHENTICATION_UNAVAILABLE')
    }
  })
})

describe('by nobody', () => {
  test('without authentication every request is refused, also for the document', async () => {
    for (const authenticate of [undefined, null]) {
      const api = createSessionApi({
        authenticate,
        sessions: () => createInMemorySessionService({ defaultUserId: 'ana' }),
      })
      for (const path of [
        '/',
        '/openapi.json',
        '/sessions',
        '/user',
        '/sessions/x/changes',
        '/none',
      ]) {
        const response = await api.request(path)
        expect([path, response.status]).toEqual([path, 401])
      }
      expect((await api.request('/user', { method: 'PATCH' })).status).toBe(401)
    }
  })

  test('an authentication that fails lets nobody in', async () => {
    for (const authenticate of [
      () => undefined,
      () => '',
      () => '  ',
      () => 5 as never,
      async () => null,
    ]) {
      expect(await apiWith(authenticate)(null)).toBe(refused)
    }
    const throwing = () => {
      throw new Error('the database of users is gone')
    }
    expect(await apiWith(throwing)(null)).toBe('500 INTERNAL')
  })

  test('a service for a user is never asked for before', async () => {
    const sessions = vi.fn()
    const api = createSessionApi({ authenticate: () => null, sessions })
    await api.request('/sessions')
    expect(sessions).not.toHaveBeenCalled()
  })
})

describe('on the developer’s own machine', () => {
  test('requests from here are the user’s', async () => {
    for (const url of ['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787']) {
      const user = apiWith(developmentAuth({ userId: 'dev' }), url)
      expect(await user(null)).toBe('dev')
      expect(await user(null, { 'cf-connecting-ip': '127.0.0.1' })).toBe('dev')
      expect(await user(null, { 'cf-connecting-ip': '::1' })).toBe('dev')
    }
  })

  test('requests from elsewhere are refused', async () => {
    for (const url of [
      'https://memory.example.com',
      'http://localhost.example.com',
      'http://127.0.0.1.example.com',
      'http://0.0.0.0:8787',
      'http://192.168.1.5:8787',
    ]) {
      expect(await apiWith(developmentAuth({ userId: 'dev' }), url)(null)).toBe(refused)
    }
    const user = apiWith(developmentAuth({ userId: 'dev' }), 'http://localhost:8787')
    for (const headers of [
      { 'cf-connecting-ip': '203.0.113.5' },
      { 'x-forwarded-for': '203.0.113.5' },
      { 'x-forwarded-for': '127.0.0.1, 203.0.113.5' },
      { 'x-real-ip': '10.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
    ]) {
      expect(await user(null, headers as never)).toBe(refused)
    }
  })

  test('it is never on by itself, and its user must be one', () => {
    expect(() => developmentAuth({ userId: '' })).toThrow('userId')
    expect(() => developmentAuth({} as never)).toThrow('userId')
  })
})
