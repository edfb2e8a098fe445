// Builds and serves examples/browser-chat together with the local Worker, on one origin: the page at `/`,
// the Worker's API below `/api`. What `npm start` and the tests of the application run.
import { createReadStream, statSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http'
import { extname, join, normalize, sep } from 'node:path'
import { build } from 'vite'
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
  close(): Promise<void>
}

/** Who everybody on this machine is to the local Worker. */
export const DEVELOPMENT_USER = 'developer'

/** Bundles the page against the source of turnlog; gives the folder. */
export async function buildChatApplication(): Promise<string> {
  await build({
    root: application,
    configFile: join(application, 'vite.config.ts'),
    logLevel: 'error',
    resolve: {
      alias: listEntries().map(({ specifier, source }) => ({
        find: new RegExp(`^${specifier}$`),
        replacement: join(root, source),
      })),
    },
  })
  return join(application, 'dist')
}

export async function startChatApplication(
  options: ChatApplicationOptions = {},
): Promise<ChatApplication> {
  const [folder, worker] = await Promise.all([
    buildChatApplication(),
    options.worker === false ? null : startLocalWorker(options.storage),
  ])
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/')) forward(request, response, worker)
    else serveFile(request, response, folder)
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

function serveFile(request: IncomingMessage, response: ServerResponse, folder: string): void {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const path = normalize(join(folder, pathname === '/' ? 'index.html' : pathname))
  const isFile =
    path.startsWith(folder + sep) && statSync(path, { throwIfNoEntry: false })?.isFile()
  if (!isFile) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'content-security-policy': POLICY,
    // Only the files below assets/ have their content in their name.
    'cache-control': pathname.startsWith('/assets/')
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
  })
  createReadStream(path).pipe(response)
}
