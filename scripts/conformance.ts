// Runs the conformance vectors against every store, each in its own runtime, and prints what came of
// them: `npm run test:conformance`. CONFORMANCE_DIR names another folder of vectors.
// Exit code 1 when a case fails or a store cannot be started.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInMemoryDatabase, createInMemoryRepository } from '../src/stores/in-memory.ts'
import type { StoreHarness } from '../src/testing/index.ts'
import { httpVectorHarness } from '../test/conformance/http-vector-harness.ts'
import { runVectorFile, type VectorResult } from '../test/conformance/runner.ts'
import { openBrowser } from './browser-page.ts'
import { root } from './entries.ts'
import { startWorker } from './local-worker.ts'

interface Store extends AsyncDisposable {
  run(cases: readonly unknown[]): Promise<readonly VectorResult[]>
}

/** The stores by name; each is started when its turn comes. */
const stores: Readonly<Record<string, () => Promise<Store>>> = {
  async memory() {
    let database = createInMemoryDatabase()
    const harness: StoreHarness = {
      open: async () => createInMemoryRepository(database),
      async reset() {
        database = createInMemoryDatabase()
      },
    }
    return {
      run: (cases) => runVectorFile(cases, harness),
      [Symbol.asyncDispose]: async () => undefined,
    }
  },

  async 'IndexedDB in Chromium'() {
    const browser = await openBrowser({ entry: 'test/browser/conformance-page.ts' })
    const page = await browser.newPage()
    return {
      run: (cases) => page.evaluate(`runVectors(${JSON.stringify(cases)})`),
      [Symbol.asyncDispose]: () => browser.close(),
    }
  },

  async 'Durable Object in workerd'() {
    const worker = await startWorker({ entry: 'test/workers/conformance-worker.ts' })
    return {
      async run(cases) {
        const body = JSON.stringify(cases)
        const response = await fetch(worker.url, { method: 'POST', body })
        if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
        return (await response.json()) as readonly VectorResult[]
      },
      [Symbol.asyncDispose]: () => worker.close(),
    }
  },

  async 'HTTP client to a Worker'() {
    const worker = await startWorker({
      entry: 'test/workers/http-harness-worker.ts',
      durableObjects: { SESSIONS: 'HarnessStore' },
    })
    const harness = httpVectorHarness(worker.url)
    return {
      run: (cases) => runVectorFile(cases, harness),
      [Symbol.asyncDispose]: () => worker.close(),
    }
  },
}

/** A file of vectors, or why it is none. */
interface VectorFile {
  readonly name: string
  readonly cases: readonly unknown[] | null
  readonly problem: string
}

function readFiles(folder: string): readonly VectorFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => {
    try {
      const content: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'))
      return Array.isArray(content)
        ? { name, cases: content, problem: '' }
        : { name, cases: null, problem: 'it is no list of cases' }
    } catch (error) {
      return { name, cases: null, problem: String(error) }
    }
  })
}

/** Few enough for one call to a page or a Worker. */
const CASES_PER_CALL = 40

async function runFile(store: Store, cases: readonly unknown[]): Promise<VectorResult[]> {
  const results: VectorResult[] = []
  for (let start = 0; start < cases.length; start += CASES_PER_CALL) {
    results.push(...(await store.run(cases.slice(start, start + CASES_PER_CALL))))
  }
  return results
}

function print(file: string, store: string, results: readonly VectorResult[]): number {
  const count = (outcome: VectorResult['outcome']) =>
    results.filter((result) => result.outcome === outcome).length
  const failed = count('failed')
  console.log(
    `${file} [${store}]: ${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped`,
  )
  for (const result of results) {
    if (result.outcome === 'passed') continue
    const reason = result.reason.replaceAll('\n', '\n      ')
    console.log(`  ${result.outcome}: ${result.name}: ${reason}`)
  }
  return failed
}

const folder = resolve(process.env['CONFORMANCE_DIR'] || join(root, 'test/conformance/vectors'))
const files = readFiles(folder)
console.log(`${files.length} files of vectors in ${folder}\n`)

let failures = files.length === 0 ? 1 : 0
for (const [name, start] of Object.entries(stores)) {
  try {
    await using store = await start()
    for (const file of files) {
      const results: readonly VectorResult[] =
        file.cases === null
          ? [{ name: '(the whole file)', outcome: 'skipped', reason: file.problem }]
          : await runFile(store, file.cases)
      failures += print(file.name, name, results)
    }
  } catch (error) {
    failures++
    console.log(`${name} could not be run: ${error instanceof Error ? error.stack : error}`)
  }
  console.log()
}
console.log(
  failures === 0 ? 'Every case passed or was skipped with a reason.' : `${failures} failures`,
)
process.exitCode = failures === 0 ? 0 : 1
