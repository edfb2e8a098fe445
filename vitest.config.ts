// One run, four projects, each in the runtime that it is about:
//   node      test/node      Node; may drive a whole browser (scripts/browser-page.ts) or a Worker
//   package   test/package   the built package; builds it first
//   browser   test/browser   inside Chromium
//   workers   test/workers   inside workerd
// One of them alone: npx vitest --project browser
import { join } from 'node:path'
import { cloudflareTest } from '@cloudflare/vitest-pool-workers'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { lendCertificates } from './scripts/certificates.ts'
import { findChromium } from './scripts/chromium.ts'
import { compatibilityDate } from './scripts/compatibility-date.ts'
import { writeDocSnippets } from './scripts/doc-snippets.ts'
import { listEntries, root } from './scripts/entries.ts'

/** Tests import `turnlog/...` as users do and get the source. */
const alias = listEntries().map(({ specifier, source }) => ({
  find: new RegExp(`^${specifier}$`),
  replacement: join(root, source),
}))

const node: TestProjectConfiguration = {
  resolve: { alias },
  test: {
    name: 'node',
    include: ['test/node/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}

const packaged: TestProjectConfiguration = {
  test: {
    name: 'package',
    include: ['test/package/**/*.test.ts'],
    globalSetup: './scripts/build.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}

async function browser(): Promise<TestProjectConfiguration> {
  const { executablePath, args, env } = await findChromium()
  return {
    resolve: { alias },
    // A dependency that Vite discovers in the middle of a run makes it reload the page.
    optimizeDeps: {
      include: [
        '@openai/agents-core',
        '@openai/agents-core/testing',
        'ai',
        'ai/test',
        'fast-check',
        'idb',
        'zod',
      ],
    },
    test: {
      name: 'browser',
      include: ['test/browser/**/*.test.ts'],
      provide: { randomRuns: Number(process.env['TURNLOG_RUNS']) || null },
      testTimeout: 60_000,
      hookTimeout: 60_000,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({
          launchOptions: { executablePath, args: [...args], ...(env && { env }) },
        }),
        instances: [{ browser: 'chromium', name: 'browser' }],
      },
    },
  }
}

const workers: TestProjectConfiguration = {
  resolve: { alias },
  plugins: [
    cloudflareTest({
      main: './test/workers/worker.ts',
      miniflare: {
        compatibilityDate,
        bindings: { TURNLOG_RUNS: process.env['TURNLOG_RUNS'] ?? '' },
        durableObjects: {
          SESSIONS: { className: 'SessionStore', useSQLite: true },
          VISITS: { className: 'VisitCounter', useSQLite: true },
        },
      },
    }),
  ],
  test: {
    name: 'workers',
    include: ['test/workers/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}

lendCertificates()
writeDocSnippets()

// The browser is searched for only where it is wanted: without one, the others still run.
const chosen = process.argv.flatMap((argument, index, all) =>
  argument === '--project'
    ? (all[index + 1] ?? [])
    : argument.startsWith('--project=')
      ? argument.slice('--project='.length)
      : [],
)
const wantsBrowser = chosen.length === 0 || chosen.some((name) => /browser|[*!]/.test(name))

export default defineConfig({
  test: {
    projects: [node, packaged, workers, ...(wantsBrowser ? [await browser()] : [])],
    reporters: ['default', ['json', { outputFile: 'reports/vitest.json' }]],
    passWithNoTests: false,
  },
})
