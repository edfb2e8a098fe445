// Builds dist with the TypeScript compiler alone, then checks that dist holds what package.json
// promises: every entry of `exports`, and nothing that has no source. Fails with what is wrong.
// Also the global setup of the tests of the built package.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { listEntries, root } from './entries.ts'

export default function build(): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  })
  removeStale()

  const missing = listEntries().flatMap(({ specifier, built, types }) =>
    [built, types]
      .filter((file) => !existsSync(join(root, file)))
      .map((file) => `package.json exports ${specifier}, but ${file} was not built`),
  )
  if (missing.length > 0) throw new Error(missing.join('\n'))
}

/**
 * Removes what an earlier build left of sources that are gone. (An empty dist to start from would
 * pull the files away from under a test or a demo that runs at the same time.)
 */
function removeStale(): void {
  const dist = join(root, 'dist')
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const source = file.slice(dist.length).replace(/(\.d\.ts|\.js|\.js\.map)$/, '.ts')
    if (!existsSync(join(root, 'src', source))) rmSync(file)
  }
}

if (import.meta.main) {
  try {
    build()
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
