// The command `npm start`: the page and the Worker on one address, until it is told to end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../../scripts/entries.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnlog-start-'))
const started: ChildProcess[] = []

afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

function start(...options: readonly string[]) {
  const child = spawn(process.execPath, [join(root, 'scripts/start.ts'), ...options])
  started.push(child)
  let output = ''
  const take = (text: Buffer) => {
    output += String(text)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const ended = once(child, 'exit').then(([code]) => code as number)
  return { child, ended, output: () => output }
}

test('serves the page and the Worker, keeps its data where it is told to, and ends', async () => {
  const { child, ended, output } = start('--port', '0', '--storage', folder)
  await expect.poll(output, { timeout: 60_000 }).toContain('Ctrl+C ends it.')
  const [, address = ''] = /Chat +(http:\S+)/.exec(output()) ?? []
  const page = await fetch(address)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
  expect(await page.text()).toContain('<title>turnlog chat</title>')
  const user = await fetch(`${address}api/user`)
  expect(await user.json()).toEqual({ userId: 'developer' })
  const created = await fetch(`${address}api/sessions/kept`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  expect(created.status).toBe(201)
  expect(readdirSync(folder).length).toBeGreaterThan(0)

  const second = start('--port', new URL(address).port, '--storage', join(folder, 'second'))
  expect(await second.ended).toBe(1)
  expect(second.output()).toContain(`npm start -- --port ${Number(new URL(address).port) + 1}`)

  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  await expect(fetch(address)).rejects.toThrow()
})

test.each([
  [['--port', 'many'], '"many" is no port'],
  [['--prot', '12'], "'--prot'"],
  [['12'], "'12'"],
])('says what its options are: %s', async (options, problem) => {
  const wrong = start(...options)
  expect(await wrong.ended).toBe(1)
  expect(wrong.output()).toContain(problem)
  expect(wrong.output()).toContain('--port NUMBER')
  expect(wrong.output()).not.toContain('at ')
})
