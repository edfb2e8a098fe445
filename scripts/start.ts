// npm start: the chat application of examples/browser-chat, with a Worker beside it to sign in to.
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { DEVELOPMENT_USER, startChatApplication } from './chat-application.ts'
import { root } from './entries.ts'

const USAGE = `npm start [-- OPTIONS]
  --port NUMBER      default 4173
  --storage FOLDER   where the Worker keeps its data; default .wrangler/chat
  --help`

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4173' },
    storage: { type: 'string', default: join(root, '.wrangler/chat') },
    help: { type: 'boolean' },
  },
})
const { storage } = values
const port = Number(values.port)
if (values.help === true || !Number.isInteger(port) || port < 0 || port > 65_535) {
  console.log(USAGE)
  process.exit(values.help === true ? 0 : 1)
}

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
