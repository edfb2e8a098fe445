/** Strategies that keep a window of the newest events, without any model. */

import { readFunction, readOptions, readPositive } from '../core/arguments.ts'
import type { CompactionStrategy } from '../core/compact.ts'
import type { SessionEvent } from '../core/session.ts'
import { estimateTokens } from '../core/token-estimate.ts'
import { estimateEvents, type TokenEstimator } from '../core/token-estimator.ts'
import { checkView, keepSafely, startsTurn } from '../core/turns.ts'

/**
 * Keeps the newest `maxEvents` (default 20) real events of the root branch, with what belongs to their
 * turns. Summaries stay and use no slots.
 */
export function slidingWindow(
  options: { readonly maxEvents?: number | null | undefined } | null = {},
): CompactionStrategy {
  const maxEvents = readPositive(readOptions(options).maxEvents, 'maxEvents', 20)
  return async (view) => {
    const { real } = splitView(view)
    const cut = windowStart(real, maxEvents)
    return cut === 0 ? null : propose(view, real.slice(cut))
  }
}

/**
 * Keeps the newest `maxTurns` (default 10) turns, and as a preamble what stands before the first turn.
 * Summaries stay.
 */
export function turnWindow(
  options: { readonly maxTurns?: number | null | undefined } | null = {},
): CompactionStrategy {
  const maxTurns = readPositive(readOptions(options).maxTurns, 'maxTurns', 10)
  return async (view) => {
    const { real } = splitView(view)
    const starts = real.filter(startsTurn)
    const [first, cut] = [starts[0], starts.at(-maxTurns)]
    if (first === undefined || cut === undefined || starts.length <= maxTurns) return null
    const preamble = real.slice(0, real.indexOf(first))
    return propose(view, [...preamble, ...real.slice(real.indexOf(cut))])
  }
}

/**
 * Keeps the newest events that fit into `maxTokens` (default 4,000) estimated tokens. Summaries stay and
 * are charged first, branches are charged like the root.
 */
export function tokenCount(
  options: {
    readonly maxTokens?: number | null | undefined
    readonly estimateTokens?: TokenEstimator | undefined
  } | null = {},
): CompactionStrategy {
  const given = readOptions(options)
  const maxTokens = readPositive(given.maxTokens, 'maxTokens', 4000)
  const estimate = readFunction(given.estimateTokens, 'estimateTokens', estimateTokens)
  return async (view) => {
    const { real, summaries } = splitView(view)
    const costs = await estimateEvents(real, estimate)
    const charged = await estimateEvents(summaries, estimate)
    let budget = maxTokens - charged.reduce((sum, cost) => sum + cost, 0)
    let cut = real.length
    while (cut > 0 && budget - (costs[cut - 1] ?? 0) >= 0) {
      cut--
      budget -= costs[cut] ?? 0
    }
    return cut === 0 ? null : propose(view, real.slice(cut))
  }
}

/** The real events of a view and its summaries. */
export function splitView(view: readonly SessionEvent[]): {
  readonly real: readonly SessionEvent[]
  readonly summaries: readonly SessionEvent[]
} {
  checkView(view)
  return {
    real: view.filter((event) => !event.synthetic),
    summaries: view.filter((event) => event.synthetic),
  }
}

/** Where the newest `count` root events begin, branch events between them included; 0: all fit. */
export function windowStart(real: readonly SessionEvent[], count: number): number {
  const root = real.filter((event) => event.branch === null)
  const first = root.at(-count)
  return first === undefined || root.length <= count ? 0 : real.indexOf(first)
}

/** The proposal to keep the summaries and, of the rest, what is safe of `wanted`; `null` when that is all. */
function propose(view: readonly SessionEvent[], wanted: readonly SessionEvent[]) {
  const { summaries } = splitView(view)
  const kept = keepSafely(view, new Set([...summaries, ...wanted].map(({ id }) => id)))
  return kept.length === view.length ? null : { summaries: [], keep: kept.map(({ id }) => id) }
}
