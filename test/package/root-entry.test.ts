// What the root entry brings: applications get the service from the entry of their store, and pay for
// it once, there.
import { expect, test } from 'vitest'
import { listEntries } from '../../scripts/entries.ts'
import { measureEntry } from '../../scripts/size.ts'

test('the engine of the service is not in the root entry', async () => {
  expect(await modulesOf('turnlog')).not.toEqual(
    expect.arrayContaining([
      expect.stringMatching(/create-|transfer|follow|rewind|read-log|plan-/),
    ]),
  )
  expect(await modulesOf('turnlog/store')).toEqual(
    expect.arrayContaining(['dist/core/create-session-service.js', 'dist/core/transfer.js']),
  )
})

/** The modules that a bundle of everything in an entry holds code of. */
async function modulesOf(specifier: string): Promise<readonly string[]> {
  const entry = listEntries().find((candidate) => candidate.specifier === specifier)
  if (entry === undefined) throw new Error(`there is no entry ${specifier}`)
  const { outputs } = (await measureEntry(entry)).metafile
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file)
}
