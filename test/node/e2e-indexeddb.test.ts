// The IndexedDB store in a whole browser: tabs that share a database, tabs and browsers that are
// killed, a quota that is full, data that the browser throws away.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright'
import { expect, test } from 'vitest'
import { killPage, type OpenBrowser, openBrowser } from '../../scripts/browser-page.ts'

const entry = 'test/browser/indexeddb-page.ts'
const origin = 'http://turnlog.localhost'

interface ReadResult {
  readonly ids: readonly string[]
  readonly seqs: readonly number[]
  readonly lengths: readonly number[]
}

async function read(page: Page): Promise<ReadResult> {
  const result = await page.evaluate('read()')
  if (typeof result === 'string') throw new Error(result)
  return result as ReadResult
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** Runs with a folder for a profile, which outlives the browser. */
async function withProfile(run: (profile: string) => Promise<void>): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'turnlog-profile-'))
  try {
    await run(profile)
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Starts appending and resolves with the ids that were acknowledged, once there are `count` of them. */
async function acknowledgeAppends(page: Page, count: number): Promise<readonly string[]> {
  const acknowledged: string[] = []
  const reached = new Promise<void>((resolve) => {
    void page.exposeFunction('acknowledge', (id: string) => {
      acknowledged.push(id)
      if (acknowledged.length === count) resolve()
    })
  })
  await page.waitForFunction('typeof acknowledge === "function"')
  void page.evaluate('appendForEver()').catch(() => undefined) // the page is killed
  await reached
  return acknowledged
}

function expectAllStored({ ids, seqs }: ReadResult, acknowledged: readonly string[]): void {
  expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([])
  expect(seqs).toEqual(numbers(ids.length))
  expect(new Set(ids).size).toBe(ids.length)
}

test('two tabs append 500 events each at the same time: none lost, none doubled', async () => {
  await using browser = await openBrowser({ entry })
  const [first, second] = [await browser.newPage(), await browser.newPage()]
  await Promise.all([
    first.evaluate(`appendMany('first-', 500)`),
    second.evaluate(`appendMany('second-', 500)`),
  ])
  for (const page of [first, second]) {
    const { ids, seqs } = await read(page)
    expect(seqs).toEqual(numbers(1000))
    for (const prefix of ['first-', 'second-']) {
      expect(ids.filter((id) => id.startsWith(prefix))).toEqual(
        numbers(500).map((number) => `${prefix}${number}`),
      )
    }
  }
})

test('a tab and its worker work on one database', async () => {
  await using browser = await openBrowser({ entry })
  const page = await browser.newPage()
  await Promise.all([
    page.evaluate(`appendMany('page-', 50)`),
    page.evaluate(`appendInWorker('worker-', 50)`),
  ])
  expect((await read(page)).seqs).toEqual(numbers(100))
})

test('a tab hears what another appends', async () => {
  await using browser = await openBrowser({ entry })
  const [watcher, writer] = [await browser.newPage(), await browser.newPage()]
  const heard = watcher.evaluate('watchForOne()')
  // The watcher may not watch yet: it hears one of many.
  await writer.evaluate(`appendMany('e', 200)`)
  expect(await heard).toBe('a')
})

test('a tab killed right after an append was acknowledged: the event is there', async () => {
  await using browser = await openBrowser({ entry })
  const page = await browser.newPage()
  expect(await page.evaluate(`append('last', 1000)`)).toBe('stored')
  await killPage(page)
  expect(await read(await browser.newPage())).toEqual({ ids: ['last'], seqs: [1], lengths: [1000] })
})

test('a tab killed in the middle of appending: everything acknowledged is there, once', async () => {
  await using browser = await openBrowser({ entry })
  let stored = 0
  for (let round = 0; round < 3; round++) {
    const page = await browser.newPage()
    const acknowledged = await acknowledgeAppends(page, 40)
    await killPage(page)
    const result = await read(await browser.newPage())
    expectAllStored(result, acknowledged)
    expect(result.ids.length).toBeGreaterThanOrEqual(stored + acknowledged.length)
    stored = result.ids.length
  }
})

test('a browser killed in the middle of appending: everything acknowledged is there, once', async () => {
  await withProfile(async (profile) => {
    const browser = await openBrowser({ entry, profile })
    const page = await browser.newPage()
    const acknowledged = await acknowledgeAppends(page, 100)
    await killBrowser(browser)
    await using again = await openBrowser({ entry, profile })
    expectAllStored(await read(await again.newPage()), acknowledged)
  })
})

test('a full quota: told, nothing half stored, and it goes on when there is room', async () => {
  await using browser = await openBrowser({ entry })
  const page = await browser.newPage()
  const session = await page.context().newCDPSession(page)
  // Before the first write: from then on Chromium remembers for a while how much room there is.
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 3_000_000 })
  expect(await page.evaluate(`append('e1', 1000)`)).toBe('stored')
  const outcomes: unknown[] = []
  for (let number = 2; number <= 10; number++) {
    outcomes.push(await page.evaluate(`append('e${number}', 1_000_000)`))
  }
  expect(outcomes).toContain('QUOTA_EXCEEDED')
  expect(new Set(outcomes)).toEqual(new Set(['stored', 'QUOTA_EXCEEDED']))
  const stored = outcomes.filter((outcome) => outcome === 'stored').length
  expect((await read(page)).lengths).toEqual([1000, ...Array(stored).fill(1_000_000)])

  await session.send('Storage.overrideQuotaForOrigin', { origin })
  expect(await page.evaluate(`append('small', 10)`)).toBe('stored')
  const { ids, seqs } = await read(page)
  expect(ids.at(-1)).toBe('small')
  expect(seqs).toEqual(numbers(stored + 2))
})

test('data that the browser threw away under two live tabs: both are told, and go on', async () => {
  await using browser = await openBrowser({ entry })
  const pages = [await browser.newPage(), await browser.newPage()]
  for (const [index, page] of pages.entries()) {
    expect(await page.evaluate(`append('e${index}', 10)`)).toBe('stored')
  }
  const session = await browser.context.newCDPSession(pages[0] as Page)
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
  for (const page of pages) {
    expect(await page.evaluate('read()')).toBe('SESSION_NOT_FOUND')
    expect(await page.evaluate('report()')).toEqual({ damage: [], resets: 1 })
  }
  for (const [index, page] of pages.entries()) {
    expect(await page.evaluate(`append('f${index}', 10)`)).toBe('stored')
    expect(await page.evaluate('report()')).toEqual({ damage: [], resets: 1 })
  }
  expect((await read(pages[0] as Page)).ids).toEqual(['f0', 'f1'])
})

test('a page that is no secure context has no navigator.storage, and works', async () => {
  await using browser = await openBrowser({ entry, origin: 'http://turnlog.test' })
  const page = await browser.newPage()
  expect(await page.evaluate('typeof navigator.storage')).toBe('undefined')
  expect(await page.evaluate(`append('e1', 10)`)).toBe('stored')
  for (const ask of ['requestPersistence()', 'storageStatus()']) {
    expect(await page.evaluate(ask)).toEqual({ persisted: false, usage: null, quota: null })
  }
})

test('a large value whose file is lost is the damage of one event', async () => {
  await withProfile(async (profile) => {
    const browser = await openBrowser({ entry, profile })
    const page = await browser.newPage()
    for (const [id, length] of Object.entries({ e1: 100, e2: 3_000_000, e3: 100 })) {
      expect(await page.evaluate(`append('${id}', ${length})`)).toBe('stored')
    }
    await browser.close()
    const folder = join(profile, 'Default/IndexedDB')
    const values = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
      (file) => file.isFile() && file.parentPath.includes('.blob'),
    )
    expect(values.length).toBe(1)
    for (const { parentPath, name } of values) await rm(join(parentPath, name))

    await using again = await openBrowser({ entry, profile })
    const reader = await again.newPage()
    expect((await read(reader)).ids).toEqual(['e1', 'e3'])
    expect(await reader.evaluate('report()')).toEqual({ damage: [2], resets: 0 })
    expect(await reader.evaluate(`append('e4', 3_000_000)`)).toBe('stored')
    expect((await read(reader)).lengths).toEqual([100, 100, 3_000_000])
  })
})

/** Kills the browser's own process, as the system does when memory runs out. */
async function killBrowser({ context, close }: OpenBrowser): Promise<void> {
  const browser = context.browser()
  const session = await browser?.newBrowserCDPSession()
  const { processInfo } = (await session?.send('SystemInfo.getProcessInfo')) ?? { processInfo: [] }
  const own = processInfo.find(({ type }) => type === 'browser')
  if (own === undefined) throw new Error('the browser does not tell its process')
  const gone = new Promise((resolve) => context.once('close', resolve))
  process.kill(own.id, 'SIGKILL')
  await gone
  await close()
}
