// Builds dist with the TypeScript compiler alone, then checks that dist holds what package.json
// promises: every entry of `exports`, and nothing that has no source.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { listEntries, root } from './entries.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
const compiler = join(root, 'node_modules/typescript/bin/tsc')
try {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  })
} catch {
  process.exit(1)
}

const missing = listEntries().flatMap(({ specifier, built, types }) =>
  [built, types].filter((file) => !existsSync(join(root, file))).map((file) => [specifier, file]),
)
for (const [specifier, file] of missing) {
  console.error(`build: package.json exports ${specifier}, but ${file} was not built`)
}
if (missing.length > 0) process.exit(1)
