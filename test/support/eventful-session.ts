// A session to which everything has happened, and what must be the same of it in every store.
import {
  CONVERSATION_ID,
  createSessionEventTools,
  type JsonValue,
  type SessionEvent,
  type SessionService,
  turnWindow,
} from 'turnlog'
import { callsTools, says, toolAnswers, turns } from './conversation.ts'

/** Creates a session that was compacted three times, rewound, cleared, branched and partly erased. */
export async function createEventfulSession(service: SessionService, id = 's'): Promise<void> {
  const always = () => true
  await service.create({ id, metadata: { title: 'Olá 👋', nested: { list: [1, null, '2'] } } })
  await service.appendEvents(id, turns(3))
  await service.compact(id, {
    trigger: always,
    strategy: (view) => ({
      summaries: [
        { message: says('user', 'And so far?'), timestamp: 5 },
        { message: says('assistant', 'Three questions.'), metadata: { by: 'hand' } },
      ],
      keep: view.slice(-2).map((event) => event.id),
    }),
  })
  await service.appendEvents(id, [
    { id: 'b1', message: says('user', 'delegated'), branch: 'root.a' },
    { id: 'c1', message: callsTools('A', 'B'), metadata: { model: 'm' } },
    { id: 'r1', message: toolAnswers('B', 'A') },
    {
      id: 'i1',
      message: {
        role: 'user',
        content: [
          { type: 'text', text: 'straße\u0000 "quoted"\nline \u2028' } as never,
          { type: 'image', image: new Uint8Array([1, 2, 255]), mediaType: 'image/png' } as never,
        ],
      },
      timestamp: '2001-02-03T04:05:06.789+02:00',
    },
    ...turns(3, 4),
  ])
  await service.rewind(id, { before: 'u6' })
  await service.appendEvents(id, turns(2, 7))
  await service.compact(id, { trigger: always, strategy: turnWindow({ maxTurns: 2 }) })
  await service.appendEvents(id, turns(1, 9))
  await service.eraseEvent(id, 'u2')
  await service.clearView(id)
  await service.appendEvents(id, turns(3, 10))
  await service.rewind(id, { after: 'u12' })
  await service.compact(id, {
    trigger: always,
    strategy: (view) => ({
      summaries: [{ message: says('system', 'So far: a lot.') }],
      keep: view.slice(-3).map((event) => event.id),
    }),
  })
  await service.appendMessage(id, says('assistant', 'the end'), { id: 'end' })
}

const QUERIES = [
  'question',
  'answer 1',
  'STRASSE',
  'so far',
  'delegated',
  'the end',
  'nothing',
  'u',
]

/** What everybody can see of a session, as plain data. */
export async function snapshotOf(service: SessionService, id = 's'): Promise<JsonValue> {
  const [tool] = createSessionEventTools(service, { pageSize: 3 })
  const answers: Record<string, string[]> = {}
  for (const query of QUERIES) {
    answers[query] = []
    for (let page = 0; page < 6; page++) {
      const args = { innerThought: '', query, page }
      answers[query].push(await tool.execute(args, { [CONVERSATION_ID]: id }))
    }
  }
  const plain = (events: readonly SessionEvent[]) =>
    events.map((event) => ({ ...event, timestamp: event.timestamp.getTime() }))
  const { sessionId: _, ...session } = { sessionId: id, ...(await service.findById(id)) }
  return JSON.parse(
    JSON.stringify({
      session,
      version: await service.getEventVersion(id),
      log: plain(await service.getEvents(id)),
      view: plain(await service.getEvents(id, { excludeArchived: true })),
      answers,
    }),
  )
}

/** A session as one text. */
export async function exportText(service: SessionService, id = 's'): Promise<string> {
  let text = ''
  for await (const line of service.exportSession(id)) text += line
  return text
}
