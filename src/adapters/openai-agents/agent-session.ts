/** A `Session` of the OpenAI Agents SDK over any turnlog service. */

import type {
  AgentInputItem,
  SessionHistoryMutation,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import type { CompactionStrategy, CompactionTrigger } from '../../core/compact.ts'
import { invalidArgument } from '../../core/errors.ts'
import { EventFilter } from '../../core/event-filter.ts'
import { checkId } from '../../core/identifiers.ts'
import type { TimeToLive } from '../../core/session.ts'
import type { SessionService } from '../../core/session-service.ts'
import { itemsOf } from './agent-items.ts'
import {
  eventIdOf,
  isApplied,
  matchSuffix,
  operationEvents,
  parseTransaction,
  toItemEvents,
} from './history-transaction.ts'
import { editView, type View, type ViewEdit } from './view-editor.ts'

export interface AgentSessionOptions {
  /** Created when it does not exist. Default: a new one. */
  readonly sessionId?: string | null | undefined
  /** Its owner. Default: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** Lifetime of a session that is created. Default: the service's. */
  readonly timeToLive?: TimeToLive | undefined
  /** When to compact after a run; together with `strategy` or not at all. */
  readonly trigger?: CompactionTrigger | null | undefined
  /** How to compact. */
  readonly strategy?: CompactionStrategy | null | undefined
  /** Hears that a compaction could not be stored; no run fails because of it. Default: the console. */
  readonly onError?: ((error: unknown) => void) | null | undefined
  /** The clock of the service, in epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | null | undefined
}

/**
 * What the SDK's `Runner` takes as its `session`: it hands out the active view and adds to the log. Nothing
 * that it does destroys anything. What `popItem` and transactions take away leaves the view as by a rewind;
 * what `clearSession` and compactions take away is archived, and can still be searched. To remove a session,
 * use `SessionService.delete`.
 */
export interface AgentSession
  extends SessionHistoryTransactionAwareSession,
    SessionHistoryRewriteAwareSession {
  /** Creates the session when it does not exist. */
  getSessionId(): Promise<string>
  /** The items of the view, summaries first; with a limit, the last ones. */
  getItems(limit?: number): Promise<AgentInputItem[]>
  /** Appends items, all or none. */
  addItems(items: AgentInputItem[]): Promise<void>
  /** Takes the last item out of the view. */
  popItem(): Promise<AgentInputItem | undefined>
  /** Archives the view. */
  clearSession(): Promise<void>
  /** Archives the view and appends these items, at once. */
  replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void>
  /**
   * Appends items or replaces the last ones: once, however often it is called with the same operation.
   *
   * @throws SessionError `INVALID_ARGUMENT` when the operation was another one before, `VERSION_CONFLICT`
   * when the last items are not the expected ones; nothing has changed then.
   */
  applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void>
  /** Replaces function calls: what stands behind the first of them is appended again. */
  applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void>
  /** Compacts when the trigger says so. Only there when one is given; the runner calls it after each turn. */
  runCompaction?(): Promise<null>
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function createAgentSession(
  service: SessionService,
  options: AgentSessionOptions | null = {},
): AgentSession {
  const { sessionId, userId, timeToLive, trigger, strategy } = options ?? {}
  if (Boolean(trigger) !== Boolean(strategy)) {
    throw invalidArgument('trigger', 'and strategy go together: give both or neither')
  }
  // biome-ignore lint/suspicious/noConsole: the documented default, nobody else may ever hear of it
  const onError = options?.onError ?? ((error: unknown) => console.error(error))
  const now = options?.now ?? Date.now
  let known = sessionId === null || sessionId === undefined ? null : checkId(sessionId, 'sessionId')

  const open = async (): Promise<string> => {
    const session = known === null ? null : await service.findById(known)
    if (session !== null && (userId ?? session.userId) === session.userId) return session.id
    const { id } = await service.findOrCreate({ id: known, userId, timeToLive })
    known = id
    return id
  }

  const edit = async (decide: (view: View) => ViewEdit | null | Promise<ViewEdit | null>) =>
    editView(service.repository, await open(), now, decide)

  const readItems = async (lastN?: number) => {
    const filter = EventFilter.active().merge(lastN === undefined ? {} : { lastN })
    const events = await service.getEvents(await open(), filter)
    return { events: events.length, items: events.flatMap(itemsOf) }
  }

  const session: AgentSession = {
    getSessionId: open,

    async getItems(limit) {
      if (limit === undefined) return (await readItems()).items
      if (!(limit > 0)) return []
      const count = Math.ceil(limit)
      const { events, items } = await readItems(count)
      // Events that hold no item do not count: then the last items stand further back.
      const isEnough = items.length >= count || events < count
      return (isEnough ? items : (await readItems()).items).slice(-count)
    },

    async addItems(items) {
      const events = toItemEvents(items, 'items')
      if (events.length > 0) await service.appendEvents(await open(), events)
    },

    async popItem() {
      let popped: AgentInputItem | undefined
      await edit(({ events }) => {
        const event = events.findLast((each) => itemsOf(each).length > 0)
        const items = event === undefined ? [] : itemsOf(event)
        popped = items.at(-1)
        if (event === undefined) return null
        return { dropped: [event], added: toItemEvents(items.slice(0, -1), 'items') }
      })
      return popped
    },

    async clearSession() {
      await service.clearView(await open())
    },

    async replaceHistoryWithCompaction(items) {
      const added = toItemEvents(items, 'items')
      await edit(({ events }) => ({ dropped: events, added, archive: true }))
    },

    async applyHistoryTransaction({ operationId, transaction }) {
      const id = checkId(operationId, 'operationId')
      const parsed = parseTransaction(transaction)
      const { expected, digest } = parsed
      const first = eventIdOf(id, 0)
      const find = async () => service.findEvent(await open(), first)
      await edit(async ({ events }) => {
        if (isApplied(await find(), id, digest)) return null
        const { suffix, before } = matchSuffix(events, expected ?? [])
        return {
          dropped: suffix,
          added: [...toItemEvents(before, 'items'), ...operationEvents(parsed, id)],
          operationId: first,
        }
      })
      // Another one of the same name may have come first.
      isApplied(await find(), id, digest)
    },

    async applyHistoryMutations({ mutations }) {
      if (mutations.length === 0) return
      await edit(({ events }) => {
        const isChanged = (item: AgentInputItem) => mutations.some((each) => concerns(each, item))
        const start = events.findIndex((event) => itemsOf(event).some(isChanged))
        if (start < 0) return null
        const dropped = events.slice(start)
        const items = mutations.reduce(mutate, dropped.flatMap(itemsOf))
        return { dropped, added: toItemEvents(items, 'items') }
      })
    },
  }
  if (!trigger || !strategy) return session
  return {
    ...session,
    async runCompaction() {
      try {
        await service.compact(await open(), { trigger, strategy })
      } catch (error) {
        onError(error)
      }
      return null
    },
  }
}

function concerns(mutation: SessionHistoryMutation, item: AgentInputItem): boolean {
  return item.type === 'function_call' && item.callId === mutation.callId
}

/** As the SDK's own memory does: the first such call is replaced, others are left out. */
function mutate(
  items: readonly AgentInputItem[],
  mutation: SessionHistoryMutation,
): readonly AgentInputItem[] {
  const first = items.findIndex((item) => concerns(mutation, item))
  return items.flatMap((item, index) => {
    if (!concerns(mutation, item)) return [item]
    return index === first ? [mutation.replacement] : []
  })
}
