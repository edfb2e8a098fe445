// The root entry may be imported anywhere: loading it reads and changes nothing of what a runtime has
// besides the language, with IndexedDB (Chromium) and without (Node, workerd).
import { execFileSync } from 'node:child_process'
import * as turnlog from 'turnlog'
import { expect, test } from 'vitest'
import { openBrowser } from '../../scripts/browser-page.ts'
import { root } from '../../scripts/entries.ts'
import { startWorker } from '../../scripts/local-worker.ts'

const entry = 'test/support/root-entry-import.ts'
const untouched = {
  names: Object.keys(turnlog).sort(),
  watched: expect.any(Number),
  touched: [],
}

test('in Node', () => {
  const script = `await import('./${entry}'); console.log(JSON.stringify(globalThis.report))`
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
  })
  const report = JSON.parse(printed)
  expect(report).toEqual(untouched)
  expect(report.watched).toBeGreaterThan(50)
})

test('in Chromium', async () => {
  await using browser = await openBrowser({ entry })
  const page = await browser.newPage()
  const report = await page.evaluate<{ watched: number }>('report')
  expect(report).toEqual(untouched)
  expect(report.watched).toBeGreaterThan(500)
})

test('in workerd', async () => {
  await using worker = await startWorker({ entry, durableObjects: {} })
  const report = (await (await fetch(worker.url)).json()) as { watched: number }
  expect(report).toEqual(untouched)
  expect(report.watched).toBeGreaterThan(50)
})
