// A tab that misses the messages of another, or gets them twice, late or in disorder, still delivers
// every change once and in order.
import type { SessionChange } from 'turnlog'
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { afterEach, expect, test, vi } from 'vitest'
import { turns } from '../support/conversation.ts'
import { freshDatabaseName } from './indexeddb-harness.ts'

type Handler = (event: MessageEvent) => void

/** The browser's own channel, whose messages come as `disturb` lets them. */
function disturbedChannel(disturb: (deliver: Handler) => Handler): typeof BroadcastChannel {
  return class extends BroadcastChannel {
    override set onmessage(handler: Handler | null) {
      super.onmessage = handler === null ? null : disturb(handler)
    }
  }
}

const disturbances: Readonly<Record<string, (deliver: Handler) => Handler>> = {
  'comes as it should': (deliver) => deliver,
  'is cut off': () => () => undefined,
  'is doubled': (deliver) => (event) => {
    deliver(event)
    deliver(event)
  },
  'is late': (deliver) => (event) => void setTimeout(deliver, 300, event),
  'is dropped every other time': (deliver) => {
    let count = 0
    return (event) => {
      if (count++ % 2 === 0) deliver(event)
    }
  },
  'comes in disorder': (deliver) => {
    const held: MessageEvent[] = []
    return (event) => {
      held.unshift(event)
      if (held.length === 3) for (const message of held.splice(0)) deliver(message)
    }
  },
}

afterEach(() => void vi.unstubAllGlobals())

test.each(Object.entries(disturbances))('what the other tab says %s', async (_, disturb) => {
  const databaseName = freshDatabaseName()
  const open = () => createIndexedDBSessionService({ databaseName, defaultUserId: 'ana' })
  const writer = open()
  await writer.create({ id: 's' })
  vi.stubGlobal('BroadcastChannel', disturbedChannel(disturb))
  const reader = open()
  const heard: string[] = []
  let ended: () => void = () => undefined
  const end = new Promise<void>((resolve) => {
    ended = resolve
  })
  await reader.subscribe(
    's',
    (change: SessionChange) => {
      if (change.type === 'appended') heard.push(...change.events.map(({ id }) => id))
      else heard.push(change.type)
      if (change.type === 'deleted') ended()
    },
    { pollInterval: 100 },
  )
  vi.unstubAllGlobals()

  const expected: string[] = []
  for (let number = 1; number <= 100; number++) {
    await writer.appendEvents('s', turns(1, number))
    expected.push(`u${number}`, `a${number}`)
    if (number % 25 === 0) {
      await writer.rewind('s', { before: `a${number}` })
      expected.push('rewound')
    }
    if (number % 40 === 0) {
      await writer.clearView('s')
      expected.push('compacted')
    }
  }
  // Deleted only when all is heard: of a session that is gone nothing can be read any more.
  while (heard.length < expected.length) await new Promise((resolve) => setTimeout(resolve, 20))
  await writer.delete('s')
  await end
  expect(heard).toEqual([...expected, 'deleted'])
  await writer.close()
  await reader.close()
})
