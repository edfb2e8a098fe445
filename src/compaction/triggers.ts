/** When to compact. */

import { readFunction, readOptions, readPositive } from '../core/arguments.ts'
import type { CompactionTrigger } from '../core/compact.ts'
import { invalidArgument } from '../core/errors.ts'
import { estimateTokens } from '../core/token-estimate.ts'
import { estimateEvents, type TokenEstimator } from '../core/token-estimator.ts'
import { countTurns } from '../core/turns.ts'

/** Fires when the view holds more than `maxTurns` turns. A turn starts at a real user message of the root branch. */
export function turnCountTrigger(maxTurns: number): CompactionTrigger {
  const limit = readPositive(maxTurns, 'maxTurns')
  return (view) => countTurns(view) > limit
}

/** How many tokens are too many. */
export interface TokenCountTriggerOptions {
  /** Estimated tokens of the whole view, summaries and branches included. */
  readonly threshold: number
  /** Default: the built-in estimate. */
  readonly estimateTokens?: TokenEstimator | undefined
}

/** Fires when the view is estimated at `threshold` tokens or more. */
export function tokenCountTrigger(options: TokenCountTriggerOptions): CompactionTrigger {
  const given = readOptions(options)
  const threshold = readPositive(given.threshold, 'threshold')
  const estimate = readFunction(given.estimateTokens, 'estimateTokens', estimateTokens)
  return async (view) => {
    const costs = await estimateEvents(view, estimate)
    return costs.reduce((sum, cost) => sum + cost, 0) >= threshold
  }
}

/** Fires when one of `triggers` does; they are asked in order. */
export function anyOf(...triggers: readonly CompactionTrigger[]): CompactionTrigger {
  if (triggers.length === 0) throw invalidArgument('triggers', 'must not be empty')
  const checked = triggers.map((trigger, index) => readFunction(trigger, `triggers[${index}]`))
  return async (view) => {
    for (const trigger of checked) if (await trigger(view)) return true
    return false
  }
}
