// The child process of local-worker.ts: bundles the Worker, runs it in workerd, and ends when its
// parent closes the channel or dies.
import { join } from 'node:path'
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare'
import { lendCertificates } from './certificates.ts'
import { compatibilityDate } from './compatibility-date.ts'
import { listEntries, root } from './entries.ts'
import type { LocalWorkerOptions } from './local-worker.ts'

let miniflare: Miniflare | undefined

process.once('message', async (options: LocalWorkerOptions) => {
  try {
    process.send?.({ url: await start(options) })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.stack : String(error) })
  }
})

process.once('disconnect', async () => {
  await miniflare?.dispose()
  process.exit()
})

async function start(options: LocalWorkerOptions): Promise<string> {
  lendCertificates()
  const { outputFiles } = await build({
    entryPoints: [join(root, options.entry)],
    alias: Object.fromEntries(
      listEntries().map(({ specifier, source }) => [specifier, join(root, source)]),
    ),
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    sourcemap: 'inline',
    logLevel: 'silent', // what is wrong is in the error that it throws
    write: false,
  })
  const classes = Object.entries(options.durableObjects ?? { SESSIONS: 'SessionStore' })
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: 'turnlog-local',
      modules: [{ type: 'ESModule', path: 'worker.mjs', contents: outputFiles[0]?.text ?? '' }],
      compatibilityDate: options.compatibilityDate ?? compatibilityDate,
      compatibilityFlags: [...(options.compatibilityFlags ?? [])],
      host: '127.0.0.1',
      port: options.port ?? 0,
      log: new Log(LogLevel.ERROR),
      bindings: { ...options.bindings },
      durableObjects: Object.fromEntries(
        classes.map(([name, className]) => [name, { className, useSQLite: true }]),
      ),
      ...(options.storage === undefined ? {} : { resourcePersistencePath: options.storage }),
    }),
  )
  return (await miniflare.ready).href
}
