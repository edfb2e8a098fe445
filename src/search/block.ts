/**
 * Blocks: the folded texts of a few hundred events, of one session or of many, in one record, with what
 * else a filter asks of them. A block is sealed once; only erasing and deleting change it.
 */

import type { EventFilter } from '../core/event-filter.ts'
import { MESSAGE_TYPES, messageText } from '../core/message.ts'
import { parseMessage } from '../core/read-log.ts'
import type { EventRecord } from '../core/session-repository.ts'
import { foldText } from '../core/text.ts'
import { signatureOf } from './signature.ts'

/** When a block is full. */
export interface BlockLimits {
  readonly events: number
  /** UTF-16 units of folded text and of branches. */
  readonly units: number
}

/** 256 events, 64 Ki units: a block's row stays far below a Durable Object's 2 MB. */
export const BLOCK_LIMITS: BlockLimits = { events: 256, units: 1 << 16 }

/**
 * Longer bodies, in UTF-16 units, are not looked at when their block is sealed: that would take too long
 * for those who wait. Every search that comes by their block asks them.
 */
export const LONGEST_SEALED_BODY = 1 << 18

/** An event of a block. */
export interface BlockEntry {
  /** The session's number in its store. */
  readonly session: number
  readonly seq: number
  readonly timestamp: number
  /** Index in `MESSAGE_TYPES`. */
  readonly role: number
  readonly synthetic: boolean
  readonly branch: string | null
  /** Where the text ends in the block's texts; it begins where the one before ends. */
  readonly end: number
  /** `false`: too long for a block, or unreadable when it was sealed; the event itself has to be asked. */
  readonly hasText: boolean
}

/** Consecutive events of one session in a block. */
export interface BlockRun {
  readonly session: number
  readonly first: number
  readonly last: number
}

/** A block in memory. */
export interface Block {
  /** By session, then by `seq`. */
  readonly entries: readonly BlockEntry[]
  readonly text: string
}

/** What a block needs of an event. A body that is too long may be left out, without being read. */
export type BlockRecord = Omit<EventRecord, 'id' | 'latestTimestamp' | 'body'> & {
  readonly body: string | null
}

/** An event on its way into a block. */
export interface BlockInput {
  readonly session: number
  readonly record: BlockRecord
}

/** A block as it is stored: both are text. */
export interface StoredBlock {
  readonly entries: string
  readonly text: string
}

/** Collects events until the block is full. */
export class BlockBuilder {
  readonly #limits: BlockLimits
  readonly #entries: BlockEntry[] = []
  readonly #texts: string[] = []
  /** The texts that the signature is made of, those that are not kept included. */
  readonly #signed: string[] = []
  #isSigned = true
  #units = 0

  constructor(limits: BlockLimits) {
    this.#limits = limits
  }

  /** `false` when the block is full without the event. */
  add({ session, record }: BlockInput): boolean {
    const role = MESSAGE_TYPES.indexOf(record.role)
    if (role < 0) return true // Not of ours: it is looked at itself.
    const { body } = record
    const isLong = body === null || body.length > LONGEST_SEALED_BODY
    const message = isLong ? null : parseMessage(body)
    const folded = message === null ? '' : foldText(messageText(message))
    const hasText = message !== null && folded.length <= this.#limits.units
    const text = hasText ? folded : ''
    // What is not kept fills the block all the same: it would crowd the signature.
    const units = (isLong ? this.#limits.units : folded.length) + (record.branch?.length ?? 0)
    if (this.isFull || (this.#entries.length > 0 && this.#units + units > this.#limits.units)) {
      return false
    }
    this.#units += units
    this.#texts.push(text)
    this.#signed.push(folded)
    this.#isSigned &&= !isLong
    this.#entries.push({
      session,
      seq: record.seq,
      timestamp: record.timestamp,
      role,
      synthetic: record.synthetic,
      branch: record.branch,
      end: (this.#entries.at(-1)?.end ?? 0) + text.length,
      hasText,
    })
    return true
  }

  /** How much is in it, by the measure of its limit. */
  get units(): number {
    return this.#units
  }

  /** Whether nothing more fits for certain. */
  get isFull(): boolean {
    return this.#entries.length >= this.#limits.events || this.#units >= this.#limits.units
  }

  /** The signature of the texts; empty when one of them was not looked at. */
  sign(): Uint8Array<ArrayBuffer> {
    return this.#isSigned ? signatureOf(this.#signed) : new Uint8Array()
  }

  build(): Block {
    return { entries: this.#entries, text: this.#texts.join('') }
  }
}

/** The runs of a block, in the order of its entries. */
export function runsOf({ entries }: Block): readonly BlockRun[] {
  const runs: { session: number; first: number; last: number }[] = []
  for (const { session, seq } of entries) {
    const run = runs.at(-1)
    if (run?.session === session && run.last === seq - 1) run.last = seq
    else runs.push({ session, first: seq, last: seq })
  }
  return runs
}

export function encodeBlock({ entries, text }: Block): StoredBlock {
  const branches = [...new Set(entries.map(({ branch }) => branch))]
  const rows = entries.map((entry) => [
    entry.session,
    entry.seq,
    entry.timestamp,
    entry.role + (entry.synthetic ? 4 : 0) + (entry.hasText ? 8 : 0),
    branches.indexOf(entry.branch),
    entry.end,
  ])
  return { entries: JSON.stringify({ branches, rows }), text }
}

/** @throws when the record is damaged. */
export function decodeBlock(stored: StoredBlock): Block {
  const { branches, rows } = JSON.parse(stored.entries) as {
    branches: (string | null)[]
    rows: [number, number, number, number, number, number][]
  }
  const entries = rows.map(
    ([session, seq, timestamp, flags, branch, end]): BlockEntry => ({
      session,
      seq,
      timestamp,
      role: flags & 3,
      synthetic: (flags & 4) !== 0,
      hasText: (flags & 8) !== 0,
      branch: branches[branch] ?? null,
      end,
    }),
  )
  if (typeof stored.text !== 'string' || (entries.at(-1)?.end ?? 0) !== stored.text.length) {
    throw new TypeError('the texts of a block do not fit its entries')
  }
  return { entries, text: stored.text }
}

/** Whether the texts of a block, taken together, say already that none of them matches. */
export function isWithoutTerms(text: string, filter: EventFilter): boolean {
  return filter.foldedTerms.some((terms) => !terms.some((term) => text.includes(term)))
}

/** A match in a block. `certain` is `false` where the event itself has to be asked. */
export interface BlockMatch {
  readonly entry: BlockEntry
  readonly certain: boolean
}

/** The entries that may match, in the order of the block; archived and rewound are not looked at. */
export function matchBlock(
  { entries, text }: Block,
  filter: EventFilter,
  isWanted: (entry: BlockEntry) => boolean,
): BlockMatch[] {
  const found = filter.foldedTerms.map((terms) => entriesWith(entries, text, terms))
  const matches: BlockMatch[] = []
  entries.forEach((entry, index) => {
    const certain = entry.hasText || found.length === 0
    if (certain && !found.every((entriesFound) => entriesFound.has(index))) return
    const place = { ...entry, archived: false, rewound: false }
    const role = MESSAGE_TYPES[entry.role]
    if (role !== undefined && isWanted(entry) && filter.matchesEnvelope(place, role)) {
      matches.push({ entry, certain })
    }
  })
  return matches
}

/** The indices of the entries whose text holds one of `terms`. */
function entriesWith(
  entries: readonly BlockEntry[],
  text: string,
  terms: readonly string[],
): ReadonlySet<number> {
  const found = new Set<number>()
  for (const term of terms) {
    let index = 0
    for (let at = text.indexOf(term); at >= 0; ) {
      while ((entries[index]?.end ?? Number.POSITIVE_INFINITY) <= at) index++
      const end = entries[index]?.end ?? 0
      if (at + term.length <= end) {
        found.add(index)
        at = text.indexOf(term, end)
      } else {
        // Across the border of two texts: no match, but one may begin at the next character.
        at = text.indexOf(term, at + 1)
      }
    }
  }
  return found
}

/**
 * What becomes of an entry: it stays, goes, stays without a text, or with one that only the event
 * itself knows.
 */
export type EntryChange = 'keep' | 'remove' | 'blank' | 'unknown'

/** The block with some entries changed. */
export function changeBlock(
  { entries, text }: Block,
  change: (entry: BlockEntry) => EntryChange,
): Block {
  const kept: BlockEntry[] = []
  const texts: string[] = []
  let start = 0
  let end = 0
  for (const entry of entries) {
    const what = change(entry)
    const own = what === 'keep' ? text.slice(start, entry.end) : ''
    start = entry.end
    if (what === 'remove') continue
    end += own.length
    texts.push(own)
    kept.push({ ...entry, end, hasText: what === 'keep' ? entry.hasText : what === 'blank' })
  }
  return { entries: kept, text: texts.join('') }
}
