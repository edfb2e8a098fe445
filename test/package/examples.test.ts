// The two quick starts, built as their users build them, against the built package, and used: in a
// browser, and in workerd.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sign } from 'hono/jwt'
import { chromium } from 'playwright'
import { build, preview } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findChromium } from '../../scripts/chromium.ts'
import { root } from '../../scripts/entries.ts'
import { startWorker } from '../../scripts/local-worker.ts'

let folder: string
beforeAll(() => {
  // Inside the project, so that what the examples need besides turnlog is found.
  mkdirSync(join(root, 'reports'), { recursive: true })
  folder = mkdtempSync(join(root, 'reports', 'examples-'))
  for (const name of ['browser-quickstart', 'worker-quickstart']) {
    cpSync(join(root, 'examples', name), join(folder, name), { recursive: true })
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'turnlog'), 'junction')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the page keeps its chat, lets old messages leave the prompt, and finds them', async () => {
  const site = join(folder, 'browser-quickstart')
  await build({ root: site, logLevel: 'error' })
  const server = await preview({ root: site, logLevel: 'error', preview: { host: '127.0.0.1' } })
  const { executablePath, args, env } = await findChromium()
  const browser = await chromium.launch({ executablePath, args: [...args], ...(env && { env }) })
  try {
    const page = await browser.newPage()
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(error.message))
    const messages = page.locator('#messages li')
    const send = async (text: string) => {
      const before = await messages.count()
      await page.fill('input', text)
      await page.click('button')
      await messages.nth(before + 1).waitFor()
      return messages.nth(before + 1).textContent()
    }
    await page.goto(server.resolvedUrls?.local[0] ?? '')
    expect(await send('Paper lanterns are for the harbour feast.')).toBe('Noted. I see 1 messages.')
    await page.reload()
    await messages.nth(1).waitFor()
    for (let turn = 2; turn <= 21; turn++) {
      expect(await send(`Number ${turn}`)).toBe(`Noted. I see ${2 * turn - 1} messages.`)
    }
    // 21 turns were more than 20, so that 10 were left before this one.
    expect(await send('Number 22')).toBe('Noted. I see 21 messages.')
    expect(await messages.count()).toBe(44)
    expect(await page.locator('#messages .archived').count()).toBe(22)
    expect(await messages.first().getAttribute('class')).toBe('user archived')
    expect(await send('What about lanterns?')).toBe(
      'You said: Paper lanterns are for the harbour feast.',
    )
    expect(failures).toEqual([])
  } finally {
    await browser.close()
    await server.close()
  }
})

test('the Worker keeps each user’s chats apart, and finds what left a prompt', async () => {
  const secret = 'of the test'
  await using worker = await startWorker({
    entry: 'examples/worker-quickstart/index.ts',
    bindings: { JWT_SECRET: secret },
  })
  const tokens = new Map<string, string>()
  for (const user of ['ana', 'bo']) tokens.set(user, await sign({ sub: user }, secret, 'HS256'))
  const call = async (user: string, body?: unknown, key?: string) => {
    const response = await fetch(new URL('/chats/main', worker.url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${tokens.get(user) ?? user}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: response.ok ? await response.json() : null }
  }
  const say = async (user: string, text: string, key?: string) => {
    const { body } = await call(user, { text }, key)
    return (body as { content: string }).content
  }

  expect(await say('ana', 'Paper lanterns are for the harbour feast.')).toBe(
    'Noted. I see 1 messages.',
  )
  for (let turn = 2; turn <= 22; turn++) await say('ana', `Number ${turn}`)
  expect(await say('ana', 'What about lanterns?')).toBe(
    'You said: Paper lanterns are for the harbour feast.',
  )
  expect((await call('ana')).body).toHaveLength(46)

  expect(await say('bo', 'What about lanterns?')).toBe('I know nothing about lanterns.')
  expect((await call('bo')).body).toHaveLength(2)
  await say('bo', 'Once', 'key-1')
  await say('bo', 'Once', 'key-1')
  expect((await call('bo')).body).toHaveLength(4)

  for (const body of [{ text: 42 }, {}, null]) {
    expect((await call('ana', body)).status).toBe(400)
  }
  const noJson = await fetch(new URL('/chats/main', worker.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.get('ana')}` },
    body: 'text=Hello',
  })
  expect(noJson.status).toBe(400)
  expect((await call('nobody')).status).toBe(401)
  const forged = await sign({ sub: 'ana' }, 'another secret', 'HS256')
  expect((await call(forged)).status).toBe(401)
})

test('the Worker is ready to be deployed', async () => {
  const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [wrangler, 'deploy', '--dry-run', '--outdir', join(folder, 'worker')],
    {
      cwd: join(folder, 'worker-quickstart'),
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', NO_COLOR: '1' },
    },
  )
  expect(stdout).toContain('env.SESSIONS (SessionStore)')
  expect(Number(/gzip: ([\d.]+) KiB/.exec(stdout)?.[1])).toBeLessThan(60)
})
