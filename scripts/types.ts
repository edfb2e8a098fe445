// Checks the types of every part with the globals of its own runtime (tsconfig/*.json).
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeDocSnippets } from './doc-snippets.ts'
import { root } from './entries.ts'

writeDocSnippets()

const compiler = join(root, 'node_modules/typescript/bin/tsc')
const projects = readdirSync(join(root, 'tsconfig')).filter((file) => file !== 'base.json')

const results = await Promise.all(
  projects.map(async (project) => {
    try {
      await promisify(execFile)(process.execPath, [compiler, '-p', `tsconfig/${project}`], {
        cwd: root,
        maxBuffer: 64 * 1024 * 1024,
      })
      return { project, output: '' }
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      return { project, output: `${stdout}${stderr}` || String(error) }
    }
  }),
)

let failed = 0
for (const { project, output } of results) {
  const empty = output.includes('TS18003') // nothing to check there yet
  console.log(
    `types: ${project.padEnd(20)} ${output === '' ? 'ok' : empty ? 'no files' : 'failed'}`,
  )
  if (output === '' || empty) continue
  console.log(output)
  failed += 1
}
process.exit(failed === 0 ? 0 : 1)
