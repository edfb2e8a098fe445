/** Seals blocks in the background, one transaction each, so that nobody waits for more than one of them. */

import type { EventRecord } from '../../core/session-repository.ts'
import type { SearchSettings } from '../../search/sealing.ts'
import { SealingDemand } from '../../search/sealing-demand.ts'
import { sealBlock, unsealAll } from './block-rows.ts'
import type { Transactions } from './transactions.ts'

export interface Sealer {
  appended(events: readonly EventRecord[]): void
  /** A call came by an unsealed end of so many events. */
  seen(events: number): void
  /** A call came by a damaged block. */
  damaged(): void
  close(): void
}

export function createSealer(transactions: Transactions, settings: SearchSettings): Sealer {
  const demand = new SealingDemand(settings.limits)
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
        demand.looked(
          await transactions.write((transaction) => sealBlock(transaction, settings, demand)),
        )
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
    appended(events) {
      demand.appended(events)
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

    close() {
      isClosed = true
    },
  }
}
