// npm start: the chat application of examples/browser-chat, with a Worker beside it to sign in to.
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { DEVELOPMENT_USER, startChatApplication } from './chat-application.ts'
import { root } from './entries.ts'

const USAGE = `npm start [-- OPTIONS]
  --port NUMBER      default 4173
  --storage FOLDER   where the Worker keeps its data; default .wrangler/chat
  --help`

const { port, storage } = readOptions()

console.log('Building the page and starting the Worker …')
try {
  const application = await startChatApplication({ port, storage })
  console.log(`
  Chat      ${application.url.href}
  Worker    ${application.url.href}api/openapi.json   (user "${DEVELOPMENT_USER}", this machine only)

  Conversations are kept in your browser; after a sign-in (Settings), in ${relative('', storage)}.
  Ctrl+C ends it.
`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void application.close().then(() => process.exit(0)))
  }
} catch (error) {
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  console.error(
    isTaken ? `Port ${port} is in use: npm start -- --port ${port + 1}` : (error as Error).stack,
  )
  process.exit(1)
}

function readOptions(): { readonly port: number; readonly storage: string } {
  const options = {
    port: { type: 'string', default: '4173' },
    storage: { type: 'string', default: join(root, '.wrangler/chat') },
    help: { type: 'boolean', default: false },
  } as const
  let problem = ''
  try {
    const { help, storage, ...values } = parseArgs({ options }).values
    const port = Number(values.port)
    if (!help && Number.isInteger(port) && port >= 0 && port <= 65_535) return { port, storage }
    if (!help) problem = `"${values.port}" is no port`
  } catch (error) {
    problem = (error as Error).message
  }
  console.log(problem === '' ? USAGE : `${problem}\n\n${USAGE}`)
  process.exit(problem === '' ? 0 : 1)
}
