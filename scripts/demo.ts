// npm run demo: what turnlog does, to be seen. A conversation is stored in a browser's IndexedDB and in
// a Worker's Durable Object, compacted three times on the way, and what left the prompt is found again,
// by the same tool and with the same answers. Ends with exit code 1 when the stores disagree.
import { isAbsolute, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { foldText } from '../src/index.ts'
import {
  type Conversation,
  type Question,
  readConversations,
  type Turn,
} from './conversation-file.ts'
import { comparableLog, expectedPages, hitsOf } from './demo/answers.ts'
import { sideBySide, wrap } from './demo/columns.ts'
import { createProgress } from './demo/progress.ts'
import { drawSearches, type Search, type SearchKind, searchKinds } from './demo/searches.ts'
import {
  type CompactionReport,
  MAX_EVENTS_TO_KEEP,
  MAX_TURNS,
  type StoredEvent,
} from './demo/session-operations.ts'
import { type DemoStore, openIndexedDB, openMemory, openWorker, sabotage } from './demo/stores.ts'
import { root } from './entries.ts'

const USAGE = `npm run demo [-- OPTIONS]
  --data FILE        conversations in LoCoMo's format; default examples/conversation.json
  --sabotage STORE   lose messages on their way into "indexeddb" or "worker", to see the demo notice it
  --help`

const PARTS = 4 // compacted between them, so three times
const BATCH = 100 // messages of one append
const SHOWN_QUESTIONS = 6
const SHOWN_HITS = 3
const SHOWN_DIFFERENCES = 5
const COLUMN = 46

const progress = createProgress()
const differences: string[] = []

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: 'string' },
        sabotage: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
    if (![undefined, 'indexeddb', 'worker'].includes(values.sabotage)) {
      throw new Error(`--sabotage is "indexeddb" or "worker", not "${values.sabotage}"`)
    }
    const from = process.env['INIT_CWD'] ?? process.cwd() // npm runs scripts in the package's folder
    const file = values.data ?? join(root, 'examples/conversation.json')
    const data = isAbsolute(file) ? file : join(from, file)
    const shown = values.data ?? relative(from, data)
    return { ...values, file: shown, conversations: readConversations(data).map(withChinese) }
  } catch (error) {
    console.error(`demo: ${(error as Error).message}\n\n${USAGE}`)
    return null
  }
}

const CHINESE = '下个星期我们在图书馆见面，一起学习中文，你有时间吗？'

/** Searches for two Chinese characters need some to find. */
function withChinese(conversation: Conversation): Conversation {
  const { turns } = conversation
  if (turns.some(({ text }) => /\p{Script=Han}{2}/u.test(text))) return conversation
  const middle = turns.length >> 1
  const { timestamp = 0 } = turns[middle] ?? {}
  const added: Turn = { id: 'demo:1', role: 'user', text: CHINESE, timestamp }
  return { ...conversation, turns: turns.toSpliced(middle, 0, added) }
}

async function run(): Promise<void> {
  const options = readOptions()
  if (options === null) {
    process.exitCode = 2
    return
  }
  if (options.help === true) {
    console.log(USAGE)
    return
  }
  const { conversations } = options
  const started = performance.now()
  console.log(
    'turnlog keeps the whole conversation of an AI agent. The prompt sees a small part of it, the\n' +
      'active view; what left the view stays stored, and the agent finds it by searching.\n\n' +
      'Three stores take part, each behind the same SessionService:',
  )
  await using resources = new AsyncDisposableStack()
  const stores: DemoStore[] = []
  for (const open of [openMemory, openIndexedDB, openWorker]) {
    const store = resources.use(await open())
    console.log(`   ${store.title.padEnd(15)} ${store.place}`)
    stores.push(store.name === options.sabotage ? sabotage(store) : store)
  }
  if (options.sabotage !== undefined) {
    console.log(
      `   Messages are lost on their way into "${options.sabotage}", as asked: it must show.`,
    )
  }

  describeConversations(options.file, conversations)
  await storeAndCompact(stores, conversations)
  const logs = await compareLogs(stores, conversations)
  await askQuestions(stores, conversations, logs)
  await compareSearches(stores, drawSearches(conversations), logs)

  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (differences.length === 0) {
    console.log(
      `\nThe three stores agree in everything. (${seconds} s)\n` +
        'How to use this: README.md; programs to start from: examples/.',
    )
    return
  }
  console.log(`\nTHE STORES DISAGREE: ${differences.length} differences. (${seconds} s)`)
  for (const difference of differences.slice(0, SHOWN_DIFFERENCES)) console.log(`   ${difference}`)
  const more = differences.length - SHOWN_DIFFERENCES
  if (more > 0) console.log(`   … and ${more} more`)
  process.exitCode = 1
}

function describeConversations(file: string, conversations: readonly Conversation[]): void {
  const [first] = conversations
  if (conversations.length === 1 && first !== undefined) {
    const { speakers, sittings, turns } = first
    console.log(
      `\n1. A conversation: ${file}\n` +
        `   ${turns.length} messages between ${speakers.join(' and ')} in ${sittings.length} sittings from ` +
        `${day(sittings[0])} to ${day(sittings.at(-1))},\n   in ${scriptsOf(turns)} letters.`,
    )
    return
  }
  const turns = conversations.flatMap((conversation) => conversation.turns)
  const added = turns.filter(({ id }) => id === 'demo:1').length
  console.log(
    `\n1. ${conversations.length} conversations: ${file}\n` +
      `   ${count(turns.length - added)} messages` +
      (added === 0 ? '.' : `, and ${added} in Chinese, which the demo adds to those without.`),
  )
}

async function storeAndCompact(
  stores: readonly DemoStore[],
  conversations: readonly Conversation[],
): Promise<void> {
  console.log(
    `\n2. Store it, and compact it three times on the way\n` +
      `   With more than ${MAX_TURNS} turns in view, all but the newest ${MAX_EVENTS_TO_KEEP} messages are archived and a summary takes\n` +
      '   their place. (The summary is a stand-in for a model’s.)',
  )
  const total = conversations.reduce((sum, { turns }) => sum + turns.length, 0)
  const spent = new Map(stores.map(({ name }) => [name, 0]))
  let stored = 0
  for (const { id, turns } of conversations) {
    const archived: number[] = []
    for (let part = 0; part < PARTS; part++) {
      const [begin, end] = [part, part + 1].map((edge) => Math.floor((turns.length * edge) / PARTS))
      const portion = turns.slice(begin, end)
      for (let from = 0; from < portion.length; from += BATCH) {
        const batch = portion.slice(from, from + BATCH)
        await Promise.all(
          stores.map(async ({ name, append }) => {
            const before = performance.now()
            await append(id, batch)
            spent.set(name, (spent.get(name) ?? 0) + performance.now() - before)
          }),
        )
        stored += batch.length
        progress.show(`${count(stored)} of ${count(total)} messages stored in each store`)
      }
      if (part === PARTS - 1) continue
      const reports = await Promise.all(stores.map(({ compact }) => compact(id)))
      const [report] = reports
      if (report === undefined) continue
      archived.push(report.archived)
      compareCompactions(stores, reports, `after ${end} messages of ${id}`)
      if (conversations.length === 1) printCompaction(report, end ?? 0)
    }
    if (conversations.length > 1) {
      progress.end()
      console.log(
        `   ${id}: ${count(turns.length)} messages; compactions archived ${archived.map(count).join(', ')}`,
      )
    }
  }
  progress.end()
  const times = stores.map(
    ({ title, name }) => `${title} ${((spent.get(name) ?? 0) / 1000).toFixed(2)} s`,
  )
  console.log(`   Storing took: ${times.join(', ')}.`)
}

function compareCompactions(
  stores: readonly DemoStore[],
  reports: readonly CompactionReport[],
  when: string,
): void {
  const [reference] = reports
  for (const [index, report] of reports.entries()) {
    const title = stores[index]?.title
    if (report.status !== 'compacted') {
      differences.push(`${title} did not compact ${when}: ${report.status} ${report.error ?? ''}`)
    } else if (JSON.stringify(report) !== JSON.stringify(reference)) {
      differences.push(
        `${title} archived ${report.archived} events ${when}, the reference ${reference?.archived}`,
      )
    }
  }
}

function printCompaction({ archived, view, summaries }: CompactionReport, after: number): void {
  progress.end()
  console.log(
    `   after ${String(after).padStart(3)} messages: ${archived} events leave the view, which is ` +
      `${view} events now: ${summaries} of summary and the newest ${view - summaries}`,
  )
}

/** The logs of the reference, by conversation; differences of the other stores' are noted. */
async function compareLogs(
  stores: readonly DemoStore[],
  conversations: readonly Conversation[],
): Promise<ReadonlyMap<Conversation, readonly StoredEvent[]>> {
  const logs = new Map<Conversation, readonly StoredEvent[]>()
  const stored = new Map(stores.map(({ name }) => [name, 0]))
  const views: (readonly StoredEvent[])[] = []
  let [messages, events, inView] = [0, 0, 0]
  for (const conversation of conversations) {
    messages += conversation.turns.length
    for (const only of ['log', 'view'] as const) {
      const read = await Promise.all(stores.map((store) => store.read(conversation.id, only)))
      const [reference = []] = read
      for (const [index, log] of read.entries()) {
        const { name, title } = stores[index] as DemoStore
        if (comparableLog(log) !== comparableLog(reference)) {
          differences.push(`${title} has another ${only} of ${conversation.id} than the reference`)
        }
        if (only === 'view') continue
        const real = log.filter(({ synthetic }) => !synthetic).length
        stored.set(name, (stored.get(name) ?? 0) + real)
      }
      if (only === 'view') {
        inView += reference.length
        views.push(reference)
      } else {
        logs.set(conversation, reference)
        events += reference.length
      }
    }
  }
  const counts = stores.map(({ title, name }) => `${title} ${count(stored.get(name) ?? 0)}`)
  console.log(
    `   Stored, of ${count(messages)} messages: ${counts.join(', ')}.\n` +
      `   The prompt sees ${count(inView)} of ${count(events)} events (summaries are events, too).`,
  )
  const [view = []] = views
  if (views.length === 1) printView(view)
  return logs
}

/** The first events of a view, as the prompt begins with them. */
function printView(view: readonly StoredEvent[]): void {
  console.log('   It begins with:')
  for (const { type, text, synthetic } of view.slice(0, 4)) {
    const [line = '', more] = wrap(text, 74)
    console.log(
      `      ${type}${synthetic ? ' (summary)' : ''}: ${line}${more === undefined ? '' : ' …'}`,
    )
  }
}

async function askQuestions(
  stores: readonly DemoStore[],
  conversations: readonly Conversation[],
  logs: ReadonlyMap<Conversation, readonly StoredEvent[]>,
): Promise<void> {
  console.log(
    '\n3. Ask for what left the prompt\n   The model has a tool for it, conversation_search.',
  )
  for (const { conversation, question, query } of chooseQuestions(conversations, logs)) {
    const { id } = conversation
    const log = logs.get(conversation) ?? []
    const answers = await Promise.all(stores.map(({ search }) => search(id, [query])))
    const pages = answers.map(([first]) => first ?? [])
    console.log(
      `\n   “${question.question}”${conversations.length > 1 ? ` (${id})` : ''}\n` +
        `   conversation_search ${JSON.stringify({ query })}`,
    )
    const columns = pages.slice(1).map((answer) => renderAnswer(answer))
    const titles = stores.slice(1).map(({ title }) => [title, '─'.repeat(COLUMN)])
    const blocks = titles.map((title, index) => [...title, ...(columns[index] ?? [])])
    for (const line of sideBySide(blocks, COLUMN)) console.log(`   ${line}`)

    const expected = JSON.stringify(expectedPages(log, query))
    const wrong = stores.filter((_, index) => JSON.stringify(pages[index]) !== expected)
    for (const { title } of wrong)
      differences.push(`${title} answers ${JSON.stringify(query)} otherwise`)
    const texts = new Set(hitsOf(pages[0] ?? []).map(({ text }) => text))
    const archived = log.filter((event) => event.archived && question.evidence.includes(event.id))
    const found = archived.filter(({ text }) => texts.has(text)).map((event) => event.id)
    if (found.length === 0) differences.push(`${JSON.stringify(query)} does not find its answer`)
    console.log(
      wrong.length > 0
        ? `   DIFFERENT from the log: ${wrong.map(({ title }) => title).join(', ')}`
        : found.length > 0
          ? `   In memory the same. No longer in the prompt, and found: ${found.join(', ')}.`
          : '   In memory the same. The archived answer was NOT FOUND.',
    )
  }
}

interface ChosenQuestion {
  readonly conversation: Conversation
  readonly question: Question
  readonly query: string
}

/** Questions whose answer has been archived, with a query that finds it. */
function chooseQuestions(
  conversations: readonly Conversation[],
  logs: ReadonlyMap<Conversation, readonly StoredEvent[]>,
): readonly ChosenQuestion[] {
  const perConversation = Math.ceil(SHOWN_QUESTIONS / conversations.length)
  return conversations
    .flatMap((conversation) => {
      const log = logs.get(conversation) ?? []
      return conversation.questions
        .filter(({ category }) => category !== 5)
        .flatMap((question) => {
          const evidence = log.filter(
            ({ id, archived }) => archived && question.evidence.includes(id),
          )
          const query = question.query ?? deriveQuery(question, evidence, log)
          return evidence.length === 0 || query === null ? [] : [{ conversation, question, query }]
        })
        .slice(0, perConversation)
    })
    .slice(0, SHOWN_QUESTIONS)
}

/** The rarest long word that answer and evidence have in common: what a good agent would search for. */
function deriveQuery(
  { answer }: Question,
  evidence: readonly StoredEvent[],
  log: readonly StoredEvent[],
): string | null {
  const texts = log.map(({ text }) => foldText(text))
  const frequency = (word: string) => texts.filter((text) => text.includes(word)).length
  const words = (foldText(answer).match(/[\p{L}\p{N}]{5,}/gu) ?? [])
    .filter((word) => evidence.some(({ text }) => foldText(text).includes(word)))
    .sort((one, other) => frequency(one) - frequency(other))
  return words[0] ?? null
}

function renderAnswer(pages: readonly string[]): readonly string[] {
  const hits = hitsOf(pages)
  if (hits.length === 0) return wrap(pages[0] ?? '', COLUMN)
  const lines = hits
    .slice(0, SHOWN_HITS)
    .flatMap(({ timestamp, type, text }) => [
      `${timestamp.slice(0, 16).replace('T', ' ')} ${type}`,
      ...wrap(text, COLUMN - 2).map((line) => `  ${line}`),
    ])
  const more = hits.length - SHOWN_HITS
  return more > 0 ? [...lines, `… and ${more} more`] : lines
}

async function compareSearches(
  stores: readonly DemoStore[],
  searches: readonly Search[],
  logs: ReadonlyMap<Conversation, readonly StoredEvent[]>,
): Promise<void> {
  console.log(
    `\n4. Compare the stores\n` +
      `   ${searches.length} searches, all pages of each: every store must answer what EventFilter.apply gives over\n` +
      '   the whole log.',
  )
  let done = 0
  for (const kind of Object.keys(searchKinds) as SearchKind[]) {
    let [pageCount, hitCount, wrongCount] = [0, 0, 0]
    for (const [conversation, log] of logs) {
      const queries = searches
        .filter((search) => search.kind === kind && search.conversation === conversation)
        .map(({ query }) => query)
      if (queries.length === 0) continue
      const answers = await Promise.all(
        stores.map(({ search }) => search(conversation.id, queries)),
      )
      for (const [index, query] of queries.entries()) {
        const expected = expectedPages(log, query)
        const wrong = stores.filter(
          (_, store) => JSON.stringify(answers[store]?.[index]) !== JSON.stringify(expected),
        )
        for (const { title } of wrong) {
          differences.push(
            `${title} answers ${JSON.stringify(query)} in ${conversation.id} otherwise`,
          )
        }
        pageCount += expected.length
        hitCount += hitsOf(expected).length
        wrongCount += wrong.length === 0 ? 0 : 1
      }
      done += queries.length
      progress.show(`${done} of ${searches.length} searches`)
    }
    progress.end()
    console.log(
      `   ${String(searchKinds[kind]).padStart(3)} ${kind.padEnd(22)} ${count(hitCount).padStart(7)} hits on ` +
        `${count(pageCount).padStart(6)} pages: ${wrongCount === 0 ? 'identical in all three' : `${wrongCount} DIFFERENT`}`,
    )
  }
}

const SCRIPTS = {
  Latin: /\p{Script=Latin}/u,
  Greek: /\p{Script=Greek}/u,
  Cyrillic: /\p{Script=Cyrillic}/u,
  Chinese: /\p{Script=Han}/u,
  Japanese: /\p{Script=Hiragana}|\p{Script=Katakana}/u,
  Korean: /\p{Script=Hangul}/u,
  Arabic: /\p{Script=Arabic}/u,
  Hebrew: /\p{Script=Hebrew}/u,
  Devanagari: /\p{Script=Devanagari}/u,
  Thai: /\p{Script=Thai}/u,
}

/** `Latin, Greek and Chinese`. */
function scriptsOf(turns: readonly Turn[]): string {
  const found = Object.entries(SCRIPTS)
    .filter(([, script]) => turns.some(({ text }) => script.test(text)))
    .map(([name]) => name)
  return new Intl.ListFormat('en-GB').format(found)
}

function day(date: Date | undefined): string {
  return date?.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' }) ?? ''
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

try {
  await run()
} catch (error) {
  progress.end()
  console.error(`demo: ${error instanceof Error ? error.stack : String(error)}`)
  process.exitCode = 1
}
