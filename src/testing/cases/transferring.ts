/** Transferring: a session as a file, lossless, and back into any store. */

import type { SessionService } from '../../core/session-service.ts'
import { assertEqual, assertFails } from '../assertions.ts'
import { answerEvent, boundaryCommit, createLog, userEvent } from '../sample-events.ts'
import type { CaseContext, StoreCase } from '../store-case.ts'

async function exportOf(service: SessionService, sessionId = 's'): Promise<string> {
  let file = ''
  for await (const line of service.exportSession(sessionId)) file += line
  return file
}

/** A session with boundaries, rewound and erased events, odd ids and a large text. */
async function createEventful({ service, repository, clock }: CaseContext): Promise<void> {
  await service.create({ id: 's', metadata: { title: 'Ünï "quoted"' }, timeToLive: null })
  await service.appendEvents('s', [
    userEvent('q1', 'first\nline', { branch: 'a.b', metadata: { n: [1, null] }, timestamp: 5 }),
    answerEvent('a1', '悬空 '.repeat(100_000)),
    userEvent('nul\u0000', 'third'),
    answerEvent('a2'),
  ])
  const { now } = clock
  await repository.commit(
    's',
    boundaryCommit(now, {
      summaries: ['sum1'],
      kept: [[3, 4]],
      through: 4,
      operationId: 'one',
    }),
  )
  await service.appendEvents('s', [userEvent('q3'), answerEvent('a3')])
  await service.rewind('s', { after: 'q3' })
  await service.appendEvent('s', answerEvent('a3 again'))
  await service.eraseEvent('s', 'a2')
  await repository.commit(
    's',
    boundaryCommit(now, {
      summaries: ['sum2'],
      kept: [[6, 8]],
      through: 8,
      operationId: 'two',
    }),
  )
}

export const transferringCases: readonly StoreCase[] = [
  {
    name: 'transferring: an exported session comes back the same, boundaries included',
    async run(context) {
      const { service, repository, clock } = context
      await createEventful(context)
      const { now } = clock
      const before = {
        session: await service.findById('s'),
        log: await service.getEvents('s'),
        view: await service.getEvents('s', { excludeArchived: true }),
        boundaries: await repository.readBoundaries('s', { now }),
      }
      const file = await exportOf(service)
      await service.delete('s')
      await service.importSession(file)
      assertEqual(await service.findById('s'), before.session, 'the session')
      assertEqual(await service.getEvents('s'), before.log, 'the log')
      assertEqual(await service.getEvents('s', { excludeArchived: true }), before.view, 'the view')
      assertEqual(
        (await repository.readBoundaries('s', { now })).map(({ createdAt: _, ...rest }) => rest),
        before.boundaries.map(({ createdAt: _, ...rest }) => rest),
        'the boundaries',
      )
      const line = (text: string) => text.split('\n').filter((part) => !part.includes('boundary'))
      assertEqual(line(await exportOf(service)), line(file), 'the file exported again')
    },
  },
  {
    name: 'transferring: importing twice changes nothing, under another id it is a copy',
    async run(context) {
      const { service } = context
      await createEventful(context)
      const file = await exportOf(service)
      const before = await service.getEvents('s')
      const version = await service.getEventVersion('s')
      await service.importSession(file)
      assertEqual(await service.getEvents('s'), before, 'the log')
      assertEqual(await service.getEventVersion('s'), version, 'the version')
      await service.importSession(file, { sessionId: 'copy' })
      assertEqual(
        (await service.getEvents('copy', { excludeArchived: true })).map(({ id }) => id),
        (await service.getEvents('s', { excludeArchived: true })).map(({ id }) => id),
        'the view of the copy',
      )
    },
  },
  {
    name: 'transferring: a file with a bad line changes nothing and says which line',
    async run(context) {
      const { service } = context
      await createEventful(context)
      const lines = (await exportOf(service)).split('\n')
      await service.delete('s')
      const last = lines.length - 2 // the file ends with a line feed
      const broken: readonly (readonly [string, string, number])[] = [
        ['no JSON', lines.with(last, '{').join('\n'), last + 1],
        ['a missing end', lines.slice(0, last).join('\n'), last + 1],
        ['a missing event', lines.toSpliced(2, 1).join('\n'), 3],
        ['a repeated event', lines.toSpliced(2, 0, lines[1] as string).join('\n'), 3],
      ]
      for (const [what, file, line] of broken) {
        const error = await assertFails(() => service.importSession(file), 'INVALID_IMPORT', what)
        assertEqual(error.details?.['line'], line, `the line of ${what}`)
        assertEqual(await service.findById('s'), null, `the session after ${what}`)
      }
    },
  },
  {
    name: 'transferring: another log of the same id is left alone',
    async run(context) {
      const { service } = context
      await createEventful(context)
      const file = await exportOf(service)
      await service.delete('s')
      const log = await createLog(service, 2)
      await assertFails(() => service.importSession(file), 'SESSION_EXISTS', 'importing over it')
      assertEqual(await service.getEvents('s'), log, 'the log')
    },
  },
]
