// Runs a module of ours in a whole browser, driven from Node: for what a test inside the page
// cannot do (two tabs of one profile, killing a tab's process, the demo, the benchmarks).
//
//   await using browser = await openBrowser({ entry: 'test/browser/page.ts' })
//   const page = await browser.newPage()
//   await page.evaluate(() => globalThis.run())
import { createServer } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'
import { type BrowserContext, chromium, type Page } from 'playwright'
import { findChromium } from './chromium.ts'
import { listEntries, root } from './entries.ts'

export interface BrowserOptions {
  /** The module that every page loads, from the root of the project. Bundled by esbuild. */
  readonly entry: string
  /** Keeps the profile (IndexedDB included) in this folder; default is a fresh one, in memory. */
  readonly profile?: string
  /**
   * The origin of the pages. IndexedDB belongs to an origin, so it does not change with the port.
   * Default `http://turnlog.localhost`, a secure context; `http://turnlog.test` is none, and has no
   * `crypto.randomUUID`.
   */
  readonly origin?: string
  /** Further flags of Chromium; default is none. */
  readonly flags?: readonly string[]
}

export interface OpenBrowser extends AsyncDisposable {
  /** Every page shares it, and so its storage. */
  readonly context: BrowserContext
  /** Where the Chromium comes from. */
  readonly source: string
  /** Opens one more tab and waits until the entry has run. */
  newPage(): Promise<Page>
  close(): Promise<void>
}

export async function openBrowser(options: BrowserOptions): Promise<OpenBrowser> {
  const { entry, profile, origin = 'http://turnlog.localhost', flags = [] } = options
  const { executablePath, args, env, source } = await findChromium()
  const site = await serveEntry(entry)
  const { host } = new URL(origin)
  const launchOptions = {
    executablePath,
    args: [...args, ...flags, `--host-resolver-rules=MAP ${host}:80 ${site.address}`],
    headless: true,
    ...(env && { env }),
  }
  let context: BrowserContext
  try {
    context =
      profile === undefined
        ? await (await chromium.launch(launchOptions)).newContext()
        : await chromium.launchPersistentContext(profile, launchOptions)
  } catch (error) {
    site.close()
    throw error
  }
  const close = async () => {
    const browser = context.browser()
    await context.close()
    await browser?.close()
    site.close()
  }
  return {
    context,
    source,
    close,
    [Symbol.asyncDispose]: close,
    async newPage() {
      const page = await context.newPage()
      await page.goto(origin)
      await page.waitForFunction('document.documentElement.dataset.state !== undefined')
      const state = await page.evaluate('document.documentElement.dataset.state')
      if (state !== 'ready') throw new Error(`${entry} failed in the page: ${state}`)
      return page
    },
  }
}

/** Kills the process that renders a page, as a crash would: nothing of the page runs any more. */
export async function killPage(page: Page): Promise<void> {
  const crashed = new Promise((resolve) => page.once('crash', resolve))
  const session = await page.context().newCDPSession(page)
  // The command never answers: its page is gone.
  void session.send('Page.crash').catch(() => undefined)
  await crashed
}

async function serveEntry(entry: string): Promise<{ address: string; close(): void }> {
  const script = await bundle(entry)
  const server = createServer((request, response) => {
    const isScript = request.url === '/entry.js'
    const known = isScript || request.url === '/'
    response.writeHead(known ? 200 : 404, {
      'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8',
    })
    response.end(isScript ? script : known ? pageHtml : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${address.port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    alias: Object.fromEntries(
      listEntries().map(({ specifier, source }) => [specifier, join(root, source)]),
    ),
    bundle: true,
    format: 'esm',
    target: 'es2023',
    platform: 'browser',
    sourcemap: 'inline',
    logLevel: 'silent', // what is wrong is in the error that it throws
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

const pageHtml = `<!doctype html>
<meta charset="utf-8">
<title>turnlog</title>
<link rel="icon" href="data:,">
<script type="module">
  const root = document.documentElement
  try {
    await import('/entry.js')
    root.dataset.state = 'ready'
  } catch (error) {
    root.dataset.state = String(error?.stack ?? error)
  }
</script>
`
