// The last line of a CI run: sums the Vitest JSON reports. Arguments are the names of the steps
// that failed; each counts as one failure that the reports do not show.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './entries.ts'

interface Report {
  readonly success: boolean
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly unknown[]
  }[]
}

const folder = join(root, 'reports')
const reports: Report[] = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))

const sum = (count: (report: Report) => number) =>
  reports.reduce((total, report) => total + count(report), 0)

const failedSteps = process.argv.slice(2)
for (const step of failedSteps) console.log(`failed step: ${step}`)

// A test file that cannot even be loaded has no test to count, and neither has an error between
// tests; only the file's status or the report's `success` shows them.
const failedFiles = sum(
  ({ testResults }) =>
    testResults.filter(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    ).length,
)
const passed = sum((report) => report.numPassedTests)
const skipped = sum((report) => report.numPendingTests + report.numTodoTests)
let failed = sum((report) => report.numFailedTests) + failedFiles
if (failed === 0 && reports.some((report) => !report.success)) failed = 1
if (reports.length === 0) console.log('no test report was written')
failed = Math.max(failed, reports.length === 0 ? 1 : 0)
failed += failedSteps.filter((step) => step !== 'test' || failed === 0).length

console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exit(failed === 0 ? 0 : 1)
