/** The one function by which token estimates are replaced. */

/** Tokens of a text, such as an event rendered by `formatEvent`. */
export type TokenEstimator = (text: string) => number | Promise<number>
