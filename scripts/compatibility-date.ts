// The Workers compatibility date of wrangler.toml, which the tests and the local Worker share. At
// dates before 2026-08-01 an error loses its own properties, `code` among them, on its way
// through RPC.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './entries.ts'

const found = /^compatibility_date = "(.+)"$/m.exec(
  readFileSync(join(root, 'wrangler.toml'), 'utf8'),
)
if (!found?.[1]) throw new Error('wrangler.toml has no compatibility_date')

export const compatibilityDate: string = found[1]
