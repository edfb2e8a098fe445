/** Sealing: what a store writes when enough events have gathered at the ends of its logs. */

import type { Damage } from '../core/session-repository.ts'
import {
  BLOCK_LIMITS,
  BlockBuilder,
  type BlockLimits,
  type BlockRecord,
  encodeBlock,
  type StoredBlock,
} from './block.ts'
import {
  type DirectoryEntry,
  decodeGroup,
  encodeGroup,
  entryOf,
  isFirstOfGroup,
  type StoredGroup,
} from './directory.ts'
import { unlessDamaged } from './unless-damaged.ts'

/** The unsealed end of a session's log. */
export interface Tail {
  /** The session's number in its store. */
  readonly session: number
  /** The first `seq` that is in no block. */
  readonly first: number
  /** The last `seq` of the log. */
  readonly last: number
}

/** How the search structure is built and when it is asked. */
export interface SearchSettings {
  readonly limits: BlockLimits
  /** For fewer events of a session, the events themselves are read. */
  readonly worthwhile: number
}

/** What all stores use; tests take smaller blocks, to meet every edge. */
export const SEARCH_SETTINGS: SearchSettings = {
  limits: BLOCK_LIMITS,
  worthwhile: 2 * BLOCK_LIMITS.events,
}

/** Some tails. */
export interface Tails {
  readonly tails: readonly Tail[]
  /** Whether there are no others. */
  readonly isAll: boolean
}

/** How many events the tails hold together. */
export function countTails(tails: readonly Tail[]): number {
  return tails.reduce((sum, { first, last }) => sum + last - first + 1, 0)
}

/** How many events are read first, when nobody knows how large they are. */
const FIRST_PORTION = 32

/** Makes one block of events that are offered in the order of their tails. */
export class Sealing {
  readonly #limits: BlockLimits
  readonly #builder: BlockBuilder
  readonly #firsts = new Map<number, number>()
  readonly #expectedLength: number
  #offered = 0
  #isFull = false

  /** @param expectedLength how long a body probably is, in UTF-16 units. */
  constructor(limits: BlockLimits, expectedLength: number | null = null) {
    this.#limits = limits
    this.#builder = new BlockBuilder(limits)
    this.#expectedLength = expectedLength ?? limits.units / FIRST_PORTION
  }

  /**
   * Offers what was read of a part of a tail, `first` to `last`; `false` when the block is full. What is
   * damaged or missing stays outside: it is looked at event by event.
   */
  add(
    session: number,
    records: readonly (BlockRecord | Damage)[],
    [first, last]: readonly [first: number, last: number],
  ): boolean {
    for (const record of records) {
      if (!('reason' in record) && !this.#builder.add({ session, record })) {
        this.#isFull = true
        return false
      }
      this.#firsts.set(session, record.seq + 1)
    }
    this.#firsts.set(session, last + 1)
    // Those count as well, or a tail of nothing else would be looked at again and again.
    this.#offered += last - first + 1
    this.#isFull ||= this.#builder.isFull || this.#offered >= this.#limits.events
    return !this.#isFull
  }

  /** How many events to read next: about as many as still fit. */
  get nextPortion(): number {
    const { units } = this.#builder
    const length = this.#offered === 0 ? this.#expectedLength : units / this.#offered
    const fitting = Math.ceil((this.#limits.units - units) / Math.max(1, length))
    return Math.max(1, Math.min(this.#limits.events - this.#offered, fitting))
  }

  /** What to write, once the block is full; until then `null`. */
  finish(): SealedBlock | null {
    return this.#isFull ? this.seal() : null
  }

  /** What to write, full or not; `null` when nothing was offered. */
  seal(): SealedBlock | null {
    if (this.#firsts.size === 0) return null
    const content = this.#builder.build()
    const signature = this.#builder.sign()
    return {
      block:
        content.entries.length === 0
          ? null
          : {
              stored: encodeBlock(content),
              entryOf: (number) => entryOf(number, content, signature),
            },
      firsts: this.#firsts,
    }
  }
}

/** What sealing writes, all in one transaction. */
export interface SealedBlock {
  /** `null`: everything was damaged. */
  readonly block: {
    readonly stored: StoredBlock
    /** The directory's entry, once the block has its number. */
    readonly entryOf: (number: number) => DirectoryEntry
  } | null
  /** Where the tails of these sessions begin now. */
  readonly firsts: ReadonlyMap<number, number>
}

/** What is left of the tails once `sealed` is written. */
export function tailsAfter(tails: readonly Tail[], { firsts }: SealedBlock): readonly Tail[] {
  return tails
    .map((tail) => ({ ...tail, first: firsts.get(tail.session) ?? tail.first }))
    .filter(({ first, last }) => first <= last)
}

/**
 * The group with entries more, of blocks that ascend; entries of the same blocks are replaced. `null`
 * when it is damaged, or missing although it must be there.
 *
 * @param group `null`: there is none.
 */
export function withEntries(
  group: StoredGroup | null,
  entries: readonly DirectoryEntry[],
): StoredGroup | null {
  const [first] = entries
  if (group === null && first !== undefined && !isFirstOfGroup(first.block)) return null
  const before = group === null ? [] : unlessDamaged(() => decodeGroup(group))
  if (before === null) return null
  const replaced = new Set(entries.map(({ block }) => block))
  return encodeGroup([...before.filter(({ block }) => !replaced.has(block)), ...entries])
}
