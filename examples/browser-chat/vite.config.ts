// Builds the page. Frameworks go into files of their own, so that what the application itself weighs can
// be told apart; and a service worker is written that knows every file, so that the page opens offline.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, minifySync, type Plugin } from 'vite'

const FRAMEWORKS: readonly (readonly [name: string, packages: RegExp])[] = [
  ['react', /node_modules\/(?:react|react-dom|scheduler|use-sync-external-store)\//],
  [
    'ai-sdk',
    /node_modules\/(?:ai|@ai-sdk\/(?!openai-compatible)[^/]+|zod|swr|throttleit|dequal|@opentelemetry|eventsource-parser|@standard-schema|@vercel|@workflow)\//,
  ],
  // Behind the AI SDK, which else would come into this one: it is loaded only where it is wanted.
  ['openai-compatible', /node_modules\/@ai-sdk\/openai-compatible\//],
]

/** Puts the names of all files, and a version made of them, into the service worker. */
function offline(): Plugin {
  return {
    name: 'turnlog-chat-offline',
    apply: 'build',
    generateBundle(_options, bundle) {
      const folder = join(import.meta.dirname, 'public')
      const files = [
        ...Object.keys(bundle).filter((file) => !file.endsWith('.map')),
        ...readdirSync(folder),
      ]
      const hash = createHash('sha256')
      for (const file of files.toSorted()) {
        const output = bundle[file]
        hash.update(file)
        if (output === undefined) hash.update(readFileSync(join(folder, file)))
        else hash.update(output.type === 'chunk' ? output.code : output.source)
      }
      const worker = readFileSync(join(import.meta.dirname, 'src/service-worker.js'), 'utf8')
      const paths = [
        '/',
        ...files.filter((file) => file !== 'index.html').map((file) => `/${file}`),
      ]
      this.emitFile({
        type: 'asset',
        fileName: 'service-worker.js',
        source: minifySync(
          'service-worker.js',
          worker
            .replace('__VERSION__', hash.digest('hex').slice(0, 16))
            .replace("['__FILES__']", JSON.stringify(paths)),
        ).code,
      })
    },
  }
}

/** The one import that comes later has nothing to load before it: the code that would is left out. */
function withoutPreloads(): Plugin {
  return {
    name: 'turnlog-chat-without-preloads',
    enforce: 'pre',
    load: (id) =>
      id.includes('vite/preload-helper')
        ? 'export const __vitePreload = (load) => load()'
        : undefined,
  }
}

export default defineConfig({
  plugins: [withoutPreloads(), offline()],
  build: {
    target: 'es2023',
    // Chromium warns of preloads that a service worker answers.
    modulePreload: false,
    rolldownOptions: {
      // No getter here does more than give a value.
      treeshake: { propertyReadSideEffects: false },
      output: {
        codeSplitting: {
          groups: FRAMEWORKS.map(([name, test], index) => ({ name, test, priority: 9 - index })),
        },
      },
    },
  },
})
