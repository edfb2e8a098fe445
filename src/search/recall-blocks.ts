/** Recall across sessions by the blocks: without opening a thousand sessions one by one. */

import type { LogSource } from '../core/read-log.ts'
import { RecallCollector } from '../core/recall.ts'
import type { RecallAnswer, RecallRequest, SessionRecord } from '../core/session-repository.ts'
import { type BlockMatch, matchBlock } from './block.ts'
import { candidateTest, type DirectoryEntry } from './directory.ts'
import { type BlockSource, directoryOf, readBlocks } from './log-index.ts'
import type { Tail } from './sealing.ts'

/** What a store gives for a recall, all of one moment. */
export interface RecallSource {
  readonly blocks: BlockSource
  /** The unsealed ends of all sessions that have one. */
  tails(): Promise<readonly Tail[]>
  /** The session with a number, when it is the request's user's and unexpired. */
  session(number: number): Promise<SessionRecord | null>
  /** All sessions of the request's user that have not expired. */
  sessions(): Promise<readonly SessionRecord[]>
  open(session: SessionRecord): LogSource
}

/** How many blocks are read at a time. */
const BLOCKS_AT_A_TIME = 16
/** How many matches, about, wait for their sessions to be read. */
const MATCHES_AT_A_TIME = 4096
/** How many unsealed ends are read at a time. */
const TAILS_AT_A_TIME = 8

/** See `SessionRepository.recallEvents`. */
export async function recallBlocks(
  request: RecallRequest,
  source: RecallSource,
): Promise<RecallAnswer> {
  const collector = new RecallCollector(request, source.open)
  const isCandidate = candidateTest(collector.filter)
  const known = new Map<number, Promise<SessionRecord | null>>()
  const sessionOf = (number: number) => {
    const found = known.get(number) ?? source.session(number)
    known.set(number, found)
    return found
  }

  const collect = async (found: readonly BlockMatch[]) => {
    await Promise.all(found.map(({ entry }) => sessionOf(entry.session)))
    for (const { entry, certain } of found) {
      const session = await sessionOf(entry.session)
      if (session === null) continue
      if (certain) collector.addPlace(session, entry.seq, entry.timestamp)
      else await collector.search(session, [entry.seq, entry.seq])
    }
  }

  const matches: BlockMatch[] = []
  const candidates: DirectoryEntry[] = []
  for await (const { entries, isWhole } of directoryOf(source.blocks)) {
    if (!isWhole) return recallWithoutBlocks(request, source)
    candidates.push(...entries.filter(isCandidate))
  }
  const read = (start: number) => {
    const batch = candidates.slice(start, start + BLOCKS_AT_A_TIME)
    const reading = readBlocks(source.blocks, batch, collector.filter)
    reading.catch(() => undefined) // told where it is awaited; that may be never
    return reading
  }
  for (let start = 0, next = read(0); start < candidates.length; start += BLOCKS_AT_A_TIME) {
    const blocks = await next
    // Under way while these are looked at.
    next = read(start + BLOCKS_AT_A_TIME)
    if (blocks.includes(null)) return recallWithoutBlocks(request, source)
    for (const content of blocks) {
      if (content !== null) matches.push(...matchBlock(content, collector.filter, () => true))
    }
    if (matches.length >= MATCHES_AT_A_TIME) await collect(matches.splice(0))
  }
  await collect(matches)
  const tails = await source.tails()
  for (let start = 0; start < tails.length; start += TAILS_AT_A_TIME) {
    await Promise.all(
      tails.slice(start, start + TAILS_AT_A_TIME).map(async (tail) => {
        const session = await sessionOf(tail.session)
        if (session !== null) await collector.search(session, [tail.first, tail.last])
      }),
    )
  }
  return collector.finish()
}

/** The blocks are damaged: every log is looked at itself. */
async function recallWithoutBlocks(request: RecallRequest, source: RecallSource) {
  const collector = new RecallCollector(request, (session) => {
    return { ...source.open(session), index: undefined }
  })
  for (const session of await source.sessions()) await collector.search(session)
  return collector.finish()
}
