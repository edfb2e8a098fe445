/** Seals blocks after appends, one transaction each, so that nobody waits for more than one of them. */

import type { SearchSettings } from '../../search/sealing.ts'
import { sealBlock } from './block-rows.ts'
import type { Transactions } from './transactions.ts'

export interface Sealer {
  /** For what was just appended; with 0, to take up what another instance has left. */
  noticed(events: number): void
  /** Settles when nothing is being sealed. */
  idle(): Promise<void>
  close(): void
}

export function createSealer(transactions: Transactions, settings: SearchSettings): Sealer {
  /** Events since somebody looked; the first call looks. */
  let unsealed = settings.limits.events
  let running: Promise<void> | null = null
  let closed = false

  const seal = async (): Promise<void> => {
    try {
      let isMore = true
      while (isMore && !closed) {
        isMore = await transactions.write((transaction) => sealBlock(transaction, settings))
        // A turn for calls that came meanwhile.
        await new Promise<void>((resolve) => setTimeout(resolve, 0))
      }
    } catch {
      // No answer depends on it: what is not sealed is looked at event by event. A full quota or a lost
      // connection is told to the next call that needs the database; sealing tries again after that.
    }
  }

  return {
    noticed(events) {
      unsealed += events
      if (running !== null || closed || unsealed < settings.limits.events) return
      unsealed = 0
      running = seal().finally(() => {
        running = null
      })
    },

    async idle() {
      while (running !== null) await running
    },

    close() {
      closed = true
    },
  }
}
