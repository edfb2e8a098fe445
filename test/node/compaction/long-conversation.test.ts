// A conversation of many hundred turns under every strategy; LoCoMo's longest where TURNLOG_LOCOMO gives
// the path of its file.
import { createInMemorySessionService } from 'turnlog/in-memory'
import { describe, expect, test } from 'vitest'
import { readConversations } from '../../../scripts/conversation-file.ts'
import {
  checkLongConversation,
  type LongTurn,
  makeUpConversation,
  strategyCases,
} from '../../support/long-conversation.ts'

const locomo = process.env['TURNLOG_LOCOMO'] ?? ''

/** The longest conversation of a file, each turn at a time of its own. */
function readLongest(file: string): readonly LongTurn[] {
  const [longest] = [...readConversations(file)].sort((a, b) => b.turns.length - a.turns.length)
  if (longest === undefined) throw new Error(`${file} holds no conversation`)
  let latest = 0
  return longest.turns.map((turn) => {
    latest = Math.max(latest + 1000, turn.timestamp)
    return { ...turn, timestamp: latest }
  })
}

async function check(turns: readonly LongTurn[], name: string): Promise<void> {
  const make = strategyCases[name]
  if (make === undefined) throw new Error(`there is no strategy ${name}`)
  const service = createInMemorySessionService({ defaultUserId: 'ana' })
  const report = await checkLongConversation(service, turns, make())
  console.log(`${name}: ${JSON.stringify(report)}`)
  expect(report.words).toBe(300)
  expect(report.hits).toBeGreaterThanOrEqual(300)
  expect(report.compactions).toBeGreaterThan(10)
}

describe('a made-up conversation', () => {
  test.each(Object.keys(strategyCases))('%s', (name) => check(makeUpConversation(700), name))
})

describe('the longest conversation of LoCoMo', () => {
  test.for(Object.keys(strategyCases))('%s', async (name, { skip }) => {
    if (locomo === '') skip('TURNLOG_LOCOMO does not give the path of locomo10.json')
    await check(readLongest(locomo), name)
  })
})
