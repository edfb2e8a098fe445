// The curl commands of docs/http-api.md, run one after the other against the Worker that is deployed, give
// the answers that stand below them. (Read here and sent by fetch: not every machine has curl.)
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sign } from 'hono/jwt'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../../../scripts/entries.ts'
import { type LocalWorker, startWorker } from '../../../scripts/local-worker.ts'

const secret = 'a secret of at least thirty-two bytes'
const document = readFileSync(join(root, 'docs/http-api.md'), 'utf8')

interface Example {
  readonly command: string
  /** The block below it and its language. */
  readonly answer: { readonly language: string; readonly text: string } | null
}

const examples: readonly Example[] = [
  ...document.matchAll(/```sh\n(.*?)\n```\n(?:```(json|text)\n(.*?)\n```)?/gs),
].map(([, command = '', language, text = '']) => ({
  command,
  answer: language === undefined ? null : { language, text },
}))

let worker: LocalWorker
let token: string
const files = new Map<string, string>()
beforeAll(async () => {
  worker = await startWorker({ entry: 'src/worker/deploy.ts', bindings: { JWT_SECRET: secret } })
  token = await sign({ sub: 'ana', exp: Math.floor(Date.now() / 1000) + 3600 }, secret)
})
afterAll(() => worker.close())

/** The words of a command as a shell takes them, variables filled in. */
function wordsOf(command: string): string[] {
  const filled = (text: string) =>
    text.replaceAll('$MEMORY', worker.url.origin).replaceAll('$TOKEN', token)
  const words = command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)
  return [...words].map(([, literal, quoted, bare]) => literal ?? filled(quoted ?? bare ?? ''))
}

async function curl(command: string): Promise<{ response: Response; output: string | null }> {
  const [name, ...words] = wordsOf(command)
  expect(name).toBe('curl')
  const headers = new Headers()
  let [url, method, body, output]: (string | null)[] = ['', null, null, null]
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string
    if (word === '-N') continue
    if (!word.startsWith('-')) {
      url = word
      continue
    }
    const value = words[++index] as string
    if (word === '-X') method = value
    else if (word === '-o') output = value
    else if (word === '-d') body = value
    else if (word === '--data-binary') body = files.get(value.slice(1)) ?? null
    else if (word === '-H')
      headers.append(...(value.split(/: (.*)/s).slice(0, 2) as [string, string]))
    else throw new Error(`${word} is not known here`)
  }
  const response = await fetch(url ?? '', {
    method: method ?? (body === null ? 'GET' : 'POST'),
    headers,
    ...(body ? { body } : {}),
  })
  return { response, output: output ?? null }
}

/** What a block says, with `…` for any text. */
const expected = (text: string): unknown =>
  JSON.parse(text, (_, value) => (value === '…' ? expect.any(String) : value))

test.each(examples.map((example) => [example.command.split('\n')[0], example] as const))(
  '%s',
  async (_, { command, answer }) => {
    const { response, output } = await curl(command)
    if (answer?.language === 'text') {
      const reader = response.body?.getReader()
      const wanted = answer.text.split('…')
      let text = ''
      while (!wanted.every((part) => text.includes(part))) {
        const piece = await reader?.read()
        if (piece === undefined || piece.done) break
        text += new TextDecoder().decode(piece.value)
      }
      await reader?.cancel()
      for (const part of wanted) expect(text).toContain(part)
      return
    }
    const text = await response.text()
    if (output !== null) files.set(output, text)
    if (answer === null) expect(response.ok, text).toBe(true)
    else if (response.headers.get('content-type') === 'application/x-ndjson') {
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines).toMatchObject(answer.text.split('\n').map(expected))
    } else expect(JSON.parse(text)).toMatchObject(expected(answer.text) as object)
  },
)

test('there are examples, and every code of the table is one', async () => {
  expect(examples.length).toBeGreaterThan(15)
  const { STATUS_OF } = await import('../../../src/wire/problem.ts')
  const table = [...document.matchAll(/^\| (\d{3}) +\| ([^|]+)\|/gm)].flatMap(
    ([, status, codes = '']) =>
      [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code, Number(status)]),
  )
  expect(Object.fromEntries(table)).toEqual(STATUS_OF)
})
