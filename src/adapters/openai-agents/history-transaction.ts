/** Transactions of the OpenAI Agents SDK: what they want, and by what they are known again. */

import type { AgentInputItem, SessionHistoryTransaction } from '@openai/agents-core'
import { describeValue, invalidArgument, SessionError } from '../../core/errors.ts'
import { isSameJson, type JsonObject, type JsonValue, toStoredObject } from '../../core/json.ts'
import type { EventInput, SessionEvent } from '../../core/session.ts'
import { itemsOf, toItemEvent } from './agent-items.ts'

/** The key in the metadata of an operation's first event that tells it from others of the same name. */
export const METADATA_AGENT_OPERATION = 'agentOperation'

/** A transaction in its stored form. */
export interface ParsedTransaction {
  readonly added: readonly AgentInputItem[]
  /** The items that must be the last ones, and are replaced; `null`: none are. */
  readonly expected: readonly JsonObject[] | null
  /** The same for the same transaction only. */
  readonly digest: string
}

/** @throws SessionError `INVALID_ARGUMENT`, `INVALID_EVENT` */
export function parseTransaction(transaction: SessionHistoryTransaction): ParsedTransaction {
  const { type } = transaction ?? {}
  if (type !== 'append_items' && type !== 'replace_suffix') {
    throw invalidArgument(
      'transaction.type',
      `must be append_items or replace_suffix, not ${describeValue(type)}`,
    )
  }
  const { added, suffix } =
    transaction.type === 'append_items'
      ? { added: transaction.items, suffix: null }
      : { added: transaction.replacement, suffix: transaction.expectedSuffix }
  const expected = suffix === null ? null : toStored(suffix, 'expectedSuffix')
  const digest = digestOf({ added: toStored(added, 'items'), expected })
  return { added, expected, digest }
}

/** Whether an operation was applied, as its first event tells. */
export function isApplied(
  first: SessionEvent | null,
  operationId: string,
  digest: string,
): boolean {
  if (first === null) return false
  const operation = first.metadata[METADATA_AGENT_OPERATION] as JsonObject | undefined
  if (operation !== undefined && operation['digest'] !== digest) {
    throw invalidArgument(
      'operationId',
      `"${operationId}" was applied before, with another transaction`,
    )
  }
  return true
}

/** The events of an operation, the first one marked. */
export function operationEvents(
  { added, digest }: ParsedTransaction,
  operationId: string,
): readonly EventInput[] {
  // An operation that adds nothing leaves an event that says nothing, to be known by.
  const events: readonly EventInput[] =
    added.length > 0
      ? toItemEvents(added, 'items')
      : [{ message: { role: 'assistant', content: [] } }]
  return events.map((event, index) => ({
    ...event,
    id: eventIdOf(operationId, index),
    metadata:
      index > 0 ? event.metadata : { ...event.metadata, [METADATA_AGENT_OPERATION]: { digest } },
  }))
}

/** The ids of an operation's events. */
export function eventIdOf(operationId: string, index: number): string {
  return `agents:${operationId}:${index}`
}

/**
 * The last events of a view, which must hold these items, and items that stand before them in the same
 * event.
 *
 * @throws SessionError `VERSION_CONFLICT` when they do not.
 */
export function matchSuffix(
  events: readonly SessionEvent[],
  expected: readonly JsonObject[],
): { readonly suffix: readonly SessionEvent[]; readonly before: readonly AgentInputItem[] } {
  const suffix: SessionEvent[] = []
  let items: readonly AgentInputItem[] = []
  for (const event of events.toReversed()) {
    if (items.length >= expected.length) break
    suffix.unshift(event)
    items = [...itemsOf(event), ...items]
  }
  const start = items.length - expected.length
  const actual = start < 0 ? [] : toStored(items.slice(start), 'items')
  if (start < 0 || !isSameJson(actual, expected)) {
    throw new SessionError(
      'VERSION_CONFLICT',
      'the last items of the session are not the ones that the transaction replaces',
    )
  }
  return { suffix, before: items.slice(0, start) }
}

/** Items as events, and the paths of what cannot be stored. */
export function toItemEvents(
  items: readonly AgentInputItem[],
  path: string,
): readonly EventInput[] {
  return checkItems(items, path).map((item, index) => toItemEvent(item, `${path}[${index}]`))
}

function toStored(items: readonly AgentInputItem[], path: string): readonly JsonObject[] {
  return checkItems(items, path).map((item, index) => toStoredObject(item, `${path}[${index}]`))
}

function checkItems(items: readonly AgentInputItem[], path: string): readonly AgentInputItem[] {
  if (Array.isArray(items)) return items
  throw invalidArgument(path, `must be an array of items, not ${describeValue(items)}`)
}

/** 106 bits of a value; the order of keys means nothing. It guards against mistakes, not against malice. */
function digestOf(value: unknown): string {
  const text = JSON.stringify(sortKeys(value as JsonValue))
  let [one, two, three, four] = [0xdeadbeef, 0x41c6ce57, 0x9e3779b9, 0x85ebca6b]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    one = Math.imul(one ^ unit, 2654435761)
    two = Math.imul(two ^ unit, 1597334677)
    three = Math.imul(three ^ unit, 951274213)
    four = Math.imul(four ^ unit, 2716044179)
  }
  return [one, two, three, four].map((part) => (part >>> 0).toString(36)).join('.')
}

function sortKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, sortKeys(each)]))
}
