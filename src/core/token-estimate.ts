/** The built-in token estimate. */

/** About how many tokens a text has. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4)
}
