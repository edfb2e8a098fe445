// Triggers, strategies and filters from their description in a vector.
import {
  allMessages,
  anyOf,
  byMessageType,
  type CompactionStrategy,
  type CompactionTrigger,
  containsText,
  type EventFormatter,
  type MessageFilter,
  type MessageType,
  recursiveSummarization,
  skipEmptyMessages,
  slidingWindow,
  type TokenEstimator,
  tokenCount,
  tokenCountTrigger,
  turnCountTrigger,
  turnWindow,
} from '../../src/index.ts'
import { asList, asObject, show, VectorSkipped } from './vector-case.ts'

/** Sums the numbers in `⟦n⟧`, so that a result does not depend on how events are rendered. */
export const countTags: TokenEstimator = (text) =>
  [...text.matchAll(/⟦(\d+)⟧/g)].reduce((sum, [, digits]) => sum + Number(digits), 0)

/** What a summarising strategy asked its model, and what it reported. */
export interface ModelRecord {
  readonly prompts: { readonly system: string; readonly prompt: string }[]
  readonly failures: unknown[]
}

export function newModelRecord(): ModelRecord {
  return { prompts: [], failures: [] }
}

/** `'tags'`, absent for the built-in one, or what is wrong and has to be refused. */
function readEstimator(description: Readonly<Record<string, unknown>>): {
  readonly estimateTokens?: TokenEstimator
} {
  const { estimator } = description
  if (estimator === undefined) return {}
  if (estimator === 'tags') return { estimateTokens: countTags }
  if (estimator === null) return { estimateTokens: null as never }
  throw new VectorSkipped(`the estimator ${show(estimator)} is unknown`)
}

/** Absent for the built-in one, or the missing one that has to be refused. */
function readFormatter(formatter: unknown): { readonly formatEvent?: EventFormatter } {
  if (formatter === undefined) return {}
  if (formatter === null) return { formatEvent: null as never }
  throw new VectorSkipped(`the formatter ${show(formatter)} is unknown`)
}

export function buildStrategy(value: unknown, record: ModelRecord): CompactionStrategy {
  const description = asObject(value)
  const { kind, maxEvents, maxTurns, maxTokens } = description
  switch (kind) {
    case 'sliding-window':
      return slidingWindow(given({ maxEvents }))
    case 'turn-window':
      return turnWindow(given({ maxTurns }))
    case 'token-count':
      return tokenCount({ ...given({ maxTokens }), ...readEstimator(description) })
    case 'recursive-summarization': {
      const { maxEventsToKeep, overlapSize, systemPrompt, shadowPrompt, formatter } = description
      return recursiveSummarization({
        ...given({ maxEventsToKeep, overlapSize, systemPrompt, shadowPrompt }),
        ...readFormatter(formatter),
        summarize: buildModel(description['llm'], record) as never,
        onFailure: (error) => record.failures.push(error),
      })
    }
    default:
      throw new VectorSkipped(`the strategy ${show(kind)} is unknown`)
  }
}

/** Only what the vector sets, so that defaults apply. */
function given(options: Readonly<Record<string, unknown>>): Record<string, never> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Record<string, never>
}

/** A model that answers, or throws, as the vector says; `undefined` when there is none. */
function buildModel(value: unknown, record: ModelRecord) {
  if (value === null || value === undefined) return undefined
  const { returns, throws } = asObject(value)
  let calls = 0
  return async (prompt: { system: string; prompt: string }) => {
    record.prompts.push(prompt)
    if (throws !== undefined) throw new Error(String(throws))
    return Array.isArray(returns) ? (returns[calls++] ?? returns.at(-1)) : returns
  }
}

export function buildTrigger(value: unknown): CompactionTrigger {
  if (value === 'always') return () => true
  if (value === 'never') return () => false
  const description = asObject(value)
  switch (description['kind']) {
    case 'turn-count':
      return turnCountTrigger(description['maxTurns'] as number)
    case 'token-count':
      return tokenCountTrigger({
        threshold: description['threshold'] as number,
        ...readEstimator(description),
      })
    case 'any-of':
      return anyOf(...asList<unknown>(description['triggers']).map(buildTrigger))
    default:
      throw new VectorSkipped(`the trigger ${show(value)} is unknown`)
  }
}

export function buildMessageFilter(value: unknown): MessageFilter {
  if (value === null) return null as never
  const { kind, types, keyword, filter, filters } = asObject(value)
  switch (kind) {
    case 'all':
      return allMessages
    case 'skipEmpty':
    case 'skipEmptyMessages':
      return skipEmptyMessages
    case 'byType':
    case 'byMessageType':
      return byMessageType(...asList<MessageType>(types))
    case 'containsText':
      return containsText(keyword as string)
    case 'not':
    case 'negate':
      return buildMessageFilter(filter).negate()
    case 'and':
    case 'or': {
      const [first, ...rest] = asList<unknown>(filters).map(buildMessageFilter)
      if (first === undefined) throw new VectorSkipped('there is no filter to combine')
      return rest.reduce((all, next) => all[kind](next), first)
    }
    default:
      throw new VectorSkipped(`the message filter ${show(kind)} is unknown`)
  }
}
