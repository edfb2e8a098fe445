/** Knows when there is enough to seal, from what passes by anyway: no call waits for a look at the store. */

import type { BlockLimits } from './block.ts'

/** What came of looking for a block to seal. */
export interface Look {
  readonly isSealed: boolean
  /** How many events are in no block; infinite when there are more than were counted. */
  readonly left: number
}

export class SealingDemand {
  readonly #limits: BlockLimits
  #events = 0
  #units = 0
  #isPaused = false

  constructor(limits: BlockLimits) {
    this.#limits = limits
  }

  /** Events were appended. */
  appended(events: readonly { readonly body: string }[]): void {
    if (events.length > 0) this.#isPaused = false
    this.#events += events.length
    for (const { body } of events) this.#units += body.length
  }

  /** A call came by an unsealed end of this many events: another instance, or an older version, left it. */
  seen(events: number): void {
    this.#events = Math.max(this.#events, events)
  }

  /** Whether a block may be full. */
  get isEnough(): boolean {
    return !this.#isPaused && (this.#events >= this.#limits.events || this.isLong)
  }

  /** Whether the texts alone may fill a block. */
  get isLong(): boolean {
    return this.#units >= this.#limits.units
  }

  /** A block was looked for. */
  looked({ isSealed, left }: Look): void {
    this.#events = left
    // Bodies are longer than their texts: when no block was full after all, that is known as well.
    this.#units = isSealed ? Math.max(0, this.#units - this.#limits.units) : 0
  }

  /** Sealing failed: it is tried again after the next append. */
  pause(): void {
    this.looked({ isSealed: false, left: 0 })
    this.#isPaused = true
  }
}
