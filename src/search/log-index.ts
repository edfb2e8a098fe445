/** Finds the matches of a filter in the sealed part of one session's log. */

import type { EventFilter } from '../core/event-filter.ts'
import type { IndexPortion, LogIndex } from '../core/read-log.ts'
import { intersectRanges, type SeqRange, type SeqRanges } from '../core/seq-ranges.ts'
import {
  type Block,
  type BlockMatch,
  decodeBlock,
  isWithoutTerms,
  matchBlock,
  type StoredBlock,
} from './block.ts'
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
/** How many blocks are read at a time after the first one, and at most. */
const FEW_BLOCKS = 8
const MOST_BLOCKS = 32

/** Some groups of a directory. */
export interface DirectoryPortion {
  readonly entries: readonly DirectoryEntry[]
  /** `false`: a group is unreadable or missing (backwards, missing ones at the ends are not noticed). */
  readonly isWhole: boolean
}

/** The directory of a store, one group at first, then many at a time. */
export async function* directoryOf(
  source: BlockSource,
  backwards = false,
): AsyncGenerator<DirectoryPortion> {
  let from = backwards ? Number.MAX_SAFE_INTEGER : 0
  let expected = backwards ? null : 0
  for (let count = 1; from >= 0; count = GROUPS_AT_ONCE) {
    const groups = await source.readGroups(from, count, backwards)
    let isWhole = true
    const entries = groups.flatMap(({ number, group }) => {
      isWhole &&= expected === null || number === expected
      expected = backwards ? number - 1 : number + 1
      const decoded = tryDecode(() => decodeGroup(group))
      isWhole &&= decoded !== null
      return backwards ? [...(decoded ?? [])].reverse() : (decoded ?? [])
    })
    const isLast = groups.length < count
    if (isLast && expected !== null && !backwards) {
      const lastBlock = await source.lastBlock()
      isWhole &&= lastBlock === null || groupOf(lastBlock) < expected
    }
    if (!isWhole) source.damaged()
    yield { entries, isWhole }
    if (isLast) return
    from = expected ?? -1
  }
}

/** What a filter needs of some blocks, in their order; `null` for one that is missing or unreadable. */
export async function readBlocks(
  source: BlockSource,
  entries: readonly DirectoryEntry[],
  filter: EventFilter,
): Promise<readonly (Block | null)[]> {
  const stored = await source.readBlocks(entries.map(({ block }) => block))
  return entries.map(({ units, isWhole }, index) => {
    const block = stored[index] ?? null
    const isSound = block !== null && typeof block.text === 'string' && block.text.length === units
    // Most blocks that are read in vain are known by their texts; taking them apart takes longer.
    if (isSound && isWhole && isWithoutTerms(block.text, filter)) return NOTHING
    const content = isSound ? tryDecode(() => decodeBlock(block)) : null
    if (content === null) source.damaged()
    return content
  })
}

const NOTHING: Block = { entries: [], text: '' }

/** `null` when it is damaged: what it covers is looked at event by event, as if it were not sealed. */
function tryDecode<T>(decode: () => T): T | null {
  try {
    return decode()
  } catch {
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
      for await (const { entries } of directoryOf(source, backwards)) {
        for (const entry of entries) {
          for (const run of entry.runs) {
            if (run.session !== session || run.last < lowest || run.first > highest) continue
            const gap: SeqRange = backwards ? [run.last + 1, next] : [next, run.first - 1]
            if (gap[0] <= gap[1]) pending.push({ entry: null, range: gap })
            // What another block has covered is not given twice.
            const range: SeqRange = backwards
              ? [run.first, Math.min(run.last, next)]
              : [Math.max(run.first, next), run.last]
            if (range[0] > range[1]) continue
            next = backwards ? run.first - 1 : run.last + 1
            if (isCandidate(entry)) pending.push({ entry, range })
          }
        }
        while (pending.length > 0) {
          const batch = pending.slice(0, size)
          pending = pending.slice(size)
          size = size === 1 ? FEW_BLOCKS : Math.min(MOST_BLOCKS, size * 2)
          yield await look(walk, batch)
        }
        if (backwards ? next < lowest : next > highest) return
      }
      const gap: SeqRange = backwards ? [lowest, next] : [next, highest]
      if (gap[0] <= gap[1]) yield await look(walk, [{ entry: null, range: gap }])
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

/** A part of the log, and what the directory says of the block that covers it, if one does. */
interface Piece {
  readonly entry: DirectoryEntry | null
  readonly range: SeqRange
}

async function look(walk: Walk, pieces: readonly Piece[]): Promise<IndexPortion> {
  const entries = [...new Set(pieces.flatMap(({ entry }) => (entry === null ? [] : [entry])))]
  const blocks = await readBlocks(walk.source, entries, walk.filter)
  const seqs: number[] = []
  let certain = true
  for (const { entry, range } of walk.backwards ? [...pieces].reverse() : pieces) {
    const content = entry === null ? null : (blocks[entries.indexOf(entry)] ?? null)
    const wanted = intersectRanges([range], walk.ranges)
    if (content === null) {
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
