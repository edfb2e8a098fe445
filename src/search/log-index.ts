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
import { unlessDamaged } from './unless-damaged.ts'

/** How a store gives its blocks. */
export interface BlockSource {
  /** The groups of these numbers, ascending; missing ones are left out. */
  readGroups(range: SeqRange): Promise<readonly StoredGroup[]>
  /** The blocks of these numbers, in their order; `null` for one that is missing. */
  readBlocks(blocks: readonly number[]): Promise<readonly (StoredBlock | null)[]>
  /** The highest numbers of a group and of a block; `null` where there is none. */
  readEnds(): Promise<{ readonly group: number | null; readonly block: number | null }>
  /** Told of what is missing or damaged, so that everything is sealed anew. */
  damaged(): void
}

/** How many groups are asked for at once; measured, a few in each request, all under way, are read soonest. */
const GROUPS_IN_REQUEST = 4
const REQUESTS_AT_ONCE = 16
/** How many blocks are read at a time after the first one, when it held no match, and at most. */
const FEW_BLOCKS = 8
const MOST_BLOCKS = 32
/** So many times the blocks that should hold what is still wanted are read next. */
const GENEROSITY = 1.5

/** Some groups of a directory. */
export interface DirectoryPortion {
  readonly entries: readonly DirectoryEntry[]
  /** `false`: a group is unreadable or missing. */
  readonly isWhole: boolean
}

/** The directory of a store, one group at first, which often is enough, then many at a time. */
export async function* directoryOf(
  source: BlockSource,
  backwards = false,
): AsyncGenerator<DirectoryPortion> {
  const { group, block } = await source.readEnds()
  const last = Math.max(group ?? -1, block === null ? -1 : groupOf(block))
  for (let done = 0, count = 1; done <= last; count = GROUPS_IN_REQUEST * REQUESTS_AT_ONCE) {
    const end = Math.min(last + 1, done + count)
    const numbers: SeqRange = backwards ? [last + 1 - end, last - done] : [done, end - 1]
    const groups = await readGroups(source, numbers)
    const decoded = groups.map((stored) => unlessDamaged(() => decodeGroup(stored)))
    const isWhole = groups.length === end - done && !decoded.includes(null)
    if (!isWhole) source.damaged()
    const entries = decoded.flatMap((found) => found ?? [])
    yield { entries: backwards ? entries.reverse() : entries, isWhole }
    done = end
  }
}

async function readGroups(
  source: BlockSource,
  [first, last]: SeqRange,
): Promise<readonly StoredGroup[]> {
  const requests: SeqRange[] = []
  for (let next = first; next <= last; next += GROUPS_IN_REQUEST) {
    requests.push([next, Math.min(last, next + GROUPS_IN_REQUEST - 1)])
  }
  return (await Promise.all(requests.map((range) => source.readGroups(range)))).flat()
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
    const content = isSound ? unlessDamaged(() => decodeBlock(block)) : null
    if (content === null) source.damaged()
    return content
  })
}

const NOTHING: Block = { entries: [], text: '' }

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
    async *match(filter, ranges, backwards, wanted) {
      const [lowest, highest] = [ranges[0]?.[0] ?? 1, ranges.at(-1)?.[1] ?? 0]
      const isCandidate = candidateTest(filter)
      const walk: Walk = { source, session, filter, ranges, backwards }
      let pending: Piece[] = []
      /** The next event that no block has covered yet. */
      let next = backwards ? highest : lowest
      let size = 1
      let [looked, found] = [0, 0]
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
          const portion = await look(walk, batch)
          looked += batch.length
          found += portion.seqs.length
          const isLate = wanted === null || found === 0
          const enough = isLate ? 2 * looked : (GENEROSITY * (wanted - found) * looked) / found
          size = Math.min(MOST_BLOCKS, Math.max(isLate ? FEW_BLOCKS : 1, Math.ceil(enough)))
          yield portion
        }
        if (backwards ? next < lowest : next > highest) return
        // Nothing in the first group: it is not a common word.
        if (looked === 0) size = FEW_BLOCKS
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
