// Builds the Worker as `wrangler deploy` would, without an account, and checks what would be uploaded:
// that the bindings and the migration are there, and that it stays within its budget.
//
//   npm run deploy:dry
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { lendCertificates } from './certificates.ts'
import { root } from './entries.ts'

/** Bytes of the Worker, minified and gzipped. A promise: the platform's own limit is 3 MB. */
export const WORKER_BUDGET = 60_000

export interface DryRun {
  /** What wrangler said. */
  readonly output: string
  /** In bytes. */
  readonly gzip: number
  readonly minified: number
}

/** @throws what wrangler said, when it could not build the Worker. */
export function dryRun(): DryRun {
  lendCertificates()
  const folder = mkdtempSync(join(tmpdir(), 'turnlog-deploy-'))
  try {
    const wrangler = join(
      dirname(createRequire(import.meta.url).resolve('wrangler/package.json')),
      'bin/wrangler.js',
    )
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [wrangler, 'deploy', '--dry-run', '--outdir', folder],
      {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true', NO_COLOR: '1' },
      },
    )
    const output = `${stdout}${stderr}`
    if (status !== 0) throw new Error(output)
    const code = readFileSync(join(folder, 'deploy.js'))
    return { output, gzip: gzipSync(code).length, minified: code.length }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What is wrong with it; nothing, when all is well. */
export function checkDryRun({ output, gzip }: DryRun): readonly string[] {
  const missing = ['SESSIONS', 'SessionStore', 'RATE_LIMITER', 'ALLOWED_ORIGINS']
    .filter((name) => !output.includes(name))
    .map((name) => `wrangler does not know of ${name}`)
  const warnings = output.split('\n').filter((line) => line.includes('[WARNING]'))
  const over = gzip > WORKER_BUDGET ? [`${gzip} bytes gzipped are more than ${WORKER_BUDGET}`] : []
  return [...missing, ...warnings, ...over]
}

if (import.meta.main) {
  const result = dryRun()
  console.log(result.output.trim())
  const faults = checkDryRun(result)
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(2)} kB`
  console.log(
    `worker: ${kilobytes(result.gzip)} gzip, ${kilobytes(result.minified)} minified; budget ${kilobytes(WORKER_BUDGET)} gzip`,
  )
  for (const fault of faults) console.error(`worker: ${fault}`)
  process.exit(faults.length === 0 ? 0 : 1)
}
