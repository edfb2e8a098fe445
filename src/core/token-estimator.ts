/** The one function by which token estimates are replaced, and how it is asked. */

import { describeValue, invalidArgument } from './errors.ts'
import { formatEvent } from './format-event.ts'
import type { SessionEvent } from './session.ts'

/** Tokens of a text, such as an event rendered by `formatEvent`. */
export type TokenEstimator = (text: string) => number | Promise<number>

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
