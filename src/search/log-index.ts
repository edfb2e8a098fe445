/** Finds the matches of a filter in the sealed part of one session's log. */

import type { EventFilter } from '../core/event-filter.ts'
import type { IndexPortion, LogIndex } from '../core/read-log.ts'
import { intersectRanges, type SeqRange, type SeqRanges } from '../core/seq-ranges.ts'
import { type BlockMatch, decodeBlock, matchBlock, type StoredBlock } from './block.ts'
import {
  candidateTest,
  type DirectoryEntry,
  decodeGroup,
  groupOf,
  type StoredGroup,
} from './directory.ts'

/** How a store gives its blocks. */
export interface BlockSource {
  /** Up to `count` groups from number `from` on (backwards: down), in that direction. */
  readGroups(
    from: number,
    count: number,
    backwards: boolean,
  ): Promise<readonly { readonly number: number; readonly group: StoredGroup }[]>
  /** The blocks of these numbers, in their order; `null` for one that is missing. */
  readBlocks(blocks: readonly number[]): Promise<readonly (StoredBlock | null)[]>
  /** The highest number of a block; `null` when there is none. */
  lastBlock(): Promise<number | null>
  /** Told of what is missing or damaged, so that everything is sealed anew. */
  damaged(): void
}

/** How many groups are read after the first one, which often is enough. */
const GROUPS_AT_ONCE = 64
/** How many blocks are read at a time at most. */
const MOST_BLOCKS = 16

/**
 * The groups of a store's directory, one at first, then many at a time; `null` for those that are
 * unreadable or missing (backwards, missing ones at the ends are not noticed).
 */
export async function* directoryOf(
  source: BlockSource,
  backwards = false,
): AsyncGenerator<readonly DirectoryEntry[] | null> {
  let from = backwards ? Number.MAX_SAFE_INTEGER : 0
  let expected = backwards ? null : 0
  for (let count = 1; ; count = GROUPS_AT_ONCE) {
    const groups = await source.readGroups(from, count, backwards)
    for (const { number, group } of groups) {
      if (expected !== null && number !== expected) {
        source.damaged()
        yield null
      }
      expected = backwards ? number - 1 : number + 1
      const entries = tryDecode(source, () => decodeGroup(group))
      yield entries !== null && backwards ? [...entries].reverse() : entries
    }
    const last = groups.at(-1)
    if (last === undefined || groups.length < count) break
    from = backwards ? last.number - 1 : last.number + 1
    if (from < 0) return
  }
  if (expected === null || backwards) return
  const lastBlock = await source.lastBlock()
  if (lastBlock !== null && groupOf(lastBlock) >= expected) {
    source.damaged()
    yield null
  }
}

/** Decoded blocks, in the order of `numbers`; `null` for one that is missing or unreadable. */
export async function readBlocks(source: BlockSource, numbers: readonly number[]) {
  const stored = await source.readBlocks(numbers)
  return stored.map((block) => {
    if (block !== null) return tryDecode(source, () => decodeBlock(block))
    source.damaged()
    return null
  })
}

/** `null` when it is damaged: what it covers is looked at event by event, as if it were not sealed. */
function tryDecode<T>(source: BlockSource, decode: () => T): T | null {
  try {
    return decode()
  } catch {
    source.damaged()
    return null
  }
}

/**
 * The index over the events of `session` up to `through`. What no readable block covers is given as
 * uncertain, so that an answer never depends on the blocks being whole.
 */
export function createLogIndex(
  source: BlockSource,
  session: number,
  through: number,
  worthwhile: number,
): LogIndex {
  return {
    worthwhile,
    through,
    async *match(filter, ranges, backwards) {
      const [lowest, highest] = [ranges[0]?.[0] ?? 1, ranges.at(-1)?.[1] ?? 0]
      const isCandidate = candidateTest(filter)
      const walk: Walk = { source, session, filter, ranges, backwards }
      let pending: Piece[] = []
      /** The next event that no block has covered yet. */
      let next = backwards ? highest : lowest
      let size = 1
      for await (const entries of directoryOf(source, backwards)) {
        for (const entry of entries ?? []) {
          for (const run of entry.runs) {
            if (run.session !== session || run.last < lowest || run.first > highest) continue
            const gap: SeqRange = backwards ? [run.last + 1, next] : [next, run.first - 1]
            if (gap[0] <= gap[1]) pending.push({ block: null, range: gap })
            // What another block has covered is not given twice.
            const range: SeqRange = backwards
              ? [run.first, Math.min(run.last, next)]
              : [Math.max(run.first, next), run.last]
            if (range[0] > range[1]) continue
            next = backwards ? run.first - 1 : run.last + 1
            if (isCandidate(entry)) pending.push({ block: entry.block, range })
          }
        }
        while (pending.length > 0) {
          const batch = pending.slice(0, size)
          pending = pending.slice(size)
          size = Math.min(MOST_BLOCKS, size * 2)
          yield await look(walk, batch)
        }
        if (backwards ? next < lowest : next > highest) return
      }
      const gap: SeqRange = backwards ? [lowest, next] : [next, highest]
      if (gap[0] <= gap[1]) yield await look(walk, [{ block: null, range: gap }])
    },
  }
}

interface Walk {
  readonly source: BlockSource
  readonly session: number
  readonly filter: EventFilter
  readonly ranges: SeqRanges
  readonly backwards: boolean
}

/** A part of the log, and the block that covers it, if one does. */
interface Piece {
  readonly block: number | null
  readonly range: SeqRange
}

async function look(walk: Walk, pieces: readonly Piece[]): Promise<IndexPortion> {
  const numbers = [...new Set(pieces.flatMap(({ block }) => (block === null ? [] : [block])))]
  const blocks = await readBlocks(walk.source, numbers)
  const seqs: number[] = []
  let certain = true
  for (const { block, range } of walk.backwards ? [...pieces].reverse() : pieces) {
    const content = block === null ? null : blocks[numbers.indexOf(block)]
    const wanted = intersectRanges([range], walk.ranges)
    if (content === null || content === undefined) {
      certain = false
      for (const [first, last] of wanted) for (let seq = first; seq <= last; seq++) seqs.push(seq)
      continue
    }
    const matches: BlockMatch[] = matchBlock(content, walk.filter, ({ session, seq }) => {
      return session === walk.session && wanted.some(([first, last]) => seq >= first && seq <= last)
    })
    for (const match of matches) {
      seqs.push(match.entry.seq)
      certain &&= match.certain
    }
  }
  const last = pieces.at(-1)?.range ?? [0, 0]
  return { seqs, certain, covered: walk.backwards ? last[0] : last[1] }
}
