// How far the built-in token estimate is off, against the tokenizer of current models.
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { estimateTokens } from '../../src/core/token-estimate.ts'
import { isHeldOut, type SampleConversation } from './multilingual-sample.ts'

/** Shares of the tokens that the tokenizer counts: 0.1 is 10 %. */
export interface TokenError {
  readonly messages: number
  readonly tokens: number
  /** Mean of the messages' errors, each without its sign. */
  readonly mean: number
  /** The same over the messages that the constants were chosen without. */
  readonly heldOutMean: number
  /** Error of the sum: above 0 the estimate is too high. */
  readonly bias: number
  /** The conversation whose sum is estimated lowest. */
  readonly lowest: { readonly title: string; readonly bias: number }
}

export function measureTokenError(
  conversations: readonly Omit<SampleConversation, 'script'>[],
): TokenError {
  const counted = conversations.map(({ title, messages }) => ({
    title,
    counts: messages.map((text, index) => ({
      estimate: estimateTokens(text),
      actual: countTokens(text),
      heldOut: isHeldOut(index),
    })),
  }))
  const all = counted.flatMap(({ counts }) => counts)
  const lowest = counted
    .map(({ title, counts }) => ({ title, bias: biasOf(counts) }))
    .reduce((one, other) => (other.bias < one.bias ? other : one))
  return {
    messages: all.length,
    tokens: all.reduce((sum, { actual }) => sum + actual, 0),
    mean: meanError(all),
    heldOutMean: meanError(all.filter(({ heldOut }) => heldOut)),
    bias: biasOf(all),
    lowest,
  }
}

interface Count {
  readonly estimate: number
  readonly actual: number
}

function meanError(counts: readonly Count[]): number {
  const errors = counts.map(({ estimate, actual }) => Math.abs(estimate / actual - 1))
  return errors.reduce((sum, error) => sum + error, 0) / errors.length
}

function biasOf(counts: readonly Count[]): number {
  const estimate = counts.reduce((sum, count) => sum + count.estimate, 0)
  return estimate / counts.reduce((sum, { actual }) => sum + actual, 0) - 1
}
