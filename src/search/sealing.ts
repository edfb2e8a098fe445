/** Sealing: what a store writes when enough events have gathered at the ends of its logs. */

import type { Damage, EventRecord } from '../core/session-repository.ts'
import {
  BLOCK_LIMITS,
  type Block,
  BlockBuilder,
  type BlockLimits,
  encodeBlock,
  type StoredBlock,
} from './block.ts'
import {
  type DirectoryEntry,
  decodeGroup,
  encodeGroup,
  entryOf,
  type StoredGroup,
} from './directory.ts'
import { signatureOf } from './signature.ts'

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

/** How many events the tails hold together. */
export function countTails(tails: readonly Tail[]): number {
  return tails.reduce((sum, { first, last }) => sum + last - first + 1, 0)
}

/** Makes one block of events that are offered in the order of their tails. */
export class Sealing {
  readonly #builder: BlockBuilder
  readonly #firsts = new Map<number, number>()
  #isFull = false

  constructor(limits: BlockLimits) {
    this.#builder = new BlockBuilder(limits)
  }

  /**
   * Offers the next events of a tail; `false` when the block is full. What is damaged stays outside: it
   * is looked at event by event.
   */
  add(session: number, records: readonly (EventRecord | Damage)[]): boolean {
    for (const record of records) {
      if (!('reason' in record) && !this.#builder.add({ session, record })) {
        this.#isFull = true
        return false
      }
      this.#firsts.set(session, record.seq + 1)
    }
    this.#isFull ||= this.#builder.isFull
    return !this.#isFull
  }

  /** Leaves the tail of a session up to `seq` outside: nothing is there. */
  skip(session: number, seq: number): void {
    this.#firsts.set(session, seq + 1)
  }

  /** What to write, once the block is full; until then, and when everything was damaged, `null`. */
  finish(): SealedBlock | null {
    return this.#isFull ? this.seal() : null
  }

  /** What to write, full or not. */
  seal(): SealedBlock | null {
    const content = this.#builder.build()
    if (content.entries.length === 0) return null
    return {
      stored: encodeBlock(content),
      entryOf: (block) => entryOf(block, content, signatureOf(this.#builder.signedTexts)),
      firsts: this.#firsts,
    }
  }
}

/** What sealing writes, all in one transaction. */
export interface SealedBlock {
  readonly stored: StoredBlock
  /** The directory's entry, once the block has its number. */
  readonly entryOf: (block: number) => DirectoryEntry
  /** Where the tails of these sessions begin now. */
  readonly firsts: ReadonlyMap<number, number>
}

/** The group with an entry more; the entry of the same block is replaced. */
export function withEntry(group: StoredGroup | null, entry: DirectoryEntry): StoredGroup {
  const entries =
    group === null ? [] : decodeGroup(group).filter(({ block }) => block !== entry.block)
  return encodeGroup([...entries, entry])
}

/** The group after a block has changed or gone. An empty one stays: a missing one is damage. */
export function withChangedBlock(group: StoredGroup, block: number, content: Block): StoredGroup {
  const entries = decodeGroup(group).flatMap((entry) => {
    if (entry.block !== block) return [entry]
    // The signature keeps what was taken out: it says what may be there, and holds no text.
    return content.entries.length === 0 ? [] : [entryOf(block, content, entry.signature)]
  })
  return encodeGroup(entries)
}
