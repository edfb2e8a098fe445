// npm run bench: measures turnlog and its peers in headless Chromium and in workerd, checks every answer,
// prints a table and writes the figures.
//
//   npm run bench -- --json FILE    where the figures go
//                    --data FILE    conversations in LoCoMo's format; default: made-up texts
//                    --quick        small, for CI: answers, rows and bytes are judged, times are not
//                    --only PART    browser or worker
//                    --runs N       alternating runs of each figure; default 7
//                    --skip NAMES   steps to leave out, by the names that are printed, with commas
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright'
import { openBrowser } from '../scripts/browser-page.ts'
import { readConversations } from '../scripts/conversation-file.ts'
import { startWorker } from '../scripts/local-worker.ts'
import { compareWithPeers, isReached, type Metric } from './metric.ts'
import { printTable } from './table.ts'
import { type Corpus, makeTexts } from './texts.ts'

const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    data: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    runs: { type: 'string' },
    skip: { type: 'string', default: '' },
  },
})

const runs = Number(options.runs ?? (options.quick ? 1 : 7))
if (!Number.isInteger(runs) || runs < 1) throw new Error('--runs takes a number from 1 on')
const inBrowser = options.quick
  ? { size: 8_000, sessions: 80, runs, appends: 512 }
  : { size: 100_000, sessions: 1_000, runs, appends: 512 }
// Rows are the same on every machine: enough of them that the unsealed end does not count.
const inWorker = options.quick
  ? { size: 40_000, sessions: 400, appends: 512 }
  : { size: 100_000, sessions: 1_000, appends: 512 }

installPeers()
const corpus = readCorpus()
console.log(`texts: ${corpus.source}`)
const metrics: Metric[] = []
if (options.only !== 'worker') await measureInBrowser()
if (options.only !== 'browser') await measureInWorker()

const compared = compareWithPeers(metrics)
// Times depend on the machine and on the size; the rest does not.
const isJudged = ({ unit }: Metric) => !options.quick || unit !== 'ms'
printTable(compared, isJudged)
if (options.json !== undefined) {
  writeFileSync(options.json, `${JSON.stringify({ metrics: compared }, null, 2)}\n`)
}
const missed = metrics.filter((item) => isJudged(item) && isReached(item) === false)
for (const { name } of missed) console.error(`not reached: ${name}`)
process.exit(missed.length > 0 ? 1 : 0)

function installPeers(): void {
  const folder = import.meta.dirname
  const [lock, done] = [
    join(folder, 'package-lock.json'),
    join(folder, 'node_modules/.package-lock.json'),
  ]
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(lock).mtimeMs) return
  console.log('installing what turnlog is compared with')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm ci in bench/ ended with ${status}`)
}

function readCorpus(): Corpus {
  if (options.data === undefined) return makeTexts(options.quick ? 2_000 : 20_000)
  const texts = readConversations(resolve(options.data)).flatMap(({ turns }) =>
    turns.map(({ text }) => text),
  )
  return { texts, source: `${texts.length} turns of ${options.data}, over and over` }
}

async function measureInBrowser(): Promise<void> {
  // On disk: a profile in memory is another storage.
  const profile = mkdtempSync(join(tmpdir(), 'turnlog-bench-'))
  try {
    await using browser = await openBrowser({
      entry: 'bench/browser/page.ts',
      profile,
      // Else one side's garbage is collected in the other side's time.
      flags: ['--js-flags=--expose-gc'],
    })
    const page = await browser.newPage()
    await page.evaluate(`prepare(${JSON.stringify({ ...inBrowser, corpus })})`)
    await runStep(page, 'fill')
    for (const name of [
      'common',
      'late',
      'phrase',
      'absent',
      'twochars',
      'onechar',
      'cjk2',
      'page50',
    ]) {
      await runStep(page, 'search', name)
    }
    await runStep(page, 'growth')
    await runStep(page, 'appends')
    await runStep(page, 'fillCross')
    await runStep(page, 'cross', 'rare')
    await runStep(page, 'cross', 'absent')
    await runStep(page, 'upgrade')
    await runStep(page, 'dexie')
  } finally {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function runStep(page: Page, name: string, argument?: string): Promise<void> {
  if (options.skip.split(',').includes(name)) return
  const start = performance.now()
  const call = `runStep(${JSON.stringify(name)}, ${JSON.stringify(argument ?? null)})`
  report(await page.evaluate(call), `${name} ${argument ?? ''}`, start)
}

async function measureInWorker(): Promise<void> {
  await using worker = await startWorker({
    entry: 'bench/worker/worker.ts',
    durableObjects: { TURNLOG: 'TurnlogBench', SQL: 'SqlBench', AGENTS: 'AgentsBench' },
    compatibilityFlags: ['nodejs_compat'],
  })
  for (const part of ['turnlog', 'sql', 'agents']) {
    const start = performance.now()
    const response = await fetch(new URL(part, worker.url), {
      method: 'POST',
      body: JSON.stringify({ ...inWorker, corpus }),
    })
    if (!response.ok) throw new Error(await response.text())
    report((await response.json()) as Metric[], part, start)
  }
}

function report(found: readonly Metric[], part: string, start: number): void {
  metrics.push(...found)
  console.log(`${part.trim()}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
}
