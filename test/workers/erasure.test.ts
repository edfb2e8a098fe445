// What is erased or deleted is in no table of the object's database.
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { durableObjectRepository } from 'turnlog/worker'
import { expect, test } from 'vitest'
import { checkErasure, textsOf } from '../support/erasure-check.ts'

test('nothing of an erased text is left in a dump of the database', async () => {
  const stub = env.SESSIONS.getByName('erasure')
  let blocks = 0
  const dump = () =>
    runInDurableObject(stub, (_object, { storage }) => {
      const tables = storage.sql
        .exec<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
        .toArray()
        .map(({ name }) => name)
        // The runtime's own tables cannot be read; the alarm and the key-value store are in them.
        .filter((name) => !name.startsWith('_cf_'))
      expect(tables).toEqual(expect.arrayContaining(['turnlog_events', 'turnlog_event_parts']))
      const texts = tables.flatMap((table) =>
        storage.sql
          .exec(`SELECT * FROM "${table}"`)
          .toArray()
          .flatMap((row) => Object.values(row))
          .map((value) =>
            value instanceof ArrayBuffer ? textsOf(new Uint8Array(value)) : String(value),
          ),
      )
      const [count] = storage.sql.exec('SELECT count(*) AS blocks FROM turnlog_blocks').toArray()
      blocks = Math.max(blocks, Number(count?.['blocks']))
      return texts.join('\n')
    })
  await checkErasure(
    { open: async () => durableObjectRepository(() => stub) },
    dump,
    // Sealing follows an append a turn later.
    () => new Promise((resolve) => setTimeout(resolve, 200)),
  )
  expect(blocks).toBeGreaterThan(0)
})
