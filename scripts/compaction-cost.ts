// What a compaction costs that archives 10, 1,000 or 50,000 events, and what it costs to read the view
// afterwards: rows of a Durable Object's SQLite in workerd, records of IndexedDB in Chromium. The figures
// do not depend on the machine. Exits with 1 when they are not what the docs promise.
import { openBrowser } from './browser-page.ts'
import {
  type CompactionCosts,
  describeCosts,
  findExcess,
  INDEXEDDB_LIMITS,
  SQLITE_LIMITS,
} from './compaction-cost/measure.ts'
import { startWorker } from './local-worker.ts'

async function measureInWorker(): Promise<CompactionCosts> {
  await using worker = await startWorker({
    entry: 'scripts/compaction-cost/worker.ts',
    durableObjects: { COSTS: 'CostMeter' },
  })
  const response = await fetch(worker.url)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as CompactionCosts
}

async function measureInBrowser(): Promise<CompactionCosts> {
  await using browser = await openBrowser({ entry: 'scripts/compaction-cost/page.ts' })
  const page = await browser.newPage()
  return await page.evaluate('compactionCosts()')
}

const inSqlite = await measureInWorker()
console.log(describeCosts('Durable Object', 'rows', inSqlite))
const inIndexedDB = await measureInBrowser()
console.log(describeCosts('IndexedDB', 'records', inIndexedDB))

const excess = [
  ...findExcess(inSqlite, SQLITE_LIMITS).map((problem) => `Durable Object: ${problem}`),
  ...findExcess(inIndexedDB, INDEXEDDB_LIMITS).map((problem) => `IndexedDB: ${problem}`),
]
for (const problem of excess) console.error(problem)
process.exit(excess.length === 0 ? 0 : 1)
