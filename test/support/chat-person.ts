// What a person does with the chat application, and what its tests look at.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type BrowserContext, expect as expectPage, type Locator, type Page } from 'playwright/test'
import type { SessionEvent } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { root } from '../../scripts/entries.ts'

/** Milliseconds that a page may take to show something, on a busy machine too. */
const PATIENCE = 20_000

export interface Person {
  readonly page: Page
  /** What the console and the page have said is wrong. */
  readonly complaints: readonly string[]
  readonly entries: Locator
  readonly conversations: Locator
  send(text: string): Promise<void>
  /** Sends, and waits until the answer is stored; gives its words. */
  ask(text: string): Promise<string>
  waitForAnswer(): Promise<void>
  search(text: string): Promise<void>
  /** Chooses an action of a conversation's menu. */
  choose(title: string, action: 'Rename' | 'Export' | 'Delete'): Promise<void>
  importFile(name: string, text: string): Promise<void>
  openSettings(): Promise<Locator>
  /** What axe finds that is serious or worse. */
  barriers(): Promise<readonly string[]>
  /** Kept in docs/screenshots when `TURNLOG_SCREENSHOTS` is set. */
  screenshot(name: string): Promise<void>
}

export const shows: typeof expectPage = expectPage.configure({ timeout: PATIENCE })

/** A tab of a person who opens the page; `before` runs in it ahead of the page's own code. */
export async function openChat(
  context: BrowserContext,
  url: URL,
  before: readonly string[] = [],
): Promise<Person> {
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    complaints.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  for (const content of before) await page.addInitScript({ content })
  await page.goto(url.href)
  await page.getByLabel('Message', { exact: true }).waitFor()

  const person: Person = {
    page,
    complaints,
    entries: page.locator('.scroller article'),
    conversations: page.locator('.sessions .session'),
    async send(text) {
      await page.getByLabel('Message', { exact: true }).fill(text)
      await page.keyboard.press('Enter')
    },
    async ask(text) {
      await person.send(text)
      await shows(page.locator('.question').last()).toContainText(text)
      await person.waitForAnswer()
      await shows(page.getByLabel('Message', { exact: true })).toHaveValue('')
      // biome-ignore lint/performance/useDomNodeTextContent: as a person reads it, line by line
      return (await person.entries.last().locator('.words').innerText()).trim()
    },
    async waitForAnswer() {
      // Both are there only for an answer that is stored.
      await page.getByRole('button', { name: 'Regenerate' }).waitFor()
      await page.getByRole('button', { name: 'Send' }).waitFor()
    },
    async search(text) {
      await page.getByLabel('Search all conversations').fill(text)
    },
    async choose(title, action) {
      const item = page.locator('.sessions li', { hasText: title })
      await item.hover()
      await item.getByRole('button', { name: /^Actions/ }).click()
      await item.getByRole('button', { name: action }).click()
    },
    async importFile(name, text) {
      const file = { name, mimeType: 'application/jsonl', buffer: Buffer.from(text) }
      await page.locator('input[type=file]').setInputFiles(file)
    },
    async openSettings() {
      await page.getByRole('button', { name: 'Settings' }).click()
      return page.getByRole('dialog', { name: 'Settings' })
    },
    async barriers() {
      const path = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
      // Not as a script of the page: its policy lets only its own in.
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(readFileSync(path, 'utf8'))
      const { violations } = (await page.evaluate('axe.run()')) as {
        readonly violations: readonly {
          readonly id: string
          readonly impact: string
          readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
        }[]
      }
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) =>
          nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
        )
    },
    async screenshot(name) {
      const isKept = Boolean(process.env['TURNLOG_SCREENSHOTS'])
      const folder = join(root, isKept ? 'docs/screenshots' : 'reports/screenshots')
      mkdirSync(folder, { recursive: true })
      await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
    },
  }
  return person
}

/** What the log of a conversation holds: its export, read by turnlog itself. */
export async function logOf(
  { page, choose }: Person,
  title: string,
): Promise<readonly SessionEvent[]> {
  const [download] = await Promise.all([page.waitForEvent('download'), choose(title, 'Export')])
  const service = createInMemorySessionService({ defaultUserId: 'me', timeToLive: null })
  const file = readFileSync(await download.path(), 'utf8')
  const { id } = await service.importSession([file])
  return service.getEvents(id)
}

/**
 * Counts, in the page, the records of messages and of the search index that IndexedDB gives:
 * `countedReads()`. Those of the sessions themselves are looked at every second, to follow other tabs.
 */
export const COUNT_READS = `
{
  let read = 0
  globalThis.countedReads = () => read
  const count = (request) =>
    request.addEventListener('success', () => {
      const { result } = request
      read += Array.isArray(result) ? result.length : result === undefined || result === null ? 0 : 1
    })
  for (const { prototype } of [IDBObjectStore, IDBIndex]) {
    for (const method of ['get', 'getAll', 'getAllRecords', 'openCursor']) {
      const original = prototype[method]
      if (original === undefined) continue
      prototype[method] = function (...args) {
        const request = original.apply(this, args)
        const { name } = this.objectStore ?? this
        if (name === 'events' || name === 'groups') count(request)
        return request
      }
    }
  }
}
`
