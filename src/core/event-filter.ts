/** EventFilter: which events of a log a read returns. `matches` and `apply` are the definition. */

import {
  describeValue,
  invalidArgument,
  invalid as invalidField,
  reading,
  type SessionError,
} from './errors.ts'
import { isBlank } from './identifiers.ts'
import { checkInstant, type InstantInput } from './instant.ts'
import { MESSAGE_TYPES, type Message, type MessageType, messageText } from './message.ts'
import { foldText } from './text.ts'

/** Whether one of the keywords has to occur, or every one. */
export type MatchMode = 'any' | 'all'

/** The criteria of a filter; `null` and absent mean alike. All that are given must hold. */
export interface EventFilterOptions {
  /** Exclude events before this instant. */
  readonly from?: InstantInput | null | undefined
  /** Exclude events after this instant. */
  readonly to?: InstantInput | null | undefined
  /** Keep only these message types; an empty collection means no restriction. */
  readonly messageTypes?: Iterable<MessageType> | null | undefined
  /** Exclude summaries. Default `false`. */
  readonly excludeSynthetic?: boolean | null | undefined
  /** Only the active view, in view order. Default `false`. */
  readonly excludeArchived?: boolean | null | undefined
  /** Exclude what `rewind` took out. Default `false`. */
  readonly excludeRewound?: boolean | null | undefined
  /** Only the newest N matches, oldest first; a positive integer. Not together with `pageSize`. */
  readonly lastN?: number | null | undefined
  /** A literal substring of the message's text, case-insensitive; blank means none. */
  readonly keyword?: string | null | undefined
  /** Several of them; blank ones are dropped. */
  readonly keywords?: Iterable<string> | null | undefined
  /** How `keywords` combine. Default `'any'`. */
  readonly matchMode?: MatchMode | null | undefined
  /** Zero-indexed page, oldest first; needs `pageSize`. */
  readonly page?: number | null | undefined
  /** Results per page; a positive integer. */
  readonly pageSize?: number | null | undefined
  /** Only events that this agent branch may see: its own, its ancestors', and the root's. */
  readonly branch?: string | null | undefined
}

/** A filter as JSON: every field present, instants as ISO-8601. What travels over RPC and HTTP. */
export interface EventFilterJson {
  readonly from: string | null
  readonly to: string | null
  readonly messageTypes: readonly MessageType[] | null
  readonly excludeSynthetic: boolean
  readonly excludeArchived: boolean
  readonly excludeRewound: boolean
  readonly lastN: number | null
  readonly keyword: string | null
  readonly keywords: readonly string[] | null
  readonly matchMode: MatchMode | null
  readonly page: number | null
  readonly pageSize: number | null
  readonly branch: string | null
}

/** What a filter looks at in an event. Every `SessionEvent` is one. */
export interface FilterableEvent {
  readonly timestamp: Date
  readonly message: Message
  readonly branch: string | null
  readonly synthetic: boolean
  readonly archived: boolean
  readonly rewound: boolean
}

/** An `EventFilter`, or its plain options. */
export type EventFilterInput = EventFilter | EventFilterOptions

/** How each field is read: what `null` and absent become, what is refused. */
const FIELDS = {
  from: readInstant,
  to: readInstant,
  messageTypes: readMessageTypes,
  excludeSynthetic: readFlag,
  excludeArchived: readFlag,
  excludeRewound: readFlag,
  lastN: readPositive,
  keyword: readKeyword,
  keywords: readKeywords,
  matchMode: readMatchMode,
  page: (value: unknown, field: string) => readInteger(value, field, 0),
  pageSize: readPositive,
  branch: readString,
} as const satisfies Record<keyof EventFilterJson, (value: unknown, field: string) => unknown>

const FIELD_NAMES = Object.keys(FIELDS) as readonly (keyof EventFilterJson)[]

/** An immutable filter over the events of a session. */
export class EventFilter {
  /** The page size of `keywordSearch` when none is given. */
  static readonly DEFAULT_PAGE_SIZE = 10

  declare readonly messageTypes: readonly MessageType[] | null
  declare readonly excludeSynthetic: boolean
  declare readonly excludeArchived: boolean
  declare readonly excludeRewound: boolean
  declare readonly lastN: number | null
  /** Lower case. */
  declare readonly keyword: string | null
  /** Lower case. */
  declare readonly keywords: readonly string[] | null
  declare readonly matchMode: MatchMode | null
  declare readonly page: number | null
  declare readonly pageSize: number | null
  declare readonly branch: string | null
  readonly #from: number | null
  readonly #to: number | null
  /** What the text must contain, folded: one term of every group. */
  readonly #terms: readonly (readonly string[])[]

  private constructor(options: EventFilterOptions) {
    const keys = reading('INVALID_FILTER', 'filter', () => {
      if (typeof options === 'object' && options !== null && !Array.isArray(options)) {
        return Object.keys(options)
      }
      throw invalid('filter', `must be an object, not ${describeValue(options)}`)
    })
    for (const key of keys) {
      if (!Object.hasOwn(FIELDS, key)) {
        throw invalid(key.slice(0, 80), `is not a field of EventFilter (${FIELD_NAMES.join(', ')})`)
      }
    }
    const read = <F extends keyof EventFilterJson>(field: F) =>
      reading('INVALID_FILTER', field, () =>
        FIELDS[field](options[field] ?? null, field),
      ) as ReturnType<(typeof FIELDS)[F]>
    this.#from = read('from')
    this.#to = read('to')
    const keyword = read('keyword')
    const keywords = read('keywords')
    const matchMode = read('matchMode') ?? 'any'
    const lastN = read('lastN')
    const page = read('page')
    const pageSize = read('pageSize')
    if (lastN !== null && pageSize !== null) {
      throw invalid(
        'lastN',
        'and pageSize exclude each other: the newest, or a page from the oldest on',
      )
    }
    if (page !== null && pageSize === null) throw invalid('page', 'needs pageSize')
    Object.assign(this, {
      messageTypes: read('messageTypes'),
      excludeSynthetic: read('excludeSynthetic'),
      excludeArchived: read('excludeArchived'),
      excludeRewound: read('excludeRewound'),
      lastN,
      keyword,
      keywords,
      matchMode: keywords && matchMode,
      page: pageSize && (page ?? 0),
      pageSize,
      branch: read('branch'),
    })
    const terms = (keywords ?? []).map(foldText)
    this.#terms = [
      ...(keyword === null ? [] : [[foldText(keyword)]]),
      ...(matchMode === 'all' ? terms.map((term) => [term]) : terms.length > 0 ? [terms] : []),
    ]
    Object.freeze(this)
  }

  /** Every event. */
  static all(): EventFilter {
    return new EventFilter({})
  }

  /** The active view: what the prompt sees, in view order. */
  static active(): EventFilter {
    return new EventFilter({ excludeArchived: true })
  }

  /** The newest `n` events, oldest first. */
  static lastN(n: number): EventFilter {
    return new EventFilter({ lastN: required(n, 'lastN') })
  }

  /** Events without summaries. */
  static realOnly(): EventFilter {
    return new EventFilter({ excludeSynthetic: true })
  }

  /** One page of the events whose text contains `keyword`, oldest first. */
  static keywordSearch(
    keyword: string,
    page = 0,
    pageSize: number = EventFilter.DEFAULT_PAGE_SIZE,
  ): EventFilter {
    return new EventFilter({ keyword: required(keyword, 'keyword'), page, pageSize })
  }

  /** One page of the events whose text contains any, or all, of `terms`. */
  static keywordsSearch(
    terms: Iterable<string>,
    matchMode: MatchMode = 'any',
    page = 0,
    pageSize: number = EventFilter.DEFAULT_PAGE_SIZE,
  ): EventFilter {
    return new EventFilter({ keywords: required(terms, 'keywords'), matchMode, page, pageSize })
  }

  /** Events that the agent on `branch` may see: its own, its ancestors', and the root's. */
  static forBranch(branch: string): EventFilter {
    return new EventFilter({ branch: required(branch, 'branch') })
  }

  /**
   * A filter from plain options; a filter is returned as it is.
   *
   * @throws SessionError `INVALID_FILTER` naming the field.
   */
  static of(options: EventFilterInput): EventFilter {
    // Not instanceof, which asks a Proxy.
    return typeof options === 'object' && options !== null && #from in options
      ? options
      : new EventFilter(options)
  }

  /** The inverse of {@link toJSON}. */
  static fromJSON(json: EventFilterOptions): EventFilter {
    return new EventFilter(json)
  }

  /** A builder, one method a field: `EventFilter.builder().lastN(5).build()`. */
  static builder(): EventFilterBuilder {
    const options: Record<string, unknown> = {}
    const builder: Record<string, unknown> = { build: () => new EventFilter(options) }
    for (const field of FIELD_NAMES) {
      builder[field] = (value: unknown) => {
        options[field] = value
        return builder
      }
    }
    return builder as unknown as EventFilterBuilder
  }

  /**
   * Both filters as one: what `other` sets replaces what this one has; the `exclude…` flags are OR-ed.
   *
   * @throws SessionError `INVALID_FILTER` when the result has `lastN` and `pageSize`.
   */
  merge(other: EventFilterInput): EventFilter {
    const over = EventFilter.of(other)
    const merged: Record<string, unknown> = {}
    for (const field of FIELD_NAMES) {
      merged[field] = over[field] === false ? this[field] : (over[field] ?? this[field])
    }
    return new EventFilter(merged)
  }

  /**
   * Whether an event meets every criterion but `lastN` and paging, which are about the whole list.
   *
   * @throws SessionError `INVALID_ARGUMENT` when it is no event.
   */
  matches(event: FilterableEvent): boolean {
    return reading('INVALID_ARGUMENT', 'event', () => {
      return this.matchesEnvelope(event, event.message.role) && this.matchesText(event.message)
    })
  }

  /** The part of {@link matches} that needs no content, so that a store need not parse it. */
  matchesEnvelope(
    event: Omit<FilterableEvent, 'timestamp' | 'message'> & { readonly timestamp: Date | number },
    role: MessageType,
  ): boolean {
    return (
      (this.#from === null || Number(event.timestamp) >= this.#from) &&
      (this.#to === null || Number(event.timestamp) <= this.#to) &&
      (this.messageTypes === null || this.messageTypes.includes(role)) &&
      !(this.excludeSynthetic && event.synthetic) &&
      !(this.excludeArchived && (event.archived || event.rewound)) &&
      !(this.excludeRewound && event.rewound) &&
      (this.branch === null || isVisible(event.branch, this.branch))
    )
  }

  /** The part of {@link matches} that reads the message: the keywords. */
  matchesText(message: Message): boolean {
    return this.#terms.length === 0 || this.matchesFoldedText(foldText(messageText(message)))
  }

  /** {@link matchesText} for a text that went through `foldText` already. */
  matchesFoldedText(folded: string): boolean {
    return this.#terms.every((group) => group.some((term) => folded.includes(term)))
  }

  get from(): Date | null {
    return this.#from === null ? null : new Date(this.#from)
  }

  get to(): Date | null {
    return this.#to === null ? null : new Date(this.#to)
  }

  /** The keywords after folding, as groups: a text matches when it holds a term of every group. */
  get foldedTerms(): readonly (readonly string[])[] {
    return this.#terms
  }

  /**
   * The events of a list that the filter returns. For `excludeArchived` the list is the view in view
   * order, otherwise the log in `seq` order.
   *
   * @throws SessionError `INVALID_ARGUMENT` when it is no array of events.
   */
  apply<E extends FilterableEvent>(events: readonly E[]): E[] {
    if (!reading('INVALID_ARGUMENT', 'events', () => Array.isArray(events))) {
      throw invalidArgument('events', `must be an array, not ${describeValue(events)}`)
    }
    const matching = events.filter((event) => this.matches(event))
    if (this.lastN !== null) return matching.slice(-this.lastN)
    if (this.pageSize === null) return matching
    const start = (this.page ?? 0) * this.pageSize
    return matching.slice(start, start + this.pageSize)
  }

  toJSON(): EventFilterJson {
    return {
      ...this,
      from: this.from?.toISOString() ?? null,
      to: this.to?.toISOString() ?? null,
    }
  }
}

/** One method a field; see {@link EventFilterOptions} for what each means. */
export type EventFilterBuilder = {
  readonly [F in keyof EventFilterOptions]-?: (value: EventFilterOptions[F]) => EventFilterBuilder
} & { build(): EventFilter }

/** Visible are the root (`null`), the branch itself and its ancestors by dot-separated segments. */
function isVisible(eventBranch: string | null, branch: string): boolean {
  return eventBranch === null || branch === eventBranch || branch.startsWith(`${eventBranch}.`)
}

function readInstant(value: unknown, field: string): number | null {
  return value === null ? null : checkInstant(value, field, 'INVALID_FILTER')
}

function readMessageTypes(value: unknown, field: string): readonly MessageType[] | null {
  const types = readIterable(value, field)
  for (const type of types) {
    if (!MESSAGE_TYPES.includes(type as MessageType)) {
      throw invalid(field, `must hold only ${MESSAGE_TYPES.join(', ')}, not ${describeValue(type)}`)
    }
  }
  return types.length === 0 ? null : Object.freeze([...new Set(types as MessageType[])])
}

function readKeywords(value: unknown, field: string): readonly string[] | null {
  const keywords = readIterable(value, field)
    .map((term, index) => readKeyword(term, `${field}[${index}]`))
    .filter((term) => term !== null)
  return keywords.length === 0 ? null : Object.freeze(keywords)
}

function readIterable(value: unknown, field: string): unknown[] {
  if (value === null) return []
  if (typeof value !== 'object' || !(Symbol.iterator in value)) {
    throw invalid(field, `must be an array, not ${describeValue(value)}`)
  }
  return [...(value as Iterable<unknown>)]
}

function readKeyword(value: unknown, field: string): string | null {
  const text = readString(value, field)
  return text === null || isBlank(text) ? null : text.toLowerCase()
}

function readString(value: unknown, field: string): string | null {
  if (value === null || value === undefined) return null
  if (typeof value !== 'string')
    throw invalid(field, `must be a string, not ${describeValue(value)}`)
  return value.toWellFormed()
}

function readMatchMode(value: unknown, field: string): MatchMode | null {
  if (value === null || value === 'any' || value === 'all') return value
  throw invalid(field, `must be 'any' or 'all', not ${describeValue(value)}`)
}

function readPositive(value: unknown, field: string): number | null {
  return readInteger(value, field, 1)
}

function readInteger(value: unknown, field: string, least: number): number | null {
  if (value === null) return null
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw invalid(field, `must be an integer of at least ${least}, not ${describeValue(value)}`)
  }
  return (value as number) + 0 // no -0, which JSON does not keep
}

function readFlag(value: unknown, field: string): boolean {
  if (value === null) return false
  if (typeof value !== 'boolean')
    throw invalid(field, `must be a boolean, not ${describeValue(value)}`)
  return value
}

function required<T>(value: T, field: string): T {
  if (value === null || value === undefined) throw invalid(field, 'is required')
  return value
}

function invalid(field: string, problem: string): SessionError {
  return invalidField('INVALID_FILTER', field, problem)
}
