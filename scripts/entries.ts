// The package's entries, read from `exports` in package.json: the one place that lists them.
// To add an entry, add it to `exports` (and to `paths` in tsconfig/test-browser.json); the build
// fails when an entry has no built file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Entry {
  /** What a user imports: `turnlog/indexeddb`. */
  readonly specifier: string
  /** The built module, from the root: `dist/stores/indexeddb/index.js`. */
  readonly built: string
  /** The built declarations, from the root: `dist/stores/indexeddb/index.d.ts`. */
  readonly types: string
  /** The source module, from the root: `src/stores/indexeddb/index.ts`. */
  readonly source: string
}

export const root: string = join(import.meta.dirname, '..')

interface PackageJson {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { types: string; default: string }>>
}

export function readPackage(): PackageJson {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

export function listEntries(): readonly Entry[] {
  const { name, exports } = readPackage()
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return []
    const built = target.default.replace('./', '')
    return {
      specifier: name + path.slice(1),
      built,
      types: target.types.replace('./', ''),
      source: built.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts'),
    }
  })
}
