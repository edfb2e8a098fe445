// Builds and serves examples/browser-chat together with the local Worker, on one origin: the page at `/`,
// the Worker's API below `/api`. What `npm start` and the tests of the application run.
import { readdirSync, readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http'
import { extname, join } from 'node:path'
import { build, type InlineConfig } from 'vite'
import { listEntries, root } from './entries.ts'
import { type LocalWorker, startWorker } from './local-worker.ts'

const application = join(root, 'examples/browser-chat')

export interface ChatApplicationOptions {
  /** Default is a free port. */
  readonly port?: number
  /** The folder of the Worker's storage; default is a temporary one. */
  readonly storage?: string
  /** Default `true`; `false` serves the page alone. */
  readonly worker?: boolean
}

export interface ChatApplication extends AsyncDisposable {
  readonly url: URL
  /** What is served, by path. */
  readonly files: ReadonlyMap<string, Uint8Array>
  close(): Promise<void>
}

/** Who everybody on this machine is to the local Worker. */
export const DEVELOPMENT_USER = 'developer'

/**
 * Bundles the page against the source of turnlog; gives its files by their paths. In memory: two that run
 * at the same time do not share a folder.
 */
export async function buildChatApplication(): Promise<ReadonlyMap<string, Uint8Array>> {
  const built = await buildForProduction({
    root: application,
    configFile: join(application, 'vite.config.ts'),
    logLevel: 'error',
    build: { write: false },
    resolve: {
      alias: listEntries().map(({ specifier, source }) => ({
        find: new RegExp(`^${specifier}$`),
        replacement: join(root, source),
      })),
    },
  })
  if (!('output' in built)) throw new Error('Vite has built something else than one page')
  const files = new Map<string, Uint8Array>()
  for (const file of built.output) {
    files.set(`/${file.fileName}`, Buffer.from(file.type === 'chunk' ? file.code : file.source))
  }
  const folder = join(application, 'public')
  for (const name of readdirSync(folder)) files.set(`/${name}`, readFileSync(join(folder, name)))
  return files
}

/** Vitest says that this is a test, which Vite would take for a development build. */
async function buildForProduction(
  options: InlineConfig,
): Promise<Awaited<ReturnType<typeof build>>> {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  try {
    return await build(options)
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  }
}

export async function startChatApplication(
  options: ChatApplicationOptions = {},
): Promise<ChatApplication> {
  const [files, worker] = await Promise.all([
    buildChatApplication(),
    options.worker === false ? null : startLocalWorker(options.storage),
  ])
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/')) forward(request, response, worker)
    else serveFile(request, response, files)
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port ?? 0, '127.0.0.1', resolve)
    })
  } catch (error) {
    await worker?.close()
    throw error
  }
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await worker?.close()
  }
  return {
    url: new URL(`http://localhost:${address.port}`),
    files,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function startLocalWorker(storage: string | undefined): Promise<LocalWorker> {
  return startWorker({
    entry: 'src/worker/deploy.ts',
    bindings: { DEVELOPMENT_USER, CROSS_SESSION_SEARCH: 'true' },
    ...(storage === undefined ? {} : { storage }),
  })
}

/** Passes a request on; events of a stream go through as they come. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  worker: LocalWorker | null,
): void {
  if (worker === null) {
    response.writeHead(404).end()
    return
  }
  const { method, headers } = request
  const path = (request.url ?? '').slice('/api'.length)
  const passed = sendRequest(
    // The name that the browser asked for stays: the Worker lets only this machine's names in.
    { host: worker.url.hostname, port: worker.url.port, method, path, headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    },
  )
  passed.on('error', () => {
    if (!response.headersSent) response.writeHead(502)
    response.end()
  })
  response.on('close', () => passed.destroy())
  request.pipe(passed)
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}

/** Nothing comes from elsewhere but what the person's own model server answers. */
const POLICY =
  "default-src 'self'; connect-src *; style-src 'self' 'unsafe-inline'; object-src 'none'; " +
  "base-uri 'none'; frame-ancestors 'none'"

function serveFile(
  request: IncomingMessage,
  response: ServerResponse,
  files: ReadonlyMap<string, Uint8Array>,
): void {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const path = pathname === '/' ? '/index.html' : pathname
  const file = files.get(path)
  if (file === undefined) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'content-security-policy': POLICY,
    // Only the files below assets/ have their content in their name.
    'cache-control': path.startsWith('/assets/')
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
  })
  response.end(file)
}
