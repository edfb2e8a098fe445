/** Seals blocks in the background, a few in a transaction, so that nobody waits for long. */

import type { SearchSettings } from '../../search/sealing.ts'
import { SealingDemand } from '../../search/sealing-demand.ts'
import { unsealAll } from './block-rows.ts'
import type { Committed } from './commits.ts'
import { createRecentEvents } from './recent-events.ts'
import { makeBlocks, sealBlocks } from './seal-blocks.ts'
import type { ReadTransaction, Transactions } from './transactions.ts'

export interface Sealer {
  committed(commit: Committed): void
  /** A call came by an unsealed end of so many events. */
  seen(events: number): void
  /** A call came by a damaged block. */
  damaged(): void
  /** Texts of these sessions are gone. */
  removed(sessions: readonly number[]): void
  close(): void
}

export function createSealer(transactions: Transactions, settings: SearchSettings): Sealer {
  const demand = new SealingDemand(settings.limits)
  const recent = createRecentEvents()
  const make = (transaction: ReadTransaction) => makeBlocks(transaction, settings, demand, recent)
  let isDamaged = false
  let isRunning = false
  let isClosed = false

  const seal = async (): Promise<void> => {
    isRunning = true
    while (!isClosed && (isDamaged || demand.isEnough)) {
      // A turn for calls that came meanwhile.
      await new Promise<void>((resolve) => setTimeout(resolve, 0))
      try {
        if (isDamaged) await transactions.write((transaction) => unsealAll(transaction))
        isDamaged = false
        const made = await transactions.read(make)
        const { blocks, firsts, left, appended } = made
        if (blocks.length > 0) {
          const isWritten = await transactions.write((transaction) => sealBlocks(transaction, made))
          if (!isWritten) continue
        }
        demand.looked({ blocks: blocks.length, left }, appended)
        recent.dropBefore(firsts)
      } catch {
        // No answer depends on it: what is not sealed is looked at event by event. A full quota or a
        // lost connection is told to the next call that needs the database.
        isDamaged = false
        demand.pause()
      }
    }
    isRunning = false
  }
  const sealSoon = () => {
    if (!isRunning && !isClosed && (isDamaged || demand.isEnough)) void seal()
  }

  return {
    committed({ plan, written }) {
      if (written === null) return
      const { before, after } = written
      recent.add(after.stored.number, plan.events, after.stored.stamp, before.stored.stamp)
      demand.appended(plan.events)
      sealSoon()
    },

    seen(events) {
      demand.seen(events)
      sealSoon()
    },

    damaged() {
      isDamaged = true
      sealSoon()
    },

    removed: recent.drop,

    close() {
      isClosed = true
    },
  }
}
