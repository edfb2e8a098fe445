/** Matching: keywords are literal substrings of the text after folding, in any script. */

import type { Message } from '../../core/message.ts'
import type { SessionService } from '../../core/session-service.ts'
import { assertEqual } from '../assertions.ts'
import { idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

/** Stores each text as an event whose id is the text, and says which ones a keyword finds. */
async function searchIn(service: SessionService, texts: readonly string[]) {
  await service.create({ id: 's' })
  await service.appendEvents(
    's',
    texts.map((text, index) => userEvent(`e${index}`, text)),
  )
  return async (keyword: string): Promise<string[]> => {
    const found = await service.getEvents('s', { keyword })
    return found.map(({ message }) => message.content as string)
  }
}

export const matchingCases: readonly StoreCase[] = [
  {
    name: 'matching: case of every script is folded',
    async run({ service }) {
      const find = await searchIn(service, [
        'Привіт, світе',
        'ÉCOLE',
        'HELLO',
        'ΟΔΌΣ',
        'Straße',
        'İSTANBUL',
        'ǅungla',
      ])
      assertEqual(await find('привіт'), ['Привіт, світе'], 'Cyrillic')
      assertEqual(await find('СВІТЕ'), ['Привіт, світе'], 'Cyrillic, upper')
      assertEqual(await find('école'), ['ÉCOLE'], 'é')
      assertEqual(await find('ecole'), [], 'e is not é')
      assertEqual(await find('hello'), ['HELLO'], 'ASCII')
      assertEqual(await find('οδός'), ['ΟΔΌΣ'], 'final sigma')
      assertEqual(await find('οδόσ'), ['ΟΔΌΣ'], 'sigma')
      assertEqual(await find('STRASSE'), ['Straße'], 'sharp s')
      assertEqual(await find('istanbul'), ['İSTANBUL'], 'dotted capital I')
      assertEqual(await find('ǆUNGLA'), ['ǅungla'], 'a digraph')
    },
  },
  {
    name: 'matching: compatibility forms and decomposed characters are folded',
    async run({ service }) {
      const find = await searchIn(service, [
        'cafe\u0301 noir',
        'caf\u00e9 au lait',
        'ＡＢＣ１２３',
        'ﬃ ligature',
        'hello\u00a0world',
        '한국어',
        '\u1112\u1161\u11ab 분해',
        'οδοστρωτήρας',
      ])
      assertEqual(await find('café'), ['cafe\u0301 noir', 'caf\u00e9 au lait'], 'composed')
      assertEqual(await find('CAFE\u0301'), ['cafe\u0301 noir', 'caf\u00e9 au lait'], 'decomposed')
      assertEqual(await find('abc123'), ['ＡＢＣ１２３'], 'full width')
      assertEqual(await find('ffi'), ['ﬃ ligature'], 'a ligature')
      assertEqual(await find('hello world'), ['hello\u00a0world'], 'a no-break space')
      assertEqual(await find('ΟΔΟΣ'), ['οδοστρωτήρας'], 'a sigma that is the last of the keyword')
      assertEqual(await find('ρασ'), ['οδοστρωτήρας'], 'one that is the last of the text')
      assertEqual(await find('한'), ['한국어', '\u1112\u1161\u11ab 분해'], 'Hangul')
    },
  },
  {
    name: 'matching: one and two characters, in scripts without spaces too',
    async run({ service }) {
      const text = '重跑gen-itgc后50条悬空引用清零'
      const find = await searchIn(service, [text, 'a db row', '日本語のテキスト', 'x'])
      for (const keyword of ['悬空', '空', 'itgc', 'gen-itgc', '50条', '零']) {
        assertEqual(await find(keyword), [text], keyword)
      }
      assertEqual(await find('db'), ['a db row'], 'db')
      assertEqual(await find('テキ'), ['日本語のテキスト'], 'two kana')
      assertEqual(await find('x'), ['日本語のテキスト', 'x'].slice(1), 'x')
      assertEqual(await find('空悬'), [], 'two characters in the wrong order')
    },
  },
  {
    name: 'matching: wildcards, quotes, operators and escapes mean themselves',
    async run({ service }) {
      const texts = [
        '100%',
        '100 percent',
        'user_id',
        'userXid',
        'C:\\temp',
        'POL-358',
        "don't",
        'say "hi"',
        'a:b',
        'GB/s',
        '(x',
        'a*b',
        'a^b',
        'NEAR',
        'x AND y',
        'a.c',
        'abc',
        '[set]',
        'a\nb',
        'tab\tbed',
        '\\u0041',
        '?',
        "'); DROP TABLE events; --",
      ]
      const find = await searchIn(service, texts)
      for (const text of texts)
        assertEqual((await find(text)).includes(text), true, `${text} itself`)
      assertEqual(await find('100%'), ['100%'], 'a percent sign')
      assertEqual(await find('%'), ['100%'], 'a percent sign alone')
      assertEqual(await find('user_id'), ['user_id'], 'an underscore')
      assertEqual(await find('\\t'), ['C:\\temp'], 'a backslash and t')
      assertEqual(await find('a.c'), ['a.c'], 'a dot')
      assertEqual(await find('"--flag"'), [], 'a quoted flag')
      assertEqual(await find('*'), ['a*b'], 'an asterisk')
      assertEqual(await find('['), ['[set]'], 'a bracket')
      assertEqual(await find("''"), [], 'two quotes')
      assertEqual(await find('a\nb'), ['a\nb'], 'a line feed')
    },
  },
  {
    name: 'matching: keywords longer than what SQL patterns may be',
    async run({ service }) {
      const ascii = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'
      const chinese = '重跑后条悬空引用清零并检查所有结果是否一致无误再报告'
      const emoji = '😀😁😂🤣😃😄😅😆😉😊😋😎😍😘'
      const long = 'word '.repeat(1000)
      const find = await searchIn(service, [
        `<${ascii}>`,
        `<${chinese}>`,
        `<${emoji}>`,
        `<${long}>`,
      ])
      assertEqual(await find(ascii.slice(0, 49)), [`<${ascii}>`], '49 ASCII characters')
      assertEqual(await find(chinese.slice(0, 17)), [`<${chinese}>`], '17 Chinese characters')
      assertEqual(await find(emoji.slice(0, 26)), [`<${emoji}>`], '13 emoji')
      assertEqual(await find(long), [`<${long}>`], '5,000 characters')
      assertEqual(await find(`${long}more`), [], '5,004 characters that are nowhere')
    },
  },
  {
    name: 'matching: any and all of many keywords',
    async run({ service }) {
      await service.create({ id: 's' })
      await service.appendEvents('s', [
        userEvent('e1', 'red apple'),
        userEvent('e2', 'green apple'),
        userEvent('e3', 'red car'),
        userEvent('e4', 'blue boat'),
      ])
      const find = async (keywords: string[], matchMode?: 'any' | 'all', more: object = {}) =>
        idsOf(await service.getEvents('s', { keywords, matchMode, ...more }))
      assertEqual(await find(['RED', 'Apple']), ['e1', 'e2', 'e3'], 'any by default')
      assertEqual(await find(['RED', 'Apple'], 'all'), ['e1'], 'all')
      assertEqual(await find(['red', ' ', ''], 'all'), ['e1', 'e3'], 'blank ones are dropped')
      assertEqual(
        await find(['apple', 'car'], 'any', { keyword: 'red' }),
        ['e1', 'e3'],
        'and a keyword',
      )
      const many = Array.from({ length: 120 }, (_, index) => `none${index}`)
      assertEqual(await find([...many, 'boat']), ['e4'], '121 keywords')
      assertEqual(await find([...many, 'boat'], 'all'), [], 'all of 121 keywords')
      const types = Array.from({ length: 200 }, () => 'user' as const)
      assertEqual(await find(['boat'], 'any', { messageTypes: types }), ['e4'], '200 message types')
    },
  },
  {
    name: 'matching: text is the text parts, joined by a line feed; nothing else is searched',
    async run({ service }) {
      await service.create({ id: 's' })
      const append = (id: string, message: unknown, more: object = {}) =>
        service.appendEvent('s', { id, message: message as Message, ...more })
      await append('parts', {
        role: 'user',
        content: [
          { type: 'text', text: 'naïve first' },
          { type: 'file', mediaType: 'text/plain', data: 'first in a file' },
          { type: 'text', text: 'second' },
        ],
      })
      await append('calls', {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'first thought' },
          { type: 'tool-call', toolCallId: 'c', toolName: 'first', input: { first: 'first' } },
        ],
      })
      await append('result', {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'first', output: 'first' }],
      })
      await append(
        'meta',
        { role: 'user', content: 'x' },
        { metadata: { first: 'first' }, branch: 'first' },
      )
      await append('empty', { role: 'user', content: '' })
      const find = async (keyword: string) => idsOf(await service.getEvents('s', { keyword }))
      assertEqual(await find('first'), ['parts'], 'a word in parts of all kinds')
      assertEqual(await find('NAÏVE'), ['parts'], 'an accented word')
      assertEqual(await find('first\nsecond'), ['parts'], 'over two text parts')
      assertEqual(await find('first second'), [], 'over two text parts with a space')
      assertEqual(await find('content'), [], 'a key of the JSON')
    },
  },
  {
    name: 'matching: a page of a search counts matches only, oldest first',
    async run({ service }) {
      await service.create({ id: 's' })
      const texts = Array.from({ length: 300 }, (_, index) =>
        index % 3 === 0 ? `needle ${index}` : `hay ${index}`,
      )
      await service.appendEvents(
        's',
        texts.map((text, index) => userEvent(`e${index}`, text)),
      )
      const expected = texts.flatMap((text, index) =>
        text.startsWith('needle') ? [`e${index}`] : [],
      )
      const walked: string[] = []
      for (let page = 0; page < 12; page++) {
        walked.push(
          ...idsOf(await service.getEvents('s', { keyword: 'needle', page, pageSize: 9 })),
        )
      }
      assertEqual(walked, expected, 'all pages together')
      assertEqual(
        await service.getEvents('s', { keyword: 'needle', page: 12, pageSize: 9 }),
        [],
        'the page past the end',
      )
      assertEqual(
        idsOf(await service.getEvents('s', { keyword: 'needle', lastN: 4 })),
        expected.slice(-4),
        'the newest four',
      )
    },
  },
]
