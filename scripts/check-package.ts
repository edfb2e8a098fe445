// Packs the package as npm would publish it and checks the tarball with publint and
// "Are the types wrong?".
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './entries.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnlog-pack-'))
try {
  const packed = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder])
  const [{ filename, files }] = JSON.parse(packed)
  const tarball = join(folder, filename)
  console.log(`package: ${filename}, ${files.length} files`)
  console.log(run('publint', ['run', tarball, '--strict']))
  console.log(run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']))
} catch (error) {
  const { stdout, message } = error as { stdout?: string; message: string }
  console.error(stdout || message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
}
