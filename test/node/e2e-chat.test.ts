// The chat application of `npm start`, used as a person would, in a whole browser with a Worker beside it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Browser, type BrowserContext, chromium, type Locator } from 'playwright'
import { messageText } from 'turnlog'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ChatApplication, startChatApplication } from '../../scripts/chat-application.ts'
import { findChromium } from '../../scripts/chromium.ts'
import { COUNT_READS, logOf, openChat, type Person, shows } from '../support/chat-person.ts'
import { promptApiFake } from '../support/prompt-api-fake.ts'

/** Of the application and turnlog, without React and the AI SDK, in bytes of gzip. */
const BUDGET = 60_000

let application: ChatApplication
let browser: Browser
const contexts: BrowserContext[] = []
const people: Person[] = []

beforeAll(async () => {
  application = await startChatApplication()
  const { executablePath, args, env } = await findChromium()
  browser = await chromium.launch({ executablePath, args: [...args], ...(env && { env }) })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await application?.close()
})

afterEach(async () => {
  const present = people.splice(0)
  const complaints = present.flatMap((person) => person.complaints)
  const open = present.filter(({ page }) => !page.isClosed())
  const barriers = await Promise.all(open.map((person) => person.barriers()))
  await Promise.all(contexts.splice(0).map((context) => context.close()))
  // On the Worker everybody is the same user.
  await fetch(new URL('api/user', application.url), { method: 'DELETE' })
  expect(complaints).toEqual([])
  // Whatever the page shows at the end.
  expect(barriers.flat()).toEqual([])
})

/** A new person with a browser profile of their own. */
async function newContext(options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({
    viewport: { width: 1180, height: 760 },
    locale: 'en-GB',
    ...options,
  })
  contexts.push(context)
  return context
}

async function newTab(context: BrowserContext, before: readonly string[] = []): Promise<Person> {
  const person = await openChat(context, application.url, before)
  people.push(person)
  return person
}

const bicycle = 'My bicycle is a green Pelikan, and its lock opens with 4711.'

test('a conversation is there after a reload and without network, and the agent finds what was said', async () => {
  const context = await newContext()
  const ana = await newTab(context)
  await ana.page.evaluate('navigator.serviceWorker.ready.then(() => true)')
  expect(await ana.ask(bicycle)).toMatch(/stand-in .* not a language model/)
  expect(await ana.ask('I walk a lot.')).toBe('Stored.')

  await ana.page.reload()
  await shows(ana.entries).toHaveCount(4)
  await context.setOffline(true)
  await ana.page.reload()
  await shows(ana.entries).toHaveCount(4)
  await ana.ask('What did I say about my bicycle?')
  const answer = ana.entries.last()
  await shows(answer.locator('.tool summary')).toContainText('conversation_search for “bicycle”')
  await shows(answer.locator('blockquote')).toContainText(bicycle)
  await shows(ana.page.locator('.model')).toContainText('Built-in stand-in')
  await ana.screenshot('answer')
  await answer.locator('.tool summary').click()
  await shows(answer.locator('.tool pre').last()).toContainText('"type": "user"')
  await context.setOffline(false)
})

test('search across conversations marks what it finds, and opens it there', async () => {
  const ana = await newTab(await newContext())
  await ana.ask('We live in the Große Straße 9.')
  await ana.page.getByRole('button', { name: 'New chat' }).click()
  await ana.ask('Nothing but rain today.')
  await ana.search('STRASSE')
  await shows(ana.page.locator('.hits mark')).toHaveText('Straße')
  await shows(ana.page.locator('.hits li')).toHaveCount(1)
  await ana.screenshot('search')
  await ana.page.locator('.hits button').click()
  await shows(ana.entries.first().locator('mark')).toHaveText('Straße')
  await shows(ana.page.locator('.target')).toBeFocused()
  await ana.search('no such word')
  await shows(ana.page.getByText('Nothing found.')).toBeVisible()
})

test('an edited question and a regenerated answer take the place of the old ones', async () => {
  const ana = await newTab(await newContext())
  await ana.ask('My dog is called Rex.')
  await ana.ask('What is the name of my dgo?')
  const question = ana.page.locator('.question').last()
  await question.hover()
  await question.getByRole('button', { name: 'Edit' }).click()
  await ana.page.getByLabel('Edit your message').fill('What is the name of my dog?')
  await ana.page.getByRole('button', { name: 'Save and ask' }).click()
  await shows(ana.entries.last().locator('blockquote').first()).toContainText('Rex')
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(4)
  await shows(ana.page.getByText('dgo')).toHaveCount(0)

  const old = (await ana.entries.last().getAttribute('data-seq')) ?? ''
  await ana.page.getByRole('button', { name: 'Regenerate' }).click()
  await shows(ana.entries.last()).not.toHaveAttribute('data-seq', old)
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(4)
  await ana.page.reload()
  await shows(ana.entries).toHaveCount(4)
  await shows(ana.entries.last().locator('blockquote').first()).toContainText('Rex')

  // The log is what happened: the question that stayed is there once, what was taken out still is.
  const log = await logOf(ana, 'My dog')
  const questions = log.filter(({ message }) => message.role === 'user')
  expect(questions.map(({ message, rewound }) => [message.content, rewound])).toEqual([
    [[{ type: 'text', text: 'My dog is called Rex.' }], false],
    [[{ type: 'text', text: 'What is the name of my dgo?' }], true],
    [[{ type: 'text', text: 'What is the name of my dog?' }], false],
  ])
  const edited = log.findIndex(({ id }) => id === questions[2]?.id)
  const answers = log.slice(edited + 1)
  const roles = answers.map(({ message }) => message.role)
  const half = answers.length / 2
  expect(answers.map(({ rewound }) => rewound)).toEqual(answers.map((_, index) => index < half))
  expect(roles.slice(0, half)).toEqual(roles.slice(half))
  expect(roles.slice(half)).toEqual(['assistant', 'tool', 'assistant', 'tool', 'assistant'])
  expect(new Set(log.map(({ id }) => id)).size).toBe(log.length)
})

test('pressed twice, everything is done once', async () => {
  const answer = `(conversation, constraint) => {
    if (constraint !== null) return '{"query":""}'
    if (conversation.at(-1).content.startsWith('Answer with')) return 'yes'
    globalThis.asked = (globalThis.asked ?? 0) + 1
    return 'Answer ' + asked
  }`
  const ana = await newTab(await newContext(), [promptApiFake({ answer, delay: 100 })])
  await ana.page.getByLabel('Message', { exact: true }).fill('I walk a lot.')
  await ana.page.getByRole('button', { name: 'Send' }).dblclick()
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(2)
  // Before the page has drawn anything of the first press.
  await ana.page.evaluate(`{
    const buttons = [...document.querySelectorAll('.entry footer button')]
    const regenerate = buttons.find(({ textContent }) => textContent === 'Regenerate')
    regenerate.click()
    regenerate.click()
  }`)
  await shows.poll(() => ana.page.evaluate('asked')).toBe(2)
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(2)
  const log = await logOf(ana, 'I walk')
  expect(log.map(({ message, rewound }) => [message.role, rewound])).toEqual([
    ['user', false],
    ['assistant', true],
    ['assistant', false],
  ])
  expect(await ana.page.evaluate('asked')).toBe(2)
})

test('a double click on Send does not stop the answer, though Stop has come under the pointer', async () => {
  const ana = await newTab(await newContext(), [promptApiFake({ answer: STORY, delay: 100 })])
  await ana.page.getByLabel('Message', { exact: true }).fill('Tell me a story.')
  const { mouse } = ana.page
  await ana.page.getByRole('button', { name: 'Send' }).hover()
  await mouse.down()
  await mouse.up()
  await ana.page.getByRole('button', { name: 'Stop' }).waitFor()
  await mouse.down({ clickCount: 2 })
  await mouse.up({ clickCount: 2 })
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(2)
  await shows(ana.entries.last()).toContainText('Once')
})

test('a question that is edited while an answer comes stays in its editor until that has ended', async () => {
  const ana = await newTab(await newContext(), [promptApiFake({ answer: STORY, delay: 100 })])
  await ana.send('Tell me a story.')
  await shows(ana.page.locator('.answer')).toContainText('Once')
  await ana.page.getByRole('button', { name: 'Stop' }).click()
  await ana.page.getByRole('button', { name: 'Edit' }).click()
  await ana.page.getByLabel('Edit your message').fill('Tell me another story.')
  await ana.send('And a third one.')
  await shows(ana.page.locator('.answer').last()).toContainText('Once')
  await ana.page.getByRole('button', { name: 'Save and ask' }).click()
  await shows(ana.page.getByText('Wait for the answer, or stop it.')).toBeVisible()
  await shows(ana.page.getByLabel('Edit your message')).toHaveValue('Tell me another story.')
  await ana.waitForAnswer()
  await ana.page.getByRole('button', { name: 'Save and ask' }).click()
  await shows(ana.entries.first()).toContainText('Tell me another story.')
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(2)
})

test('Enter ends the composition of a word before it sends', async () => {
  const ana = await newTab(await newContext())
  const field = ana.page.getByLabel('Message', { exact: true })
  const keyboard = await ana.page.context().newCDPSession(ana.page)
  await field.focus()
  await keyboard.send('Input.imeSetComposition', {
    text: '咖啡',
    selectionStart: 2,
    selectionEnd: 2,
  })
  const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 }
  await keyboard.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter })
  await keyboard.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter })
  await keyboard.send('Input.insertText', { text: '咖啡' })
  await shows(field).toHaveValue('咖啡')
  await shows(ana.entries).toHaveCount(0)
  await ana.page.keyboard.press('Enter')
  await ana.waitForAnswer()
  await shows(ana.entries.first().locator('.words')).toHaveText('咖啡')
})

test('every script is found, and stands at its own side', async () => {
  const ana = await newTab(await newContext())
  await ana.ask('שלום, קוראים לי דנה.')
  await ana.ask('Ο σκύλος μένει στην ΟΔΌΣ ΕΡΜΟΎ.')
  await ana.ask('我喜欢喝咖啡。')
  await ana.ask('Ποιος ξέρει την οδός;')
  await shows(ana.entries.last().locator('blockquote')).toContainText('ΕΡΜΟΎ')
  await ana.ask('咖啡？')
  await shows(ana.entries.last().locator('blockquote')).toContainText('我喜欢喝咖啡')
  await ana.search('דנה')
  await shows(ana.page.locator('.hits mark')).toHaveText('דנה')
  expect(
    await ana.page.evaluate("getComputedStyle(document.querySelector('.plain')).unicodeBidi"),
  ).toBe('plaintext')
  expect(await ana.page.evaluate('document.documentElement.scrollWidth')).toBe(1180)
})

test('a very long message is stored, shown and found, and breaks no line of the page', async () => {
  const ana = await newTab(await newContext({ viewport: { width: 390, height: 780 } }))
  const long = `${'x'.repeat(5000)} ${'and the fox jumps. '.repeat(20_000)}Marzipan!`
  await ana.page.getByLabel('Message', { exact: true }).fill(long)
  await ana.page.keyboard.press('Enter')
  await ana.waitForAnswer()
  expect(await ana.page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  await ana.ask('Is there any Marzipan?')
  await shows(ana.entries.last().locator('.tool summary')).toContainText('2 results')
  await ana.page.setViewportSize({ width: 1180, height: 760 })
  const [first] = await logOf(ana, 'xxx')
  expect(first?.message.content).toEqual([{ type: 'text', text: long }])
})

test('after a reload in the middle of an answer, the question is there and is answered', async () => {
  const ana = await newTab(await newContext(), [promptApiFake({ answer: STORY, delay: 100 })])
  await ana.send('Tell me a story.')
  await shows(ana.entries.last()).toContainText('Once upon a')
  await ana.page.reload()
  await shows(ana.entries).toHaveCount(1)
  await ana.page.getByRole('button', { name: 'Ask again' }).click()
  await ana.waitForAnswer()
  await shows(ana.entries).toHaveCount(2)
  await shows(ana.entries.last()).toContainText('ever after.')
  const log = await logOf(ana, 'Tell me')
  expect(log.map(({ message }) => message.role)).toEqual(['user', 'assistant'])
})

test('an answer is stopped, kept as far as it came, and continued', async () => {
  const ana = await newTab(await newContext())
  const story = `The lighthouse ${'blinked over the bay and the keeper wrote it down, '.repeat(5)}`
  await ana.ask(`${story}then slept.`)
  await ana.send('Who knows the lighthouse?')
  await shows(ana.page.locator('.answer').last()).toContainText('and found one message')
  await ana.page.getByRole('button', { name: 'Stop' }).click()
  await shows(ana.page.getByText('Stopped here.')).toBeVisible()
  // biome-ignore lint/performance/useDomNodeTextContent: as a person reads it, line by line
  const begun = await ana.entries.last().locator('.words').innerText()
  await ana.page.reload()
  await shows(ana.entries.last().locator('.words')).toHaveText(begun, { useInnerText: true })
  await ana.page.getByRole('button', { name: 'Continue' }).click()
  await shows(ana.page.locator('.question').last()).toContainText('Continue where you stopped.')
  await shows(ana.entries.last()).toContainText('— You,')
  await ana.waitForAnswer()
})

/** Presses the button as soon as it is there, or so many milliseconds later. */
const stopAfter = (delay: number) => `new MutationObserver((_, observer) => {
  const stop = document.querySelector('[aria-label="Stop"]')
  if (stop === null) return
  observer.disconnect()
  setTimeout(() => stop.click(), ${delay})
}).observe(document.body, { subtree: true, childList: true, attributes: true })`

test.for(['browser', 'worker'] as const)(
  'stopped at once (%s), a question is in the log or back in its field, never both',
  async (place) => {
    const ana = await newTab(await newContext())
    if (place === 'worker') {
      await (await ana.openSettings())
        .getByRole('button', { name: 'Sign in to the Worker' })
        .click()
      await shows(ana.page.getByText('Stored on the Worker')).toBeVisible()
    }
    const field = ana.page.getByLabel('Message', { exact: true })
    const stored: string[] = []
    for (const [text, delay] of [
      ['Who is it, harbour?', 0],
      ['Where is it, harbour?', 10],
      ['When is it, harbour?', 30],
      ['What is it, harbour?', 90],
    ] as const) {
      await ana.page.evaluate(stopAfter(delay))
      await ana.send(text)
      const copy = ana.page
        .locator('.question', { hasText: text })
        .getByRole('button', { name: 'Copy' })
      const outcome = async () => `${await copy.count()} ${await field.inputValue()}`
      await shows.poll(outcome).toMatch(/^1 $|^0 \w/)
      if ((await copy.count()) > 0) stored.push(text)
    }
    await ana.ask('The end.')
    const log = await logOf(ana, 'Who is it')
    const questions = log.filter(({ message }) => message.role === 'user')
    expect(questions.map(({ message }) => messageText(message))).toEqual([...stored, 'The end.'])
  },
)

test('what is archived stands apart, is not in the prompt, and is found by the agent', async () => {
  const ana = await newTab(await newContext())
  for (const text of [bicycle, 'I walk a lot.', 'It rains.', 'The sun is out.']) await ana.ask(text)
  await ana.page.getByRole('button', { name: 'Prompt', exact: true }).click()
  const prompt = ana.page.getByRole('complementary', { name: 'Prompt' })
  await shows(prompt).toContainText('8 of 8')
  await shows(prompt).toContainText('Pelikan')
  await prompt.getByRole('button', { name: /^Archive/ }).click()
  await shows(prompt).toContainText('4 of 8')
  await shows(prompt).not.toContainText('Pelikan')
  await shows(ana.page.locator('.archived')).toHaveCount(4)
  await shows(ana.page.getByText('The prompt begins here.')).toBeVisible()
  await shows(ana.page.getByText('4 messages left the prompt.')).toBeVisible()
  await ana.ask('Which colour has my bicycle?')
  await shows(ana.entries.last().locator('blockquote')).toContainText('green Pelikan')
  await ana.page.getByRole('button', { name: 'Dismiss' }).click()
  await ana.page.getByText('I walk a lot.').scrollIntoViewIfNeeded()
  await ana.screenshot('archived')
  expect(await ana.barriers()).toEqual([])

  // By itself, when there are more turns than the settings say.
  const settings = await ana.openSettings()
  await settings.getByLabel('Archive when there are more turns than').fill('2')
  await settings.getByRole('button', { name: 'Close settings' }).click()
  await ana.ask('The wind is up.')
  await shows(prompt).toContainText('2 of 14')
})

test.for([
  ['agrees', true, 'kept until you clear it.', 0],
  ['refuses', false, 'the browser may clear it when space is low.', 1],
] as const)(
  'the storage is asked to be kept: the browser %s',
  async ([, agrees, says, buttons]) => {
    const ana = await newTab(await newContext(), [
      `{
      let isPersisted = false
      globalThis.asked = 0
      navigator.storage.persisted = async () => isPersisted
      navigator.storage.persist = async () => { asked += 1; return (isPersisted = ${agrees}) }
    }`,
    ])
    const settings = await ana.openSettings()
    await shows(settings).toContainText('the browser may clear it when space is low.')
    expect(await ana.page.evaluate('asked')).toBe(0)
    await settings.getByRole('button', { name: 'Keep it when space is low' }).click()
    await shows(settings).toContainText(says)
    await shows(settings.getByRole('button', { name: 'Keep it when space is low' })).toHaveCount(
      buttons,
    )
    await shows(settings.getByText('The browser has refused.')).toHaveCount(buttons)
    expect(await ana.page.evaluate('asked')).toBe(1)
  },
)

test('asked to keep the storage, the browser says what it says, and so does the page', async () => {
  const ana = await newTab(await newContext())
  const settings = await ana.openSettings()
  await settings.getByRole('button', { name: 'Keep it when space is low' }).click()
  await shows(settings).toContainText(/kept until you clear it\.|The browser has refused\./)
  const persisted = await ana.page.evaluate('navigator.storage.persisted()')
  await shows(settings.getByText('The browser has refused.')).toHaveCount(persisted ? 0 : 1)
})

test('two tabs stay in step', async () => {
  const context = await newContext()
  const left = await newTab(context)
  await left.ask('Hello from the left.')
  const right = await newTab(context)
  await right.conversations.first().click()
  await shows(right.entries).toHaveCount(2)
  await left.ask('And another one.')
  await shows(right.entries).toHaveCount(4)
  await right.ask('Hello from the right.')
  await shows(left.entries).toHaveCount(6)
  await right.choose('Hello from the left.', 'Rename')
  await right.page.getByLabel('Name of the conversation').fill('Greetings')
  await right.page.keyboard.press('Enter')
  await shows(left.conversations).toHaveText(['Greetings'])
  await shows(left.page.getByRole('main').getByRole('heading', { level: 2 })).toHaveText(
    'Greetings',
  )
  await left.choose('Greetings', 'Delete')
  await shows(right.conversations).toHaveCount(0)
  await shows(right.entries).toHaveCount(0)
})

test('a deleted conversation comes back by undo, or is gone for good', async () => {
  const ana = await newTab(await newContext())
  await ana.ask(bicycle)
  await ana.choose('My bicycle', 'Delete')
  await shows(ana.page.getByText('was deleted.')).toBeVisible()
  await shows(ana.conversations).toHaveCount(0)
  await ana.page.getByRole('button', { name: 'Undo' }).click()
  await shows(ana.conversations).toHaveCount(1)
  await ana.conversations.first().click()
  await shows(ana.entries).toHaveCount(2)

  await ana.choose('My bicycle', 'Delete')
  await shows(ana.conversations).toHaveCount(0)
  await ana.page.reload()
  await shows(ana.page.getByText('No conversations yet.')).toBeVisible()
  // Its time is over, here by the page's clock, when the page is opened for the next time.
  const later = await newTab(contexts[0] as BrowserContext, [
    'Date.now = ((now) => () => now() + 3_600_000)(Date.now)',
    COUNT_READS,
  ])
  await shows(later.page.getByText('No conversations yet.')).toBeVisible()
  await shows
    .poll(() =>
      later.page.evaluate(`new Promise((resolve, reject) => {
        const opening = indexedDB.open('turnlog-chat')
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const database = opening.result
          const names = [...database.objectStoreNames]
          const counting = database.transaction(names).objectStore('events').count()
          counting.onsuccess = () => { database.close(); resolve(counting.result) }
        }
      })`),
    )
    .toBe(0)
})

test('export and import: a broken file is refused with its reason and changes nothing', async () => {
  const ana = await newTab(await newContext())
  await ana.ask(bicycle)
  const downloading = ana.page.waitForEvent('download')
  await ana.choose('My bicycle', 'Export')
  const download = await downloading
  expect(download.suggestedFilename()).toBe('My-bicycle-is-a-green-Pelikan-and-its-lo.jsonl')
  const file = readFileSync(await download.path(), 'utf8')

  const bo = await newTab(await newContext())
  const [first = '', second = '', ...rest] = file.split('\n')
  const broken = [first, second.replace('Pelikan', 'Pelican'), ...rest].join('\n')
  await bo.importFile('broken.jsonl', broken)
  const alert = bo.page.getByRole('alert')
  await shows(alert).toContainText('“broken.jsonl” was not imported, and nothing was changed')
  await shows(alert).toContainText('line 2')
  await bo.screenshot('broken-import')
  await bo.importFile('holiday.jpg', '\u0000\u0001 no conversation')
  await shows(alert).toContainText('“holiday.jpg” was not imported')
  await shows(bo.conversations).toHaveCount(0)
  await bo.importFile('chat.jsonl', file)
  await shows(bo.entries).toHaveCount(2)
  await shows(bo.entries.first()).toContainText(bicycle)
  await bo.importFile('chat.jsonl', file)
  await shows(bo.page.getByText('was imported: 2 events.')).toHaveCount(2)
  await shows(bo.conversations).toHaveCount(1)
})

test('20,000 messages: the last screen, scrolling back and a search read little; typing draws nothing', async () => {
  const file = await longConversation(20_000)
  const context = await newContext()
  const importing = await newTab(context, [COUNT_READS])
  await importing.importFile('long.jsonl', file)
  await importing.page.getByText('was imported: 20,000 events.').waitFor({ timeout: 60_000 })
  // The first search, and the index that is built for the next ones, reads all.
  await importing.search('albatross')
  await shows(importing.page.locator('.hits li')).toHaveCount(1)
  await settles(() => readsOf(importing))
  await importing.page.close()

  const ana = await newTab(context, [COUNT_READS])
  const reads = () => readsOf(ana)
  await ana.conversations.first().click()
  await shows(ana.entries.last()).toContainText('message 20000')
  expect(await reads()).toBeLessThan(100)

  for (const seen of ['message 19955', 'message 19915', 'message 19875']) {
    await ana.page.evaluate("document.querySelector('.scroller').scrollTo(0, 0)")
    await shows(ana.page.locator('article', { hasText: `${seen} ` })).toHaveCount(1)
  }
  expect(await reads()).toBeLessThan(300)

  await ana.search('albatross')
  await shows(ana.page.locator('.hits li')).toHaveCount(1)
  await ana.page.locator('.hits button').click()
  await shows(ana.page.locator('.target')).toContainText('message 4321 ')
  expect(await reads()).toBeLessThan(1000)
  await ana.screenshot('long')

  await ana.page.evaluate(`{
    globalThis.drawn = 0
    new MutationObserver((changes) => { drawn += changes.length }).observe(
      document.querySelector('.scroller'), { subtree: true, childList: true, characterData: true, attributes: true },
    )
  }`)
  const before = await reads()
  await ana.page
    .getByLabel('Message', { exact: true })
    .pressSequentially('Typing goes on as if it were short.')
  expect(await ana.page.evaluate('drawn')).toBe(0)
  expect(await reads()).toBe(before)

  // A prompt of 20,000 messages would be none: what is too old is archived first, and found all the same.
  await ana.page.getByRole('button', { name: 'Prompt', exact: true }).click()
  await ana.ask('Who knows the albatross?')
  await shows(ana.entries.last().locator('blockquote')).toContainText('message 4321')
  await shows(ana.page.getByRole('complementary')).toContainText('14 of 20,004')
})

test('signed in, conversations are kept on the Worker; those of the browser move there', async () => {
  const context = await newContext()
  const ana = await newTab(context)
  await ana.ask(bicycle)
  const settings = await ana.openSettings()
  await shows(settings).toContainText('Its user is “developer”')
  await shows(settings).toContainText(/MB used of .*; the browser may clear it/)
  await ana.screenshot('settings')
  expect(await ana.barriers()).toEqual([])
  await settings.getByRole('button', { name: 'Sign in to the Worker' }).click()
  await shows(ana.page.getByText('1 conversation is still in this browser.')).toBeVisible()
  await ana.page.getByRole('button', { name: 'Move to the Worker' }).click()
  await shows(ana.conversations).toHaveCount(1)
  await ana.conversations.first().click()
  await shows(ana.entries).toHaveCount(2)
  await ana.ask('What did I say about my bicycle?')
  await shows(ana.entries.last().locator('blockquote')).toContainText(bicycle)

  // Another browser of the same user.
  const bo = await newTab(await newContext())
  await (await bo.openSettings()).getByRole('button', { name: 'Sign in to the Worker' }).click()
  await bo.conversations.first().click()
  await shows(bo.entries).toHaveCount(4)
  await ana.ask('It rains.')
  await shows(bo.entries).toHaveCount(6)

  // Another tab, in which it is deleted for good.
  const tab = await newTab(context)
  await shows(tab.conversations).toHaveText([
    'My bicycle is a green Pelikan, and its lock opens with 4711.',
  ])
  await tab.choose('My bicycle', 'Rename')
  await tab.page.getByLabel('Name of the conversation').fill('Pelikan')
  await tab.page.keyboard.press('Enter')
  await shows(ana.conversations).toHaveText(['Pelikan'])
  await tab.choose('Pelikan', 'Delete')
  await shows(ana.conversations).toHaveCount(0)
  await shows(ana.entries).toHaveCount(0)
  await shows(bo.page.getByText('This conversation was deleted.')).toBeVisible()

  await (await ana.openSettings()).getByRole('button', { name: 'Sign out' }).click()
  await shows(ana.page.getByText('No conversations yet.')).toBeVisible()
})

test('an OpenAI-compatible server answers, and an error of it is shown', async () => {
  let isBroken = false
  const requests: { readonly authorization: string | undefined; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    if (request.method === 'OPTIONS') return response.end()
    let body = ''
    for await (const piece of request) body += piece
    requests.push({ authorization: request.headers.authorization, body })
    if (isBroken) {
      response.writeHead(400, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ error: { message: 'No such model here' } }))
    }
    if (!body.includes('"stream":true')) {
      const message = { role: 'assistant', content: 'They greeted each other.' }
      response.setHeader('content-type', 'application/json')
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return response.end(JSON.stringify({ id: '1', choices }))
    }
    response.setHeader('content-type', 'text/event-stream')
    for (const content of ['Hello ', '**there**.']) {
      const choices = [{ index: 0, delta: { role: 'assistant', content } }]
      response.write(`data: ${JSON.stringify({ id: '1', choices })}\n\n`)
    }
    const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
    return response.end(`data: ${JSON.stringify({ id: '1', choices })}\n\ndata: [DONE]\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as { readonly port: number }
    const ana = await newTab(await newContext())
    const settings = await ana.openSettings()
    await settings.getByLabel('OpenAI-compatible server').check()
    await settings
      .getByRole('textbox', { name: 'Address', exact: true })
      .fill(`http://localhost:${port}/v1`)
    await settings.getByRole('textbox', { name: 'Model' }).fill('small')
    await settings.getByRole('textbox', { name: 'Key' }).fill('secret-of-the-test')
    await settings.getByRole('button', { name: 'Close settings' }).click()
    expect(await ana.ask('Hello')).toBe('Hello there.')
    expect(requests[0]?.authorization).toBe('Bearer secret-of-the-test')
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ model: 'small', stream: true })
    expect(requests[0]?.body).toContain('conversation_search')

    isBroken = true
    await ana.send('Are you there?')
    await shows(ana.page.getByRole('alert').filter({ hasText: 'No answer' })).toContainText(
      'No such model here',
    )
    await ana.page.getByRole('button', { name: 'Ask again' }).waitFor()
    await shows(ana.entries).toHaveCount(3)
    isBroken = false
    await ana.page.getByRole('button', { name: 'Ask again' }).click()
    await ana.waitForAnswer()
    await shows(ana.entries).toHaveCount(4)
    await shows(ana.page.getByText('No answer')).toHaveCount(0)

    // This model can summarise what is archived.
    await (await ana.openSettings()).getByLabel('Archive when there are more turns than').fill('2')
    await ana.page.getByRole('button', { name: 'Close settings' }).click()
    await ana.ask('Good evening')
    await shows(ana.page.locator('.summary')).toContainText('They greeted each other.')
    await shows(ana.page.locator('.archived')).toHaveCount(4)
    const [refused] = (ana.complaints as string[]).splice(0)
    expect(refused).toContain('400') // the browser's own line about the answer
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

/** A model that asks for `Pelikan` when it is asked what to search for a question with Which. */
const OWN_MODEL = `(conversation, constraint) => {
  const { content } = conversation.at(-1)
  if (constraint !== null) return JSON.stringify({ query: content.startsWith('Which') ? 'Pelikan' : '' })
  if (content.startsWith('Answer with')) return 'yes'
  return content.startsWith('(Found') ? 'It is green.' : 'Noted ' + conversation.length + '.'
}`

const STORY = `(conversation, constraint) => constraint !== null
  ? '{"query":""}'
  : conversation.at(-1).content.startsWith('Answer with') ? 'yes'
  : 'Once upon a time there was a lighthouse at the end of the world, and it shone happily ever after.'`

test('the browser’s own model searches first, then answers', async () => {
  const ana = await newTab(await newContext(), [promptApiFake({ answer: OWN_MODEL })])
  await shows(ana.page.locator('.model')).toContainText('Browser model')
  // The instructions and the question: what it was asked first is not in its way.
  expect(await ana.ask(bicycle)).toBe('Noted 2.')
  await ana.ask('Which colour is it?')
  await shows(ana.entries.last()).toContainText('conversation_search for “Pelikan”')
  await shows(ana.entries.last()).toContainText('It is green.')
  expect(await ana.page.evaluate('openSessions()')).toBe(0)
})

test('the browser’s own model is stopped, and keeps what it has said', async () => {
  const ana = await newTab(await newContext(), [promptApiFake({ answer: STORY, delay: 100 })])
  await ana.send('Tell me a story.')
  await shows(ana.entries.last()).toContainText('Once upon a')
  await ana.page.getByRole('button', { name: 'Stop' }).click()
  await shows(ana.page.getByText('Stopped here.')).toBeVisible()
  await shows.poll(() => ana.page.evaluate('openSessions()')).toBe(0)
  await shows(ana.entries.last()).toContainText('Once upon a')
  await shows(ana.entries.last()).not.toContainText('ever after')
})

test('the browser’s own model hears as much of the conversation as it has room for', async () => {
  const ana = await newTab(await newContext(), [
    promptApiFake({ answer: OWN_MODEL, contextWindow: 1200 }),
  ])
  for (const name of ['Anna', 'Bodo', 'Cleo', 'Dora', 'Emil']) {
    expect(await ana.ask(`${name} has ${'a very long beard and '.repeat(15)}a dog.`)).toMatch(
      /^Noted/,
    )
  }
  await ana.send('far too long '.repeat(200))
  await shows(ana.page.getByRole('alert').filter({ hasText: 'No answer' })).toContainText(
    'too long',
  )
  await shows(ana.entries).toHaveCount(11)
})

test('a model that cannot keep to the form answers without a search', async () => {
  const answer = `(conversation, constraint) => {
    if (constraint !== null) throw new DOMException('no such form', 'SyntaxError')
    return conversation.at(-1).content.startsWith('Answer with') ? 'yes' : 'It is green, I think.'
  }`
  const ana = await newTab(await newContext(), [promptApiFake({ answer })])
  expect(await ana.ask('Which colour is it?')).toBe('It is green, I think.')
})

test('the browser’s own model is downloaded when it is chosen, and not before', async () => {
  const downloadable = promptApiFake({ answer: OWN_MODEL, availability: 'downloadable' })
  const ana = await newTab(await newContext(), [downloadable])
  await shows(ana.page.locator('.model')).toContainText('Built-in stand-in')
  const settings = await ana.openSettings()
  await shows(settings).toContainText('The browser downloads it first')
  await downloadModel(ana, settings)
  await shows(settings).toContainText('The Prompt API; nothing leaves this device')
  await settings.getByRole('button', { name: 'Close settings' }).click()
  expect(await ana.ask(bicycle)).toBe('Noted 2.')

  const none = promptApiFake({
    answer: '(conversation) => "echo: " + conversation.at(-1).content',
    availability: 'downloadable',
  })
  const bo = await newTab(await newContext(), [none])
  const dialog = await bo.openSettings()
  await downloadModel(bo, dialog)
  await shows(dialog).toContainText('This browser has none')
  await shows(dialog.getByLabel('Automatic')).toBeChecked()
})

test('a model that cannot be asked: the reason, and nothing is lost', async () => {
  const ana = await newTab(await newContext())
  const reason = ana.page.getByRole('alert').filter({ hasText: 'No answer' })
  const setAddress = async (address: string) => {
    const settings = await ana.openSettings()
    await settings.getByLabel('OpenAI-compatible server').check()
    await settings.getByRole('textbox', { name: 'Address', exact: true }).fill(address)
    await settings.getByRole('button', { name: 'Close settings' }).click()
  }
  await setAddress('')
  await ana.send('Are you there?')
  await shows(reason).toContainText('The address of the model’s server is missing.')
  await shows(ana.entries).toHaveCount(1)
  const again = ana.page.getByRole('button', { name: 'Ask again' })
  for (const [address, says] of [
    ['localhost', '“localhost” is not the address of a server.'],
    // Nothing listens there.
    ['http://127.0.0.1:1/v1', 'http://127.0.0.1:1/v1/chat/completions cannot be reached'],
    [`${application.url.href}v1`, `${application.url.href}v1/chat/completions answered 404`],
  ] as const) {
    await setAddress(address)
    await again.click()
    await shows(reason).toContainText(says)
    await again.waitFor()
    await shows(ana.entries).toHaveCount(1)
  }
  // The browser's own lines about the two that were asked; the page adds none.
  const lines = (ana.complaints as string[]).splice(0)
  expect(lines.map((line) => line.replace(/.* http/, 'http'))).toEqual([
    'http://127.0.0.1:1/v1/chat/completions',
    `${application.url.href}v1/chat/completions`,
  ])
  await (await ana.openSettings()).getByLabel('Built-in stand-in').check()
  await ana.page.getByRole('button', { name: 'Close settings' }).click()
  await again.click()
  await ana.waitForAnswer()
  expect((await logOf(ana, 'Are you')).map(({ message }) => message.role)).toEqual([
    'user',
    'assistant',
  ])
})

test('a Worker that does not answer: the page says so, and what was written is not lost', async () => {
  const ana = await newTab(await newContext())
  const field = ana.page.getByLabel('Message', { exact: true })
  await (await ana.openSettings()).getByRole('button', { name: 'Sign in to the Worker' }).click()
  await shows(ana.page.getByText('Stored on the Worker')).toBeVisible()
  await ana.ask('The weather is fine.')
  expect(ana.complaints).toEqual([])

  await ana.page.route('**/api/**', (route) => route.fulfill({ status: 503 }))
  await ana.send('Is anybody there?')
  await shows(ana.page.getByRole('alert').filter({ hasText: 'It was not sent' })).toBeVisible()
  await shows(field).toHaveValue('Is anybody there?')
  await shows(ana.page.getByText('This conversation could not be read')).toBeVisible()
  await ana.page.getByRole('button', { name: 'Edit' }).click()
  await ana.page.getByLabel('Edit your message').fill('The weather is bad.')
  await field.fill('')
  await ana.page.getByRole('button', { name: 'Save and ask' }).click()
  await shows(field).toHaveValue('The weather is bad.')

  await ana.page.reload()
  await shows(ana.page.getByText('The conversations could not be read')).toBeVisible()
  await shows(ana.page.getByText('No conversations yet.')).toHaveCount(0)
  await ana.page.unroute('**/api/**')
  await ana.page.getByRole('navigation').getByRole('button', { name: 'Try again' }).click()
  await shows(ana.conversations.filter({ hasText: 'The weather is fine.' })).toHaveCount(1)
  await ana.page.getByRole('main').getByRole('button', { name: 'Try again' }).click()
  await shows(ana.entries).toHaveCount(2)
  await shows(ana.entries.first()).toContainText('The weather is fine.')
  const lines = (ana.complaints as string[]).splice(0)
  expect(lines.filter((line) => !line.includes('status of 503'))).toEqual([])

  // What was deleted is removed for good when the page is opened: that this fails is said as well.
  await ana.choose('The weather is fine.', 'Delete')
  await shows(ana.entries).toHaveCount(0)
  await ana.page.route('**/api/expired-sessions', (route) => route.fulfill({ status: 503 }))
  await ana.page.reload()
  await shows(ana.page.getByText('What was deleted is still in the store')).toBeVisible()
  expect((ana.complaints as string[]).splice(0)).toEqual(
    Array.from({ length: 3 }, () => expect.stringContaining('/api/expired-sessions')),
  )
})

test('on a phone, in the dark, and by keyboard alone', async () => {
  const context = await newContext({
    viewport: { width: 390, height: 780 },
    colorScheme: 'dark',
    hasTouch: true,
    isMobile: true,
  })
  const ana = await newTab(context)
  expect(await ana.barriers()).toEqual([])
  await ana.ask(bicycle)
  await ana.ask('What did I say about my bicycle?')
  await ana.screenshot('phone')
  expect(await ana.barriers()).toEqual([])
  const width = await ana.page.evaluate('document.documentElement.scrollWidth')
  expect(width).toBe(390)
  // The editor of the last question comes into sight as a whole.
  await ana.page.locator('.question').last().getByRole('button', { name: 'Edit' }).click()
  await shows(ana.page.getByRole('button', { name: 'Save and ask' })).toBeInViewport({ ratio: 1 })
  const [save, composer] = await Promise.all([
    ana.page.getByRole('button', { name: 'Save and ask' }).boundingBox(),
    ana.page.locator('.composer').boundingBox(),
  ])
  expect((save?.y ?? 0) + (save?.height ?? 0)).toBeLessThanOrEqual(composer?.y ?? 0)
  await ana.page.getByRole('button', { name: 'Cancel' }).click()
  const list = ana.page.getByRole('button', { name: 'Conversations', exact: true })
  await list.press('Enter')
  await shows(ana.conversations).toHaveCount(1)
  // Escape closes what is on top: the menu of a conversation, then what was searched, then the list.
  await ana.page.getByRole('button', { name: /^Actions/ }).press('Enter')
  await shows(ana.page.getByRole('button', { name: 'Rename' })).toBeVisible()
  await ana.page.keyboard.press('Escape')
  await shows(ana.page.getByRole('button', { name: 'Rename' })).toBeHidden()
  await shows(list).toHaveAttribute('aria-expanded', 'true')
  await ana.search('Pelikan')
  await ana.page.getByLabel('Search all conversations').press('Escape')
  await shows(ana.page.getByLabel('Search all conversations')).toHaveValue('')
  await shows(list).toHaveAttribute('aria-expanded', 'true')
  await ana.page.keyboard.press('Escape')
  await shows(ana.conversations.first()).toBeHidden()
})

test('by keyboard alone: asked, copied, renamed, searched, deleted and brought back', async () => {
  const context = await newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const ana = await newTab(context)
  const { keyboard } = ana.page
  /** Goes on with the tabulator until the focus is there. */
  const tabTo = async (name: RegExp) => {
    for (let press = 0; press < 60; press++) {
      await keyboard.press('Tab')
      const focused = await ana.page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
      )
      if (name.test(String(focused))) return
    }
    throw new Error(`the focus never came to ${name}`)
  }
  // One writes at once.
  await keyboard.type(bicycle)
  await keyboard.press('Enter')
  await ana.waitForAnswer()
  await shows(ana.page.locator('.chat > [role=status]')).toContainText('Answer: Stored.')
  await tabTo(/^Copy$/)
  await keyboard.press('Enter')
  await shows(ana.page.getByRole('button', { name: 'Copied' })).toBeVisible()
  expect(await ana.page.evaluate('navigator.clipboard.readText()')).toBe(bicycle)

  await tabTo(/^Actions for My bicycle/)
  await keyboard.press('Enter')
  await tabTo(/^Rename$/)
  await keyboard.press('Enter')
  await keyboard.type('Pelikan')
  await keyboard.press('Enter')
  await shows(ana.conversations).toHaveText(['Pelikan'])
  await tabTo(/^Search all conversations$/)
  await keyboard.type('4711')
  await shows(ana.page.locator('.hits mark')).toHaveText('4711')
  await tabTo(/bicycle is a green/)
  await keyboard.press('Enter')
  await shows(ana.page.locator('.target')).toBeFocused()
  await tabTo(/^Search all conversations$/)
  await keyboard.press('Escape')
  await tabTo(/^Actions for Pelikan/)
  await keyboard.press('Space')
  await tabTo(/^Delete$/)
  await keyboard.press('Space')
  await shows(ana.conversations).toHaveCount(0)
  await tabTo(/^Undo$/)
  await keyboard.press('Enter')
  await shows(ana.conversations).toHaveText(['Pelikan'])
})

test('the application’s own code stays within its budget', () => {
  const own = [...application.files].filter(
    ([path]) => path.endsWith('.js') && !/\/(?:react|ai-sdk|openai-compatible)-/.test(path),
  )
  const bytes = own.reduce((sum, [, code]) => sum + gzipSync(code).length, 0)
  console.log(`chat application: ${(bytes / 1000).toFixed(1)} kB gzip of its own, turnlog included`)
  expect(bytes).toBeLessThanOrEqual(BUDGET)
})

/** Chooses the browser's model, and lets its download go on to its end. */
async function downloadModel({ page }: Person, settings: Locator): Promise<void> {
  await settings.getByLabel('Browser model').check()
  await shows(settings).toContainText('The browser downloads it: 0%')
  await page.evaluate('continueDownload()')
  await shows(settings).toContainText('The browser downloads it: 42%')
  await page.evaluate('continueDownload()')
}

function readsOf(person: Person): Promise<number> {
  return person.page.evaluate('countedReads()') as Promise<number>
}

/** Waits until a number stays the same for a while. */
async function settles(look: () => Promise<number>): Promise<void> {
  for (let last = -1, now = await look(); now !== last; ) {
    last = now
    await new Promise((resolve) => setTimeout(resolve, 1500))
    now = await look()
  }
}

/** An exported conversation of so many messages, one of which speaks of an albatross. */
async function longConversation(count: number): Promise<string> {
  const sessions = createInMemorySessionService({ defaultUserId: 'me', timeToLive: null })
  const { id } = await sessions.create({ metadata: { title: 'A long conversation' } })
  const words = 'paper lantern harbour window garden letter station evening winter music'.split(' ')
  const text = (number: number) =>
    `This is message ${number} ${number === 4321 ? 'and it speaks of an albatross' : ''} about the ` +
    `${words[number % 10]} and the ${words[(number * 7 + 3) % 10]}.`
  await sessions.appendEvents(
    id,
    Array.from({ length: count }, (_, index) => ({
      id: `event-${index + 1}`,
      timestamp: 1_700_000_000_000 + index * 60_000,
      message: {
        role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: text(index + 1),
      },
    })),
  )
  let file = ''
  for await (const line of sessions.exportSession(id)) file += line
  return file
}
