// README's table of entries: every entry is in it, and costs about what it says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listEntries, root } from '../../scripts/entries.ts'
import { measureEntry } from '../../scripts/size.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const rows = [...readme.matchAll(/^\| `(turnlog[\w/-]*)` +\| .+ \| (\d+|–) +\|$/gm)].map(
  ([, specifier = '', size]) => ({ specifier, kilobytes: size === '–' ? null : Number(size) }),
)

test('every entry has a row', () => {
  expect(rows.map(({ specifier }) => specifier).sort()).toEqual(
    listEntries()
      .map(({ specifier }) => specifier)
      .sort(),
  )
})

test.for(rows)('$specifier costs about $kilobytes kB', async ({ specifier, kilobytes }) => {
  if (kilobytes === null) return
  const entry = listEntries().find((other) => other.specifier === specifier)
  if (entry === undefined) throw new Error('there is no such entry')
  const measured = (await measureEntry(entry)).brotli / 1000
  expect(Math.abs(measured - kilobytes)).toBeLessThan(1 + measured * 0.15)
})
