// Makes src/http/openapi.json, the OpenAPI document that the API serves, of its routes and of the Zod
// schemas that requests are checked with. It is kept as a file because Zod's part that writes JSON
// Schema would be an eighth of the Worker; a test says when it is out of date.
//
//   node scripts/openapi-document.ts
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as z from 'zod/mini'
import type { JsonObject, JsonValue } from '../src/core/json.ts'
import { answers, notes } from '../src/http/answer-schemas.ts'
import { documentation, type RouteDocumentation } from '../src/http/documentation.ts'
import { type ParameterKind, type QueryForm, queries } from '../src/http/queries.ts'
import { PROBLEM_TYPE, type ProblemCode, STATUS_OF } from '../src/wire/problem.ts'
import { root } from './entries.ts'

const PROBLEM = '#/components/responses/Problem'

/** What every route may fail with. */
const SHARED_CODES: readonly ProblemCode[] = [
  'UNAUTHENTICATED',
  'RATE_LIMITED',
  'INTERNAL',
  'STORAGE_FAILED',
  'STORAGE_OUTDATED',
  'STORAGE_UNAVAILABLE',
  'AUTHENTICATION_UNAVAILABLE',
  'CLOSED',
]
/** What every route with a body may fail with. */
const BODY_CODES: readonly ProblemCode[] = [
  'INVALID_ARGUMENT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'QUOTA_EXCEEDED',
]

/** OpenAPI 3.1: its schemas are JSON Schema 2020-12, which is what Zod writes. */
export function makeOpenApiDocument(): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {}
  for (const [route, description] of Object.entries(documentation)) {
    const [method = '', path = ''] = route.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(path, description) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'turnlog',
      version: '1',
      description:
        'Session memory for AI agents: append-only logs of events. Ids in paths are percent-encoded; the ids "." and ".." and those that begin with "~" get a "~" before them. Integers are at most 2^53 - 1.',
    },
    security: [{ bearer: [] }],
    paths,
    components: {
      parameters: sharedParameters(),
      responses: {
        Problem: {
          description: `A failure. Every route may give ${SHARED_CODES.join(', ')}; one with a body ${BODY_CODES.join(', ')}.`,
          content: { [PROBLEM_TYPE]: { schema: schemaOf(answers.problem) } },
        },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: componentSchemas(),
    },
  }
}

function operation(path: string, route: RouteDocumentation): JsonObject {
  const { summary, query, body, bodyType = 'application/json', answer } = route
  const { answerTypes = ['application/json'], statuses = [200] } = route
  const shared = [...SHARED_CODES, ...(body === undefined ? [] : BODY_CODES)]
  const failures = [...new Set(route.codes.map((code) => STATUS_OF[code]))].sort((a, b) => a - b)
  const content = Object.fromEntries(
    answerTypes.map((type, index) => [
      type,
      { schema: index === 0 ? schemaOf(answer) : { type: 'string' } },
    ]),
  )
  return {
    summary,
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
        return { $ref: `#/components/parameters/${name}` }
      }),
      ...(query === undefined ? [] : queryParameters(query).map(shareParameter)),
      ...(route.headers ?? []).map((name) => ({ name, in: 'header', schema: { type: 'string' } })),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [bodyType]: { schema: schemaOf(body) } } } }),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, { description: 'OK', content }])),
      ...Object.fromEntries(
        failures.map((status) => [
          status,
          problem([...route.codes, ...shared].filter((code) => STATUS_OF[code] === status)),
        ]),
      ),
      default: { $ref: PROBLEM },
    },
  }
}

function problem(codes: readonly ProblemCode[]): JsonObject {
  return { $ref: PROBLEM, description: [...new Set(codes)].join(', ') }
}

/** What JSON Schema says of the kinds of parameters. */
const KINDS: Readonly<Record<ParameterKind, JsonObject>> = {
  text: { type: 'string' },
  texts: { type: 'array', items: { type: 'string' } },
  words: { type: 'array', items: { type: 'string' } },
  integer: { type: 'integer' },
  flag: { type: 'boolean' },
  instant: {
    type: 'string',
    description: 'ISO-8601 with seconds and zone, or epoch milliseconds.',
  },
}

function queryParameters(form: QueryForm): JsonObject[] {
  return Object.entries(form).map(([name, kind]) => ({ name, in: 'query', schema: KINDS[kind] }))
}

/** Ids in paths, and the fields of filters, which several routes take. */
function sharedParameters(): JsonObject {
  const shared = queryParameters(queries.events).filter(isShared)
  const ids = ['sessionId', 'eventId'].map((name) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
  return Object.fromEntries([...ids, ...shared].map((parameter) => [parameter['name'], parameter]))
}

function isShared({ name }: JsonObject): boolean {
  return Object.hasOwn(queries.events, String(name)) && Object.hasOwn(queries.recall, String(name))
}

function shareParameter(parameter: JsonObject): JsonObject {
  return isShared(parameter)
    ? { $ref: `#/components/parameters/${String(parameter['name'])}` }
    : parameter
}

function schemaOf(schema: z.ZodMiniType | JsonObject): JsonObject {
  if (!isZod(schema)) return schema
  const id = notes.get(schema)?.id
  return id === undefined ? toJsonSchema(schema) : { $ref: uri(id) }
}

function isZod(schema: z.ZodMiniType | JsonObject): schema is z.ZodMiniType {
  return '_zod' in schema
}

function toJsonSchema(schema: z.ZodMiniType): JsonObject {
  return clean(z.toJSONSchema(schema, { io: 'input', metadata: notes, unrepresentable: 'any' }))
}

function componentSchemas(): JsonObject {
  const { schemas } = z.toJSONSchema(notes as never, {
    io: 'input',
    metadata: notes,
    uri,
    unrepresentable: 'any',
  }) as { readonly schemas: Readonly<Record<string, object>> }
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, clean(schema)]))
}

function uri(id: string): string {
  return `#/components/schemas/${id}`
}

/** Without what Zod adds for a schema that stands alone, and in as few words as JSON Schema has. */
function clean(schema: object): JsonObject {
  const { $schema, $id, id, ...rest } = schema as Record<string, JsonValue>
  return shorten(rest) as JsonObject
}

function shorten(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shorten)
  if (typeof value !== 'object' || value === null) return value
  const { anyOf, ...rest } = value as Record<string, JsonValue>
  const entries = Object.entries(rest)
    // That an integer is one that JavaScript holds exactly is said of all of them at once.
    .filter(([, item]) => Math.abs(Number(item)) !== Number.MAX_SAFE_INTEGER)
    .map(([key, item]) => [key, shorten(item)])
  const short = Object.fromEntries(entries) as Record<string, JsonValue>
  if (!Array.isArray(anyOf)) return short
  const forms = anyOf.map(shorten) as Record<string, JsonValue>[]
  const types = forms.map(({ type }) => type)
  const isPlain = forms.every(
    (form) => typeof form['type'] === 'string' && Object.keys(form).length === 1,
  )
  const [first, last] = forms
  if (isPlain) return { ...short, type: types as string[] }
  const isNullable =
    forms.length === 2 && last?.['type'] === 'null' && typeof first?.['type'] === 'string'
  return isNullable && first['enum'] === undefined
    ? { ...short, ...first, type: [first['type'] as string, 'null'] }
    : { ...short, anyOf: forms }
}

if (import.meta.main) {
  const file = join(root, 'src/http/openapi.json')
  writeFileSync(file, JSON.stringify(makeOpenApiDocument()))
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  execFileSync(process.execPath, [biome, 'format', '--write', file], { stdio: 'inherit' })
}
