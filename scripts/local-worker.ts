// Runs a Worker of ours in a local workerd, offline, with its Durable Object's SQLite on disk, so
// that it can be killed at any moment and started again on the same storage.
//
//   await using worker = await startWorker({ entry: 'test/workers/worker.ts', storage: folder })
//   await fetch(new URL('/sessions', worker.url))
//   await worker.kill() // SIGKILL to workerd and to the process that runs it
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface LocalWorkerOptions {
  /** The Worker's module, from the root of the project. Bundled by esbuild. */
  readonly entry: string
  /** The folder that keeps the storage between two starts; default is a temporary one. */
  readonly storage?: string
  /** Durable Object bindings, by name, and their classes. Default `{ SESSIONS: 'SessionStore' }`. */
  readonly durableObjects?: Readonly<Record<string, string>>
  /** Text bindings (`env.NAME`). */
  readonly bindings?: Readonly<Record<string, string>>
  /** Default is the one of wrangler.toml. */
  readonly compatibilityDate?: string
  /** Default is none. */
  readonly compatibilityFlags?: readonly string[]
  /** Default is a free port. */
  readonly port?: number
}

export interface LocalWorker extends AsyncDisposable {
  readonly url: URL
  /** Stops it in an orderly way. */
  close(): Promise<void>
  /** Kills workerd on the spot, as a crash of the machine would. */
  kill(): Promise<void>
}

export async function startWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  // A killed workerd leaves its temporary files behind; in a folder of its own they can be removed.
  const temporary = await mkdtemp(join(tmpdir(), 'turnlog-workerd-'))
  const child = fork(join(import.meta.dirname, 'local-worker-process.ts'), {
    // A process group of its own: killing the group takes workerd along.
    detached: process.platform !== 'win32',
    env: { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve())).then(() =>
    rm(temporary, { recursive: true, force: true, maxRetries: 5 }),
  )
  const close = async () => {
    if (child.connected) child.disconnect() // the process closes workerd, then itself
    await exited
  }
  const kill = async () => {
    killGroup(child)
    await exited
  }
  const started = new Promise<URL>((resolve, reject) => {
    child.once('message', (message: { url?: string; error?: string }) => {
      if (message.url) resolve(new URL(message.url))
      else reject(new Error(`The Worker ${options.entry} did not start: ${message.error}`))
    })
    child.once('exit', (code) => reject(new Error(`The local Worker ended with code ${code}`)))
    child.send(options)
  })
  try {
    return { url: await started, close, kill, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  if (process.platform === 'win32') spawnSync('taskkill', ['/pid', `${child.pid}`, '/T', '/F'])
  else process.kill(-child.pid, 'SIGKILL')
}
