/** Everything that is answered, as Zod schemas, and what JSON Schema says of all schemas besides their form. */

import * as z from 'zod/mini'
import { MESSAGE_TYPES, type MessageType } from '../core/message.ts'
import { STATUS_OF } from '../wire/problem.ts'
import * as schemas from './schemas.ts'
import { count, jsonObject, message, ranges, seq } from './schemas.ts'

/** Notes on schemas; with an `id` one is a component of the document. */
export const notes = z.registry<{ readonly id?: string; readonly [note: string]: unknown }>()

const roles = MESSAGE_TYPES as readonly [MessageType, ...MessageType[]]
const instant = z.string()
notes.add(instant, { format: 'date-time' })
notes.add(jsonObject, { type: 'object' })
notes.add(message, {
  id: 'Message',
  type: 'object',
  required: ['role', 'content'],
  properties: {
    role: { enum: roles },
    content: {
      oneOf: [
        { type: 'string' },
        {
          type: 'array',
          items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
        },
      ],
    },
  },
})
notes.add(ranges, { id: 'Ranges', description: 'Inclusive ranges of seq.' })
notes.add(schemas.instantInput, {
  type: ['integer', 'string'],
  description: 'Epoch milliseconds, or ISO-8601 with seconds and zone.',
})
notes.add(schemas.timeToLive, {
  description:
    'Milliseconds from the creation, { sliding: milliseconds } from the last append, or null for ever. Default 60 days from the creation.',
})
notes.add(schemas.messageTypes, { items: { enum: roles } })
notes.add(schemas.matchMode, { enum: ['any', 'all'] })

function component<S extends z.core.$ZodType>(id: string, schema: S): S {
  notes.add(schema, { id })
  return schema
}

component('NewSession', schemas.newSession)
component('SessionChange', schemas.sessionChange)
component('NewEvent', schemas.newEvent)
component('NewEvents', schemas.newEvents)
component('Commit', schemas.commit)
component('EventFilter', schemas.eventFilter)
component('Query', schemas.query)
component('RecallQuery', schemas.recallQuery)

/** What an append may be. */
export const newEventOrEvents = component(
  'NewEventOrEvents',
  z.union([schemas.newEvent, schemas.newEvents]),
)

const boundary = component(
  'Boundary',
  z.object({
    id: z.string(),
    position: count,
    summaries: z.array(seq),
    kept: ranges,
    rewound: ranges,
    appended: count,
    createdAt: instant,
  }),
)

const session = component(
  'Session',
  z.object({
    id: z.string(),
    number: seq,
    userId: z.string(),
    createdAt: instant,
    expiresAt: z.nullable(instant),
    slidingTimeToLive: z.nullable(z.number()),
    metadata: jsonObject,
    eventCount: count,
    version: count,
    lastEventAt: z.nullable(instant),
    latestTimestamp: z.nullable(instant),
    boundary: z.nullable(boundary),
  }),
)

const place = { archived: z.boolean(), rewound: z.boolean(), latestTimestamp: instant }
const envelope = {
  id: z.string(),
  seq,
  timestamp: instant,
  branch: z.nullable(z.string()),
  synthetic: z.boolean(),
  ...place,
}
const event = component('Event', z.object({ ...envelope, message, metadata: jsonObject }))
const damagedEvent = component(
  'DamagedEvent',
  z.object({ ...envelope, message: z.null(), metadata: z.null(), role: z.enum(roles) }),
)
const unchangedEvent = component('UnchangedEvent', z.object({ id: z.string(), seq, ...place }))
const damage = component('Damage', z.object({ seq: count, reason: z.string() }))
const details = z.record(z.string(), z.nullable(z.union([z.string(), z.number(), z.boolean()])))

export const answers = {
  created: component('Created', z.object({ session, created: z.boolean() })),
  session: component('SessionAnswer', z.object({ session })),
  sessions: component(
    'SessionPage',
    z.object({ sessions: z.array(session), cursor: z.nullable(z.string()) }),
  ),
  deleted: component('Deleted', z.object({ deleted: z.boolean() })),
  deletedSessions: component('DeletedSessions', z.object({ deletedSessions: count })),
  user: component('User', z.object({ userId: z.string() })),
  read: component(
    'Read',
    z.object({
      session,
      events: z.array(event),
      damage: z.array(damage),
      next: z.nullable(z.string()),
    }),
  ),
  foundSession: component('FoundSession', z.object({ session: z.nullable(session) })),
  foundEvent: component(
    'FoundEvent',
    z.object({ event: z.nullable(z.union([event, damagedEvent])) }),
  ),
  committed: component(
    'Committed',
    z.object({ session, events: z.array(z.union([event, damagedEvent, unchangedEvent])) }),
  ),
  erased: component('Erased', z.object({ erased: z.boolean() })),
  boundaries: component('Boundaries', z.object({ boundaries: z.array(boundary) })),
  recall: component(
    'Recall',
    z.object({
      events: z.array(z.intersection(event, z.object({ sessionId: z.string() }))),
      damage: z.array(z.intersection(damage, z.object({ sessionId: z.string() }))),
      complete: z.boolean(),
    }),
  ),
  tools: component(
    'Tools',
    z.object({
      tools: z.array(
        z.object({ name: z.string(), description: z.string(), inputSchema: jsonObject }),
      ),
    }),
  ),
  toolResult: component('ToolResult', z.object({ result: z.string() })),
  problem: component(
    'Problem',
    z.object({
      title: z.string(),
      status: z.int(),
      code: z.enum(Object.keys(STATUS_OF) as [keyof typeof STATUS_OF]),
      detail: z.string(),
      details,
      requestId: z.string(),
    }),
  ),
} as const
