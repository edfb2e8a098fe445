// What travels: ids in paths, and one form for the server's schemas, the client's types and the document.
import fc from 'fast-check'
import type { SessionService } from 'turnlog'
import type {
  Problem,
  SessionApi,
  WireCommit,
  WireCommitted,
  WireCreated,
  WireNewSession,
  WireQuery,
  WireRead,
  WireRecall,
  WireRecallQuery,
  WireSession,
  WireSessionPage,
} from 'turnlog/http'
import { createSessionApi, jwtAuth } from 'turnlog/http'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { expect, expectTypeOf, test } from 'vitest'
import type * as z from 'zod/mini'
import { makeOpenApiDocument } from '../../../scripts/openapi-document.ts'
import type { answers } from '../../../src/http/answer-schemas.ts'
import { documentation } from '../../../src/http/documentation.ts'
import openApi from '../../../src/http/openapi.json' with { type: 'json' }
import { listRoutes } from '../../../src/http/routes.ts'
import type * as schemas from '../../../src/http/schemas.ts'
import { decodeSegment, encodeSegment } from '../../../src/wire/ids.ts'
import { testApi } from '../../support/session-api.ts'

const oddIds = [
  '.',
  '..',
  '~',
  '~.',
  '~..',
  '~~',
  '~a',
  '...',
  '.a',
  'a/b',
  'a%2Fb',
  '%',
  '%25',
  '?',
  '#',
  '\\',
  'a b',
  '\u0000',
  '\n',
  '+',
  ';',
  ':',
  '*',
  '{x}',
  'é',
  'e\u0301',
  '\u{1f3f7}',
  'sessions',
  'a'.repeat(512),
]

test('any id is one segment of a path, and comes back', () => {
  const check = (id: string) => {
    const segment = encodeSegment(id)
    // As every URL parser leaves it.
    expect(new URL(`http://h/a/${segment}/b`).pathname).toBe(`/a/${segment}/b`)
    expect(decodeSegment(segment)).toBe(id)
  }
  for (const id of oddIds) check(id)
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1 }).map((id) => id.toWellFormed()),
      check,
    ),
  )
  fc.assert(
    fc.property(fc.array(fc.constantFrom('.', '~', '%', '/'), { minLength: 1 }), (parts) =>
      check(parts.join('')),
    ),
  )
  const segments = oddIds.map(encodeSegment)
  expect(new Set(segments).size).toBe(oddIds.length)
  for (const bad of ['%', '%f', '%ff', '%E4%BD', '%zz']) expect(decodeSegment(bad)).toBeNull()
})

test('any id reaches its session and its event', async () => {
  const api = testApi()
  const visit = async (id: string) => {
    const path = `/sessions/${encodeSegment(id)}`
    const created = await api.request('PUT', path, { body: {} })
    expect(created.json.session.id, id).toBe(id)
    await api.request('POST', `${path}/events`, {
      body: { id, message: { role: 'user', content: 'a' } },
    })
    const { json } = await api.request('GET', `${path}/events/${encodeSegment(id)}`)
    expect(json.event.id).toBe(id)
    expect((await api.request('DELETE', path)).json).toEqual({ deleted: true })
  }
  for (const id of oddIds) await visit(id === '\n' ? 'a\nb' : id)
  const ids = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 100 })
    .map((id) => id.toWellFormed())
  await fc.assert(
    fc.asyncProperty(
      ids.filter((id) => id.trim() !== ''),
      visit,
    ),
    { numRuns: 200 },
  )
})

test('the document is made of the schemas and routes as they are', () => {
  // Out of date? node scripts/openapi-document.ts
  expect(openApi).toEqual(makeOpenApiDocument())
  const routes = listRoutes({ pollInterval: 1, duration: 1, crossSessionSearch: true })
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    Object.keys(documentation).toSorted(),
  )
})

test('the document is served to everybody, with the routes that are there', async () => {
  const closed = await testApi().request('GET', '/openapi.json', { user: null })
  expect(closed).toMatchObject({ status: 200, json: { openapi: '3.1.0' } })
  expect(Object.keys(closed.json.paths)).not.toContain('/tools/cross_session_search')
  const open = await testApi({ crossSessionSearch: true }).request('GET', '/openapi.json')
  expect(open.json).toEqual(openApi)
})

test('every reference of the document leads somewhere', () => {
  const references = [...JSON.stringify(openApi).matchAll(/"\$ref":"#\/([^"]+)"/g)]
  expect(references.length).toBeGreaterThan(50)
  for (const [, path = ''] of references) {
    const found = path.split('/').reduce<unknown>((value, key) => Object(value)[key], openApi)
    expect(found, path).toBeTypeOf('object')
  }
})

test('the types of the client are those of the schemas', () => {
  /** Without `readonly`, and with what is data of the user's left alone. */
  type Plain<T> = T extends string | number | boolean | null | undefined
    ? T
    : string extends keyof T
      ? T
      : T extends readonly (infer I)[]
        ? Plain<I>[]
        : { -readonly [K in keyof T]: Plain<T[K]> }
  type Same<A, B> = [Plain<A>, Plain<B>] extends [Plain<B>, Plain<A>] ? true : false
  type Answer<N extends keyof typeof answers> = z.infer<(typeof answers)[N]>
  type Sent<S extends z.ZodMiniType> = z.input<S>
  expectTypeOf<Same<WireSession, Answer<'session'>['session']>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireCreated, Answer<'created'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireSessionPage, Answer<'sessions'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireRead, Answer<'read'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireCommitted, Answer<'committed'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireRecall, Answer<'recall'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<Problem, Answer<'problem'>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireNewSession, Sent<typeof schemas.newSession>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireCommit, Sent<typeof schemas.commit>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireQuery, Sent<typeof schemas.query>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireRecallQuery, Sent<typeof schemas.recallQuery>>>().toEqualTypeOf<true>()
  expectTypeOf<Same<WireCreated, Answer<'sessions'>>>().toEqualTypeOf<false>()
})

test('an API is written without annotations, and with them', () => {
  interface Bindings {
    readonly STORE: { readonly service: SessionService }
  }
  const plain = createSessionApi({
    authenticate: jwtAuth({ jwksUri: 'https://issuer.test/keys' }),
    sessions: (env, userId) => env.STORE.of(userId),
  })
  expectTypeOf(plain).toExtend<SessionApi>()
  const typed = createSessionApi({
    authenticate: jwtAuth({ jwksUri: 'https://issuer.test/keys' }),
    sessions: (env: Bindings) => env.STORE.service,
  })
  expectTypeOf(typed.fetch).toBeFunction()
  createSessionApi<Bindings>({
    authenticate: ({ req, env }) => (env.STORE ? (req.header('x-user') ?? null) : null),
    // @ts-expect-error a binding that is not there
    sessions: (env) => env.OTHER,
  })
  // @ts-expect-error without sessions there is nothing to serve
  expect(() => createSessionApi({})).toThrow('sessions')
  expectTypeOf(createInMemorySessionService()).toExtend<SessionService>()
})
