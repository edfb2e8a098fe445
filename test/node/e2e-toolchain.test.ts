// Proves what the other tests that drive a whole browser or a local Worker rely on.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killPage, openBrowser } from '../../scripts/browser-page.ts'
import { startWorker } from '../../scripts/local-worker.ts'

test('two tabs share one IndexedDB; killing one leaves the other and the data', async () => {
  await using browser = await openBrowser({ entry: 'test/browser/toolchain-page.ts' })
  const [first, second] = [await browser.newPage(), await browser.newPage()]
  await first.evaluate(`add('from the first')`)
  await killPage(first)
  await second.evaluate(`add('from the second')`)
  const third = await browser.newPage()
  expect(await third.evaluate('all()')).toEqual(['from the first', 'from the second'])
})

test('a profile folder keeps IndexedDB for the next browser', async () => {
  const profile = await mkdtemp(join(tmpdir(), 'turnlog-profile-'))
  try {
    for (const expected of [['one'], ['one', 'one']]) {
      await using browser = await openBrowser({ entry: 'test/browser/toolchain-page.ts', profile })
      const page = await browser.newPage()
      await page.evaluate(`add('one')`)
      expect(await page.evaluate('all()')).toEqual(expected)
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
})

test('a page may be given an origin that is no secure context', async () => {
  await using secure = await openBrowser({ entry: 'test/browser/toolchain-page.ts' })
  await using plain = await openBrowser({
    entry: 'test/browser/toolchain-page.ts',
    origin: 'http://turnlog.test',
  })
  const expression = 'typeof crypto.randomUUID'
  expect(await (await secure.newPage()).evaluate(expression)).toBe('function')
  expect(await (await plain.newPage()).evaluate(expression)).toBe('undefined')
})

test('a killed Worker has its data when it starts again', async () => {
  const storage = await mkdtemp(join(tmpdir(), 'turnlog-worker-'))
  const options = {
    entry: 'test/workers/visit-counter.ts',
    durableObjects: { VISITS: 'VisitCounter' },
    storage,
  }
  try {
    const first = await startWorker(options)
    await fetch(new URL('/a', first.url), { method: 'POST' })
    await first.kill()
    await expect(fetch(first.url)).rejects.toThrow()

    await using second = await startWorker(options)
    const response = await fetch(new URL('/a', second.url))
    expect(await response.json()).toEqual({ visits: 1 })
  } finally {
    await rm(storage, { recursive: true, force: true, maxRetries: 5 })
  }
})

test('a Worker that cannot be bundled says so', async () => {
  await expect(startWorker({ entry: 'test/support/missing.ts' })).rejects.toThrow(/did not start/)
})
