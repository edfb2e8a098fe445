/** Takes texts out of blocks, when a session is deleted or an event erased. */

import { messageText } from '../core/message.ts'
import { parseMessage } from '../core/read-log.ts'
import {
  type Block,
  type BlockEntry,
  changeBlock,
  decodeBlock,
  type EntryChange,
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
import { unlessDamaged } from './unless-damaged.ts'

/** What is taken out. */
export interface Removal {
  /** How much of a block it may concern. */
  readonly extent: (entry: DirectoryEntry) => 'none' | 'part' | 'all'
  readonly change: (entry: BlockEntry) => EntryChange
}

/** Everything of these sessions. */
export function removalOfSessions(sessions: ReadonlySet<number>): Removal {
  const isGone = ({ session }: { readonly session: number }) => sessions.has(session)
  return {
    extent: ({ runs }) => (runs.every(isGone) ? 'all' : runs.some(isGone) ? 'part' : 'none'),
    change: (entry) => (isGone(entry) ? 'remove' : 'keep'),
  }
}

/** The text of one event, which gets another body. */
export function removalOfText(session: number, seq: number, body: string): Removal {
  const message = parseMessage(body)
  const isBlank = message !== null && messageText(message) === ''
  return {
    extent: ({ runs }) =>
      runs.some((run) => run.session === session && run.first <= seq && seq <= run.last)
        ? 'part'
        : 'none',
    change: (entry) =>
      entry.session !== session || entry.seq !== seq ? 'keep' : isBlank ? 'blank' : 'unknown',
  }
}

/** A group and some of its blocks, as they are to be written. */
export interface ChangedGroup {
  readonly group: StoredGroup
  /**
   * `null`: nothing is left of it. An empty group stays: a missing one is damage. No block at all: the
   * removal does not concern the group.
   */
  readonly blocks: ReadonlyMap<number, StoredBlock | null>
}

/** The blocks of a group that a removal has to read; `null` when the group is damaged. */
export function blocksToChange(group: StoredGroup, { extent }: Removal): readonly number[] | null {
  return unlessDamaged(() =>
    decodeGroup(group)
      .filter((entry) => extent(entry) === 'part')
      .map(({ block }) => block),
  )
}

/**
 * What a removal makes of a group; `null` when the group or a block is damaged or missing.
 *
 * @param read what `blocksToChange` named.
 */
export function changeGroup(
  group: StoredGroup,
  { extent, change }: Removal,
  read: ReadonlyMap<number, StoredBlock>,
): ChangedGroup | null {
  return unlessDamaged(() => {
    const blocks = new Map<number, StoredBlock | null>()
    const changed = decodeGroup(group).flatMap((entry) => {
      const concerned = extent(entry)
      if (concerned === 'none') return [entry]
      const content = concerned === 'all' ? null : changeStored(read.get(entry.block), change)
      const isGone = content === null || content.entries.length === 0
      blocks.set(entry.block, isGone ? null : encodeBlock(content))
      return isGone ? [] : [entryOf(entry.block, content, signContent(content))]
    })
    return { group: encodeGroup(changed), blocks }
  })
}

function changeStored(stored: StoredBlock | undefined, change: Removal['change']): Block {
  if (stored === undefined) throw new TypeError('a block is missing')
  return changeBlock(decodeBlock(stored), change)
}

/** The signature of what is left: the old one would still say which words were there. */
function signContent({ entries, text }: Block): Uint8Array<ArrayBuffer> {
  if (!entries.every(({ hasText }) => hasText)) return new Uint8Array()
  return signatureOf(entries.map(({ end }, index) => text.slice(entries[index - 1]?.end ?? 0, end)))
}
