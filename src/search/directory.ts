/**
 * The directory: what blocks there are, whose events they hold and their signatures. A dozen blocks share
 * a record, because reading few large records is many times faster than reading many small ones. Not
 * more: Chromium keeps values from 64 KiB on elsewhere, and takes several times as long for them.
 */

import { EventFilter } from '../core/event-filter.ts'
import { MESSAGE_TYPES } from '../core/message.ts'
import { type Block, type BlockRun, runsOf } from './block.ts'
import { mayContain, sequencesOf, type TermSequences } from './signature.ts'

/** How many blocks share a record. */
const BLOCKS_PER_GROUP = 12

/** The number of the group that a block is in. */
export function groupOf(block: number): number {
  return Math.floor(block / BLOCKS_PER_GROUP)
}

/** Whether no block comes before this one in its group. Numbers begin with 0 or, in a database, with 1. */
export function isFirstOfGroup(block: number): boolean {
  return block <= 1 || block % BLOCKS_PER_GROUP === 0
}

/** Whether the groups of these ascending numbers are all that there must be. */
export function areWhole(groups: readonly number[], lastBlock: number | null): boolean {
  const count = groups.length
  const isGapless = count === 0 || (groups[0] === 0 && groups.at(-1) === count - 1)
  return isGapless && (lastBlock === null || groupOf(lastBlock) < count)
}

/** What the directory knows of a block. */
export interface DirectoryEntry {
  readonly block: number
  readonly runs: readonly BlockRun[]
  readonly earliest: number
  readonly latest: number
  /** A bit for each message type, in the order of `MESSAGE_TYPES`; the fifth for summaries, the sixth for others. */
  readonly kinds: number
  /** The branches of its events; `null`: too many to list. */
  readonly branches: readonly (string | null)[] | null
  /** The length of its texts: a block with other texts is damaged. */
  readonly units: number
  /** Whether it holds the texts of all its events. */
  readonly isWhole: boolean
  readonly signature: Uint8Array
}

/** A group as it is stored: text, and the signatures one after the other. */
export interface StoredGroup {
  readonly entries: string
  readonly signatures: Uint8Array
}

/** Longer lists of branches are left out; in UTF-16 units of their JSON. */
const MOST_BRANCH_UNITS = 512
const SYNTHETIC = 1 << 4
const REAL = 1 << 5

/** The directory's entry of a new block. */
export function entryOf(block: number, content: Block, signature: Uint8Array): DirectoryEntry {
  const timestamps = content.entries.map(({ timestamp }) => timestamp)
  const branches = [...new Set(content.entries.map(({ branch }) => branch))]
  return {
    block,
    runs: runsOf(content),
    earliest: timestamps.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER),
    latest: timestamps.reduce((a, b) => Math.max(a, b), Number.MIN_SAFE_INTEGER),
    kinds: content.entries.reduce(
      (kinds, { role, synthetic }) => kinds | (1 << role) | (synthetic ? SYNTHETIC : REAL),
      0,
    ),
    branches: JSON.stringify(branches).length > MOST_BRANCH_UNITS ? null : branches,
    units: content.text.length,
    isWhole: content.entries.every(({ hasText }) => hasText),
    signature,
  }
}

export function encodeGroup(entries: readonly DirectoryEntry[]): StoredGroup {
  const signatures = new Uint8Array(
    entries.reduce((sum, { signature }) => sum + signature.length, 0),
  )
  let offset = 0
  const rows = entries.map(({ signature, runs, ...entry }) => {
    signatures.set(signature, offset)
    offset += signature.length
    const numbers = runs.flatMap(({ session, first, last }) => [session, first, last])
    return { ...entry, runs: numbers, length: signature.length }
  })
  return { entries: JSON.stringify(rows), signatures }
}

/** @throws when the record is damaged. */
export function decodeGroup(stored: StoredGroup): readonly DirectoryEntry[] {
  const rows = JSON.parse(stored.entries) as (Omit<DirectoryEntry, 'runs' | 'signature'> & {
    runs: number[]
    length: number
  })[]
  let offset = 0
  const entries = rows.map(({ runs, length, ...row }) => {
    const signature = stored.signatures.subarray(offset, offset + length)
    offset += length
    return { ...row, runs: toRuns(runs), signature }
  })
  // A signature that is cut short would say of words that they are not there.
  if (stored.signatures.length !== offset) {
    throw new TypeError('the signatures of a group do not fit its entries')
  }
  return entries
}

function toRuns(numbers: readonly number[]): BlockRun[] {
  const runs: BlockRun[] = []
  for (let i = 0; i < numbers.length; i += 3) {
    const [session = 0, first = 0, last = 0] = numbers.slice(i, i + 3)
    runs.push({ session, first, last })
  }
  return runs
}

/** Tells which blocks may hold matches of a filter. */
export function candidateTest(filter: EventFilter): (entry: DirectoryEntry) => boolean {
  const groups: readonly (readonly TermSequences[])[] = filter.foldedTerms.map((terms) =>
    terms.map(sequencesOf),
  )
  const from = filter.from?.getTime() ?? Number.NEGATIVE_INFINITY
  const to = filter.to?.getTime() ?? Number.POSITIVE_INFINITY
  const types = (filter.messageTypes ?? MESSAGE_TYPES).reduce(
    (bits, type) => bits | (1 << MESSAGE_TYPES.indexOf(type)),
    0,
  )
  const { branch } = filter
  const visible = branch === null ? null : EventFilter.forBranch(branch)
  const isVisible = (other: string | null) =>
    visible === null ||
    visible.matchesEnvelope(
      { timestamp: 0, branch: other, synthetic: false, archived: false, rewound: false },
      'user',
    )
  return ({ earliest, latest, kinds, branches, signature }) =>
    latest >= from &&
    earliest <= to &&
    (kinds & types) !== 0 &&
    !(filter.excludeSynthetic && (kinds & REAL) === 0) &&
    (branches?.some(isVisible) ?? true) &&
    groups.every((terms) => terms.some((sequences) => mayContain(signature, sequences)))
}
