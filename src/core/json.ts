/** The stored form of what users hand in: a snapshot in JSON terms, the same in every store. */

import { describeThrown, describeValue, invalid, SessionError } from './errors.ts'

/** What JSON can hold. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** No event of 8 MiB holds more. */
const MAX_VALUES = 4 << 20

/** Deeper values are refused: engines recurse when they parse JSON, and a read must never overflow. */
const MAX_DEPTH = 256

/**
 * Copies a value into plain JSON terms: `toJSON` is honoured, a Proxy is read through, keys with
 * `undefined` are dropped, `undefined` in an array becomes `null`, binary becomes base64, a `URL` its
 * string, lone surrogates U+FFFD.
 *
 * @param path how errors name the value, such as `metadata`.
 * @throws SessionError `INVALID_EVENT` naming the path of the first value that JSON cannot hold.
 */
export function toStoredJson(value: unknown, path: string): JsonValue {
  const stored = copy(value, path, { ancestors: [], budget: { values: MAX_VALUES } })
  return stored === undefined ? null : stored
}

interface Copying {
  readonly ancestors: readonly object[]
  /** How many values the whole copy may still have. */
  readonly budget: { values: number }
}

function copy(input: unknown, path: string, copying: Copying): JsonValue | undefined {
  const { ancestors, budget } = copying
  spend(budget, 1, path)
  // Before toJSON: Node's Buffer has one that makes a list of numbers.
  const bytes = toBytes(input, path)
  if (bytes !== undefined) return toBase64(bytes)
  let value = input
  const toJSON = readToJson(value, path)
  if (toJSON !== undefined) value = toJSON
  switch (typeof value) {
    case 'undefined':
      return undefined
    case 'string':
      return value.toWellFormed()
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw unstorable(path, `is ${value}`)
      return value === 0 ? 0 : value
    case 'object':
      break
    default:
      throw unstorable(path, `is a ${typeof value}`)
  }
  if (value === null) return null
  if (ancestors.includes(value)) throw unstorable(path, 'contains itself')
  if (ancestors.length >= MAX_DEPTH) {
    throw unstorable(path.slice(0, 80), `is nested deeper than ${MAX_DEPTH} levels`)
  }
  const inside = { ancestors: [...ancestors, value], budget }
  try {
    if (!Array.isArray(value)) return copyObject(value, path, inside)
    // Looked at before it is walked: an array may say that it has four billion elements.
    if (value.length > budget.values) spend(budget, value.length, path)
    return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, inside) ?? null)
  } catch (error) {
    if (error instanceof SessionError) throw error
    throw unreadable(path, error)
  }
}

/** One object that is referred to from many places is copied as often: a few can stand for billions. */
function spend(budget: { values: number }, values: number, path: string): void {
  budget.values -= values
  if (budget.values < 0) {
    throw unstorable(path.slice(0, 80), `makes it more than ${MAX_VALUES} values`)
  }
}

function copyObject(value: object, path: string, inside: Copying): JsonObject {
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (kind === 'Number' || kind === 'String' || kind === 'Boolean') {
    return copy(value.valueOf(), path, inside) as never
  }
  if (UNSTORABLE_KINDS.has(kind)) throw unstorable(path, `is a ${kind}`)
  const members: [string, JsonValue][] = []
  for (const key of Object.keys(value)) {
    const item = copy((value as Record<string, unknown>)[key], memberPath(path, key), inside)
    if (item !== undefined) members.push([key.toWellFormed(), item])
  }
  // Not by assignments: one would set the prototype for a key named __proto__.
  return Object.fromEntries(members)
}

/** Objects that JSON would silently turn into `{}`. */
const UNSTORABLE_KINDS = new Set([
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'Promise',
  'RegExp',
  'Symbol',
  'BigInt',
  'Blob',
  'File',
  'Error',
])

function readToJson(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    const method = (value as { toJSON?: unknown }).toJSON
    if (typeof method !== 'function') return undefined
    const result: unknown = method.call(value, '')
    return result === undefined ? null : result
  } catch (error) {
    throw unreadable(path, error)
  }
}

function toBytes(value: unknown, path: string): Uint8Array | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    if (ArrayBuffer.isView(value)) {
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    }
    const kind = Object.prototype.toString.call(value)
    return kind === '[object ArrayBuffer]' || kind === '[object SharedArrayBuffer]'
      ? new Uint8Array(value as ArrayBuffer)
      : undefined
  } catch (error) {
    throw unreadable(path, error)
  }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // In pieces: arguments are limited.
  for (let start = 0; start < bytes.length; start += 8192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8192))
  }
  return btoa(binary)
}

function memberPath(path: string, key: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)
    ? `${path}.${key}`
    : `${path}[${JSON.stringify(key)}]`
}

function unstorable(path: string, problem: string): SessionError {
  return invalid('INVALID_EVENT', path, `${problem}, which cannot be stored`)
}

function unreadable(path: string, cause: unknown): SessionError {
  return invalid('INVALID_EVENT', path, `cannot be read: ${describeThrown(cause)}`, cause)
}

/**
 * Like {@link toStoredJson}, for a value that must be an object.
 *
 * @throws SessionError `INVALID_EVENT` when it is anything else.
 */
export function toStoredObject(value: unknown, path: string): JsonObject {
  const stored = toStoredJson(value, path)
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) {
    throw invalid('INVALID_EVENT', path, `must be a plain object, not ${describeValue(stored)}`)
  }
  return stored as JsonObject
}

/**
 * Reads stored JSON. Rows that turnlog wrote are well-formed; in those of others a lone surrogate may be
 * escaped, and a model's provider refuses every prompt that holds one.
 */
export function parseStoredJson(text: string): unknown {
  return /\\u[dD][89a-fA-F]/.test(text)
    ? JSON.parse(text, (_key, value) => (typeof value === 'string' ? value.toWellFormed() : value))
    : JSON.parse(text)
}

/** The length of a well-formed string in UTF-8 bytes. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate is half of a character of four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}

/** Whether two stored values are the same; the order of keys means nothing. */
export function isSameJson(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return false
  }
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) &&
        isSameJson((one as JsonObject)[key], (other as JsonObject)[key]),
    )
  )
}
