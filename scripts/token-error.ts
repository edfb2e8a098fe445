// npm run tokens: the error of the built-in token estimate against a tokenizer (o200k_base), for every
// script of the project's own sample, as the message stands and as a summary or a trigger sees it, and on
// conversations in LoCoMo's format where a file is given. Exit code 1 when an error is above its limit.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type EventFormatter, formatEvent } from '../src/core/format-event.ts'
import {
  readMultilingualSample,
  type SampleConversation,
} from '../test/support/multilingual-sample.ts'
import { measureTokenError } from '../test/support/token-error.ts'
import { readConversations } from './conversation-file.ts'

const MEAN_LIMIT = 0.12
const UNDER_LIMIT = -0.2

const { values } = parseArgs({ options: { data: { type: 'string' } } })

console.log(
  `${'script'.padEnd(12)}messages  tokens   mean  held out  as event    bias  lowest conversation`,
)
const sample = readMultilingualSample()
for (const script of new Set(sample.map((conversation) => conversation.script))) {
  print(
    script,
    sample.filter((conversation) => conversation.script === script),
  )
}
// npm runs scripts in the package's folder.
const data = values.data && resolve(process.env['INIT_CWD'] ?? '.', values.data)
if (!data) {
  console.log('LoCoMo      skipped: give its file with -- --data FILE')
} else if (!existsSync(data)) {
  console.log(`LoCoMo      skipped: there is no file ${data}`)
} else {
  print(
    'LoCoMo',
    readConversations(data).map(({ id, turns }) => ({
      title: id,
      messages: turns.map(({ text }) => text).filter((text) => text !== ''),
    })),
  )
}

function print(name: string, conversations: readonly Omit<SampleConversation, 'script'>[]): void {
  const error = measureTokenError(conversations)
  const asEvents = measureTokenError(
    conversations.map(({ title, messages }) => ({ title, messages: messages.map(asEvent) })),
  )
  const failed =
    Math.max(error.mean, error.heldOutMean) > MEAN_LIMIT || error.lowest.bias < UNDER_LIMIT
  if (failed) process.exitCode = 1
  console.log(
    name.padEnd(12) +
      String(error.messages).padStart(8) +
      String(error.tokens).padStart(8) +
      percent(error.mean).padStart(7) +
      percent(error.heldOutMean).padStart(10) +
      percent(asEvents.mean).padStart(10) +
      percent(error.bias).padStart(8) +
      `  ${percent(error.lowest.bias)} ${error.lowest.title}${failed ? '  ABOVE ITS LIMIT' : ''}`,
  )
}

function asEvent(content: string): string {
  return formatEvent({ message: { role: 'user', content } } as Parameters<EventFormatter>[0])
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`
}
