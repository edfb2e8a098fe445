// What the HTTP API and its client cost who compiles against them: explicit types, nothing inferred from
// routes. Counted in instantiations, which no busy machine changes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkDryRun, dryRun, WORKER_BUDGET } from '../../scripts/deploy-dry.ts'
import { root } from '../../scripts/entries.ts'

let folder: string
beforeAll(() => {
  mkdirSync(join(root, 'reports'), { recursive: true })
  folder = mkdtempSync(join(root, 'reports', 'http-types-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'turnlog'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Compiled {
  readonly output: string
  readonly instantiations: number
}

function compile(code: string): Compiled {
  writeFileSync(join(folder, 'main.ts'), code)
  const compilerOptions = {
    lib: ['ES2022'],
    types: ['@cloudflare/workers-types'],
    target: 'ES2022',
    module: 'ESNext',
    moduleResolution: 'bundler',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['main.ts'] }),
  )
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(
    process.execPath,
    [compiler, '-p', folder, '--extendedDiagnostics', '--singleThreaded'],
    { encoding: 'utf8' },
  )
  const instantiations = Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1])
  return {
    output: stdout
      .split('\n')
      .filter((line) => line.includes('error'))
      .join('\n'),
    instantiations,
  }
}

/** What mounting an app costs with Hono alone. */
const hono = `import { Hono } from 'hono'
interface Env { readonly NAME: string }
export const app = new Hono<{ Bindings: Env }>()
app.route('/other', new Hono<{ Bindings: Env }>())
`

test('an API, mounted in an app of one’s own, and a client compile with little more than Hono itself', () => {
  const alone = compile(hono)
  const whole = compile(`${hono}
import { createSessionApi, jwtAuth, type WireRead } from 'turnlog/http'
import { createHttpSessionService } from 'turnlog/client'
import { durableObjectSessions, type SessionStore } from 'turnlog/worker'

interface Bindings extends Env { readonly SESSIONS: DurableObjectNamespace<SessionStore> }

const memory = createSessionApi<Bindings>({
  authenticate: jwtAuth({ jwksUri: 'https://issuer.test/keys' }),
  sessions: (env, userId) => durableObjectSessions(env.SESSIONS, userId),
})
app.route('/memory', memory)
export const sessions = createHttpSessionService({ baseUrl: 'https://memory.test' })
export const times = (read: WireRead): string[] => read.events.map(({ timestamp }) => timestamp)
// @ts-expect-error instants are texts on the wire
export const dates = (read: WireRead): Date[] => read.events.map(({ timestamp }) => timestamp)
`)
  expect(alone.output).toBe('')
  expect(whole.output).toBe('')
  console.log(
    `instantiations: ${alone.instantiations} for Hono, ${whole.instantiations} with the API`,
  )
  expect(alone.instantiations).toBeGreaterThan(1000)
  expect(whole.instantiations - alone.instantiations).toBeLessThan(2000)
})

test('the Worker deploys, with all its bindings and within its budget', () => {
  const result = dryRun()
  expect(checkDryRun(result), result.output).toEqual([])
  expect(result.gzip).toBeLessThanOrEqual(WORKER_BUDGET)
})
