// Moving a session from one store into another of any kind, and back.
import type { SessionService } from 'turnlog'
import { expect } from 'vitest'
import { createEventfulSession, exportText, snapshotOf } from './eventful-session.ts'

/** Fails unless a session is the same after its way from one empty store into another, and back. */
export async function checkTransfer(from: SessionService, to: SessionService): Promise<void> {
  await createEventfulSession(from)
  const before = await snapshotOf(from)
  const text = await exportText(from)

  await to.importSession(text)
  expect(await snapshotOf(to)).toEqual(before)

  // Again, in pieces that end anywhere, changes nothing.
  const pieces = async function* () {
    for (let start = 0; start < text.length; start += 997) yield text.slice(start, start + 997)
  }
  await to.importSession(pieces())
  expect(await snapshotOf(to)).toEqual(before)

  // Nor does a file that breaks off or is damaged in its last line.
  const lines = text.trimEnd().split('\n')
  for (const broken of [
    lines.slice(0, -1).join('\n'),
    text.replace(/"events":\d+/, '"events":1'),
  ]) {
    await expect(to.importSession(broken)).rejects.toMatchObject({ code: 'INVALID_IMPORT' })
    await expect(to.importSession(broken, { sessionId: 'other' })).rejects.toMatchObject({
      code: 'INVALID_IMPORT',
    })
    expect(await snapshotOf(to)).toEqual(before)
    expect(await to.findById('other')).toBeNull()
  }

  // Both go on alike, and the way back leads to the same.
  for (const service of [from, to]) {
    await service.rewind('s', { after: 'c1' })
    await service.appendMessage(
      's',
      { role: 'assistant', content: 'and on' },
      { id: 'on', timestamp: 9 },
    )
  }
  const after = await snapshotOf(from)
  expect(after).not.toEqual(before)
  const returned = await exportText(to)
  await from.delete('s')
  await from.importSession(returned)
  expect(await snapshotOf(from)).toEqual(after)
}
