/** Knows when there is enough to seal, from what passes by anyway: no call waits for a look at the store. */

import type { BlockLimits } from './block.ts'

/** What came of looking for blocks to seal. */
export interface Look {
  /** How many blocks were sealed. */
  readonly blocks: number
  /** How many events are in no block; infinite when there are more than were counted. */
  readonly left: number
}

export class SealingDemand {
  readonly #limits: BlockLimits
  #events = 0
  #units = 0
  /** So many units of bodies may fill a block. */
  #enoughUnits: number
  #isPaused = false
  #appendedEvents = 0
  #appendedUnits = 0

  constructor(limits: BlockLimits) {
    this.#limits = limits
    this.#enoughUnits = limits.units
  }

  /** Events were appended. */
  appended(events: readonly { readonly body: string }[]): void {
    if (events.length > 0) this.#isPaused = false
    const units = events.reduce((sum, { body }) => sum + body.length, 0)
    this.#events += events.length
    this.#units += units
    this.#appendedEvents += events.length
    this.#appendedUnits += units
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
    return this.#units >= this.#enoughUnits
  }

  /** How long the bodies were that were appended, on average; `null`: none were. */
  get meanLength(): number | null {
    return this.#appendedEvents === 0 ? null : this.#appendedUnits / this.#appendedEvents
  }

  /** How many events were appended until now. */
  get appendedSoFar(): number {
    return this.#appendedEvents
  }

  /** Blocks were looked for, when so many events were appended: later ones are in none. */
  looked({ blocks, left }: Look, appendedSoFar: number = this.#appendedEvents): void {
    this.#events = left + this.#appendedEvents - appendedSoFar
    this.#units = blocks > 0 ? Math.max(0, this.#units - blocks * this.#limits.units) : 0
    // Bodies are longer than their texts. After a look in vain, at all of them, it takes twice as much for
    // the next: what tools answer may hold no text at all, and would be read again with every append.
    this.#enoughUnits = blocks === 0 && left > 0 ? 2 * this.#enoughUnits : this.#limits.units
  }

  /** Sealing failed: it is tried again after the next append. */
  pause(): void {
    this.looked({ blocks: 0, left: 0 })
    this.#isPaused = true
  }
}
