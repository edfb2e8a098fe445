/**
 * Signatures: which sequences of one to four characters occur in the texts of a block, as a
 * bitmap of hashes. A block whose signature lacks a sequence of a term does not hold the term; the
 * reverse is only likely, so every candidate is looked at.
 */

/** A signature has up to 2^18 bits: 32 KiB. */
const MOST_BITS_LOG2 = 18
const LEAST_BYTES = 128
/**
 * At least so many bits for each bit that is set before bits fall together: then up to 55 % are. What
 * is searched for mostly has a dozen sequences; the shortest words, which have few, have more bits for
 * each.
 */
const BITS_PER_MARK = 1.25

/** Collects the sequences of texts; one at a time is enough for all, so it is reused. */
const scratch = new Uint8Array(1 << (MOST_BITS_LOG2 - 3))
/** Which characters, and which pairs of ASCII, are collected already: nearly all that come are. */
const knownCharacters = new Uint8Array(1 << 16)
const knownPairs = new Uint8Array(1 << 14)

/** The signature of `texts`, each of which went through `foldText`. Its length is a power of two. */
export function signatureOf(texts: Iterable<string>): Uint8Array<ArrayBuffer> {
  scratch.fill(0)
  knownCharacters.fill(0)
  knownPairs.fill(0)
  let marks = 0
  for (const text of texts) {
    let first = 0
    let second = 0
    let third = 0
    for (let i = 0; i < text.length; i++) {
      const fourth = text.charCodeAt(i) + 1
      if (knownCharacters[fourth - 1] === 0) {
        knownCharacters[fourth - 1] = 1
        for (const hash of hashesOfCharacter(fourth)) marks += mark(hash)
      }
      // 0: no pair of ASCII.
      const pair = third < 128 && fourth < 128 ? (third << 7) | fourth : 0
      if (third > 0 && (pair === 0 || knownPairs[pair] === 0)) {
        knownPairs[pair] = 1
        for (const hash of hashesOfPair(third, fourth)) marks += mark(hash)
      }
      if (second > 0) marks += mark(hashOf(0, second, third, fourth))
      if (first > 0) marks += mark(hashOf(first, second, third, fourth))
      first = second
      second = third
      third = fourth
    }
  }
  return shrink(marks)
}

/** Sets the bit of a hash in the scratch bitmap; 1 when it was not set, else 0. */
function mark(hash: number): number {
  const bit = hash >>> (32 - MOST_BITS_LOG2)
  const mask = 1 << (bit & 7)
  const byte = scratch[bit >> 3] ?? 0
  if ((byte & mask) !== 0) return 0
  scratch[bit >> 3] = byte | mask
  return 1
}

/** The scratch bitmap at the size that fits. */
function shrink(marks: number): Uint8Array<ArrayBuffer> {
  let signature = scratch.slice()
  while (signature.length > LEAST_BYTES && signature.length * 4 >= marks * BITS_PER_MARK) {
    signature = halved(signature)
  }
  return signature
}

/** Half as long: neighbouring bits are OR-ed. */
function halved(bits: Uint8Array): Uint8Array<ArrayBuffer> {
  const half = new Uint8Array(bits.length / 2)
  for (let index = 0; index < half.length; index++) {
    let pairs = (bits[2 * index] ?? 0) | ((bits[2 * index + 1] ?? 0) << 8)
    pairs = (pairs | (pairs >> 1)) & 0x5555
    pairs = (pairs | (pairs >> 1)) & 0x3333
    pairs = (pairs | (pairs >> 2)) & 0x0f0f
    half[index] = pairs | (pairs >> 4)
  }
  return half
}

/** A term, ready to be looked for in signatures. */
export type TermSequences = readonly number[]

/** The hashes that a signature must have for `term`, which went through `foldText`. */
export function sequencesOf(term: string): TermSequences {
  const code = (index: number) => (index < 0 ? 0 : term.charCodeAt(index) + 1)
  const hashes = new Set<number>()
  for (let end = 0; end < term.length; end++) {
    const [first, second, third] = [code(end - 3), code(end - 2), code(end - 1)]
    const fourth = code(end)
    // Shorter ones say no less: a sequence is often there by chance, and seldom all of them.
    const short = [...hashesOfCharacter(fourth), ...(end > 0 ? hashesOfPair(third, fourth) : [])]
    for (const hash of short) hashes.add(hash)
    if (end > 1) hashes.add(hashOf(0, second, third, fourth))
    if (end > 2) hashes.add(hashOf(first, second, third, fourth))
  }
  return [...hashes]
}

/** Whether the block of a signature may hold a term; one with an empty signature may hold anything. */
export function mayContain(signature: Uint8Array, sequences: TermSequences): boolean {
  if (signature.length === 0) return true
  const shift = 32 - Math.log2(signature.length * 8)
  return sequences.every((hash) => {
    const bit = hash >>> shift
    return ((signature[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  })
}

/** A single character has three bits, so that it is seldom there by chance. */
function hashesOfCharacter(character: number): readonly [number, number, number] {
  const hash = hashOf(0, 0, 0, character)
  return [hash, again(hash), again(again(hash))]
}

/** A pair has two bits. */
function hashesOfPair(first: number, second: number): readonly [number, number] {
  const hash = hashOf(0, 0, first, second)
  return [hash, again(hash)]
}

/** Mixes up to four code units; 0 stands for none. The upper bits are the best ones. */
function hashOf(first: number, second: number, third: number, fourth: number): number {
  let hash = fourth + Math.imul(third, 0x85ebca77) + Math.imul(second, 0xc2b2ae3d)
  hash = Math.imul(hash + Math.imul(first, 0x27d4eb2f), 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return Math.imul(hash ^ (hash >>> 12), 0x297a2d39) >>> 0
}

/** Another hash of what a hash is of. */
function again(hash: number): number {
  return Math.imul(hash ^ (hash >>> 13), 0x5bd1e995) >>> 0
}
