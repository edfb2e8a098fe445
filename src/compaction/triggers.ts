/** When to compact. */

import type { CompactionTrigger } from '../core/compact.ts'
import { describeValue, invalidArgument } from '../core/errors.ts'
import { formatEvent } from '../core/format-event.ts'
import type { SessionEvent } from '../core/session.ts'
import { estimateTokens } from '../core/token-estimate.ts'
import type { TokenEstimator } from '../core/token-estimator.ts'
import { countTurns } from '../core/turns.ts'
import { readFunction, readPositive } from './options.ts'

/** Fires when the view holds more than `maxTurns` turns. A turn starts at a real user message of the root branch. */
export function turnCountTrigger(maxTurns: number): CompactionTrigger {
  const limit = readPositive(maxTurns, 'maxTurns')
  return (view) => countTurns(view) > limit
}

export interface TokenCountTriggerOptions {
  /** Estimated tokens of the whole view, summaries and branches included. */
  readonly threshold: number
  /** Default: the built-in estimate. */
  readonly estimateTokens?: TokenEstimator | undefined
}

/** Fires when the view is estimated at `threshold` tokens or more. */
export function tokenCountTrigger(options: TokenCountTriggerOptions): CompactionTrigger {
  const threshold = readPositive(options?.threshold, 'threshold')
  const estimate = readFunction(options.estimateTokens, 'estimateTokens', estimateTokens)
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

/**
 * The estimated tokens of each event.
 *
 * @throws SessionError `INVALID_ARGUMENT` when an estimate is no number: comparing it would decide anything.
 */
export async function estimateEvents(
  events: readonly SessionEvent[],
  estimate: TokenEstimator,
): Promise<readonly number[]> {
  const costs: number[] = []
  for (const event of events) {
    const cost = await estimate(formatEvent(event))
    if (!(cost >= 0)) throw invalidArgument('estimateTokens', `gave ${describeValue(cost)}`)
    costs.push(cost)
  }
  return costs
}
