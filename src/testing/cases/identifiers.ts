/** Ids: any non-blank string up to 512 characters, kept as it is. */

import type { SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails } from '../assertions.ts'
import { idsOf, userEvent } from '../sample-events.ts'
import type { StoreCase } from '../store-case.ts'

const ODD_IDS: readonly string[] = [
  '5',
  '5.0',
  '007',
  '1e3',
  'true',
  'null',
  '-1',
  'chat/1',
  'a%2Fb',
  "it's",
  '"quoted"',
  '`back`',
  'semi;colon -- comment',
  '👩‍👩‍👧 family',
  '会话一',
  'e\u0301 decomposed',
  '\u00e9 composed',
  'nul\u0000inside',
  'nul\u0000',
  'line\nfeed\ttab',
  '__proto__',
  'constructor',
  '\uffff high',
  ' spaces around ',
  '.',
  '..',
  '?query#hash',
  '_%[a-z]*',
  'x'.repeat(300),
  '长'.repeat(512),
]

/** The methods that take no id of a session, or make one of it. */
type OtherMethod =
  | 'repository'
  | 'create'
  | 'findOrCreate'
  | 'listSessions'
  | 'deleteUser'
  | 'deleteExpiredSessions'
  | 'recallEvents'
  | 'importSession'
  | 'close'

/** A call of every method with the id of a session. */
function callsOf(
  service: SessionService,
): Readonly<Record<Exclude<keyof SessionService, OtherMethod>, (id: string) => Promise<unknown>>> {
  const first = (items: AsyncIterable<unknown>) => items[Symbol.asyncIterator]().next()
  const options = { trigger: () => true, strategy: () => null }
  return {
    findById: (id) => service.findById(id),
    update: (id) => service.update(id, {}),
    delete: (id) => service.delete(id),
    appendEvent: (id) => service.appendEvent(id, userEvent('a')),
    appendEvents: (id) => service.appendEvents(id, []),
    appendMessage: (id) => service.appendMessage(id, { role: 'user', content: 'a' }),
    getEvents: (id) => service.getEvents(id),
    getMessages: (id) => service.getMessages(id),
    findEvent: (id) => service.findEvent(id, 'a'),
    iterateEvents: (id) => first(service.iterateEvents(id)),
    getEventVersion: (id) => service.getEventVersion(id),
    compact: (id) => service.compact(id, options),
    rewind: (id) => service.rewind(id, { before: 'a' }),
    clearView: (id) => service.clearView(id),
    subscribe: (id) => service.subscribe(id, () => undefined),
    exportSession: (id) => first(service.exportSession(id)),
    eraseEvent: (id) => service.eraseEvent(id, 'a'),
  }
}

export const identifierCases: readonly StoreCase[] = [
  {
    name: 'identifiers: odd session ids keep sessions apart',
    async run({ service }) {
      for (const id of ODD_IDS) {
        assertEqual((await service.create({ id })).id, id, 'the id of the created session')
      }
      for (const [index, id] of ODD_IDS.entries()) {
        await service.appendEvent(id, userEvent('e', `text ${index}`))
      }
      for (const [index, id] of ODD_IDS.entries()) {
        assertEqual((await service.findById(id))?.id, id, 'the id found')
        const log = await service.getEvents(id)
        assertEqual(log.length, 1, `how many events ${JSON.stringify(id)} has`)
        assertEqual(log[0]?.message.content, `text ${index}`, `the text in ${JSON.stringify(id)}`)
        assertEqual(log[0]?.sessionId, id, 'the sessionId of its event')
      }
      const { sessions } = await service.listSessions({ order: 'created' })
      assertEqual(idsOf(sessions), [...ODD_IDS], 'the listed ids')
    },
  },
  {
    name: 'identifiers: odd event ids keep events apart',
    async run({ service, repository, clock }) {
      await service.create({ id: 's' })
      await service.appendEvents(
        's',
        ODD_IDS.map((id) => userEvent(id, 'x')),
      )
      const log = await service.getEvents('s')
      assertEqual(idsOf(log), [...ODD_IDS], 'the ids of the log')
      for (const [index, id] of ODD_IDS.entries()) {
        assertEqual((await service.appendEvent('s', userEvent(id))).seq, index + 1, 'a repeat')
        const found = await repository.findEvent('s', id, { now: clock.now })
        assertEqual(found?.seq, index + 1, `the seq of ${JSON.stringify(id)}`)
      }
      await service.eraseEvent('s', 'nul\u0000')
      const erased = (await service.getEvents('s')).filter(({ metadata }) => metadata['erased'])
      assertEqual(idsOf(erased), ['nul\u0000'], 'the erased events')
    },
  },
  {
    name: 'identifiers: odd user ids keep users apart',
    needs: ['users'],
    async run({ service }) {
      for (const [index, userId] of ODD_IDS.entries()) {
        assertEqual((await service.create({ id: `s${index}`, userId })).userId, userId, 'the user')
      }
      for (const [index, userId] of ODD_IDS.entries()) {
        const { sessions } = await service.listSessions({ userId })
        assertEqual(idsOf(sessions), [`s${index}`], `the sessions of ${JSON.stringify(userId)}`)
        assertEqual(
          await service.deleteUser(userId),
          1,
          `how many were ${JSON.stringify(userId)}'s`,
        )
      }
    },
  },
  {
    name: 'identifiers: odd branches are kept and told apart',
    async run({ service }) {
      await service.create({ id: 's' })
      const branches = [
        '',
        '.',
        '5',
        'a',
        'a.b',
        'a..b',
        'é',
        'e\u0301',
        "it's",
        'a\u0000',
        null,
        ...ODD_IDS,
      ]
      await service.appendEvents(
        's',
        branches.map((branch, index) => userEvent(`e${index}`, 'x', { branch })),
      )
      assertEqual(
        (await service.getEvents('s')).map(({ branch }) => branch),
        branches,
        'the branches of the log',
      )
      for (const [index, branch] of branches.entries()) {
        if (branch === null) continue
        const visible = idsOf(await service.getEvents('s', { branch }))
        const expected = branches.flatMap((other, position) =>
          other === null || other === branch || branch.startsWith(`${other}.`)
            ? [`e${position}`]
            : [],
        )
        assertEqual(visible, expected, `what ${JSON.stringify(branch)} (e${index}) sees`)
      }
    },
  },
  {
    name: 'identifiers: lone surrogates become U+FFFD, wherever the id is given',
    async run({ service }) {
      const lone = 'a\ud83d'
      assertEqual((await service.create({ id: lone })).id, 'a\ufffd', 'the id of the session')
      await assertFails(() => service.create({ id: lone }), 'SESSION_EXISTS', 'creating it again')
      await service.appendEvent(lone, userEvent('e\udc00', 'x', { branch: 'b\ud800' }))
      const repeat = await service.appendEvent('a\ufffd', userEvent('e\udc00'))
      assertEqual(repeat.id, 'e\ufffd', 'the id of the event')
      assertEqual(repeat.branch, 'b\ufffd', 'the branch of the event')
      assertEqual((await service.getEvents(lone, { branch: 'b\ud800' })).length, 1, 'its branch')
      await service.eraseEvent(lone, 'e\udc00')
      assertEqual(await service.delete(lone), true, 'delete')
    },
  },
  {
    name: 'identifiers: bad ones are refused by name, everywhere',
    async run({ service }) {
      await service.create({ id: 's' })
      const tooLong = 'x'.repeat(513)
      for (const bad of ['', ' \n\u00a0\u3000', tooLong, 5, {}, Symbol('s'), true]) {
        const id = bad as string
        const what = `${String(bad).slice(0, 20)} (${typeof bad})`
        for (const [method, call] of Object.entries(callsOf(service))) {
          await assertFails(() => call(id), 'INVALID_ARGUMENT', `${method}: ${what}`, ['sessionId'])
        }
        const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
          ['eventId', () => service.eraseEvent('s', id)],
          ['eventId', () => service.findEvent('s', id)],
          ['before', () => service.rewind('s', { before: id })],
          ['after', () => service.rewind('s', { after: id })],
          ['userId', () => service.deleteUser(id)],
          ['userId', () => service.create({ userId: id })],
          ['userId', () => service.findOrCreate({ userId: id })],
          ['userId', () => service.listSessions({ userId: id })],
          ['userId', () => service.recallEvents({}, { userId: id })],
          ['sessionId', () => service.importSession('', { sessionId: id })],
          ['userId', () => service.importSession('', { userId: id })],
        ]
        for (const [field, call] of calls) {
          await assertFails(call, 'INVALID_ARGUMENT', `${field}: ${what}`, [field])
        }
        await assertFails(
          () => service.appendEvent('s', userEvent(id, 'x')),
          'INVALID_EVENT',
          `event id: ${what}`,
          ['id'],
        )
      }
      await assertFails(() => service.create({ id: tooLong }), 'INVALID_ARGUMENT', 'a long id', [
        'id',
        '513',
      ])
      await assertFails(() => service.create({ id: 5 as never }), 'INVALID_ARGUMENT', 'a number', [
        'id',
      ])
      assertEqual((await service.listSessions()).sessions.length, 1, 'how many sessions there are')
      assertEqual(await service.getEvents('s'), [], 'the log')
    },
  },
]
