// The store of docs/bring-your-own-store.md does what every store must do.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeStoreContract } from 'turnlog/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { createFileRepository } from '../../../examples/node-file-store/file-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnlog-file-store-'))
const file = join(folder, 'sessions.json')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describeStoreContract(
  { describe, test },
  {
    open: async () => createFileRepository(file),
    reset: async () => rmSync(file, { force: true }),
    // Nothing is held in memory.
    evict: async () => undefined,
    async damage(sessionId, seq) {
      const content = JSON.parse(readFileSync(file, 'utf8'))
      const stored = content.sessions.find(
        ({ record }: { record: { id: string } }) => record.id === sessionId,
      )
      stored.events[seq - 1].body = '{"message":'
      writeFileSync(file, JSON.stringify(content))
    },
  },
)

test('a file that is no store is told by its name', async () => {
  writeFileSync(file, 'no JSON')
  await expect(createFileRepository(file).findSession('s', { now: 0 })).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: `${file} cannot be read`,
  })
  expect(readFileSync(file, 'utf8')).toBe('no JSON')
})
