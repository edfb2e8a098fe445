/** Session memory around a model call: history in before it, what was said into the log after it. */

import {
  checkMethod,
  isGiven,
  readFlag,
  readFunction,
  readOptions,
  readSignal,
} from '../core/arguments.ts'
import {
  type CompactionResult,
  type CompactionStrategy,
  type CompactionTrigger,
  type CompactOptions,
  withoutChange,
} from '../core/compact.ts'
import { describeValue, invalidArgument, notOwner, reading } from '../core/errors.ts'
import { EventFilter, type EventFilterInput } from '../core/event-filter.ts'
import { prepareEvent } from '../core/event-input.ts'
import { checkId, randomId } from '../core/identifiers.ts'
import { checkMessage, type Message } from '../core/message.ts'
import type { EventInput, Session, SessionEvent, TimeToLive } from '../core/session.ts'
import { checkTimeToLive } from '../core/session-record.ts'
import type { SessionService } from '../core/session-service.ts'
import { type AgentTool, CONVERSATION_BRANCH, CONVERSATION_ID } from '../tools/agent-tool.ts'
import { type CONVERSATION_SEARCH, createSessionEventTools } from '../tools/conversation-search.ts'
import {
  type CROSS_SESSION_SEARCH,
  createCrossSessionRecallTools,
} from '../tools/cross-session-search.ts'
import { completePairs } from './complete-pairs.ts'
import { type MessageFilter, skipEmptyMessages } from './message-filter.ts'

/** What holds for all runs of a memory. */
export interface SessionMemoryOptions {
  /** When to compact after an answer; together with `strategy` or not at all. */
  readonly trigger?: CompactionTrigger | null | undefined
  /** How to compact. */
  readonly strategy?: CompactionStrategy | null | undefined
  /** What of the active view goes into a prompt. Default: all of it. */
  readonly filter?: EventFilterInput | undefined
  /** Which messages are stored. Default: `skipEmptyMessages`. */
  readonly messageFilter?: MessageFilter | undefined
  /** The estimate that compaction results are counted with. */
  readonly estimateTokens?: CompactOptions['estimateTokens']
  /** Lifetime of sessions that `begin` creates. Default: the service's. */
  readonly timeToLive?: TimeToLive | undefined
  /** Results per page of the tools. Default 10. */
  readonly pageSize?: number | null | undefined
  /** Hands out `cross_session_search` over the owner's sessions as well. Default `false`. */
  readonly crossSessionSearch?: boolean | null | undefined
}

/** What a run begins with. */
export interface BeginOptions<M extends Message = Message> {
  /** Created for the user when it does not exist. */
  readonly sessionId: string
  /** Must be the session's owner when given. Default for new sessions: the service's `defaultUserId`. */
  readonly userId?: string | null | undefined
  /** Merged over the memory's filter, for this call. */
  readonly filter?: EventFilterInput | null | undefined
  /** What the application wants to say to the model now, the history left out. */
  readonly messages: readonly M[]
  /**
   * The same on a retry, and for every step of one tool loop; at most 400 characters. Default: a new one.
   */
  readonly runId?: string | null | undefined
}

/** The system messages among `M`. */
export type SystemMessage<M extends Message> = [Extract<M, { role: 'system' }>] extends [never]
  ? M
  : Extract<M, { role: 'system' }>

/** What storing an answer led to. */
export interface EndResult<M extends Message = Message> {
  readonly events: readonly SessionEvent<M>[]
  /** Only there when the memory has a trigger and a strategy. Its failure never fails an answer. */
  readonly compaction: CompactionResult | null
}

/** One call of a model, or one loop of calls with tools. */
export interface MemoryRun<M extends Message = Message> {
  readonly runId: string
  /** System messages: those of the history, then those of `begin`. */
  readonly system: SystemMessage<M>[]
  /** The history, then the new messages; no half of a tool exchange. */
  readonly messages: M[]
  /** The search tools, bound to this session and branch. */
  readonly tools: readonly AgentTool<typeof CONVERSATION_SEARCH | typeof CROSS_SESSION_SEARCH>[]
  /**
   * Stores a part of the answer while the rest is still to come, such as one step of a tool loop; one
   * call at a time. `end` and `abort` then take what comes after it. When the run is begun again, and the
   * last of what was stored so is a tool's result, the prompt holds it all: the model goes on from there,
   * and no tool runs twice.
   */
  append(messages: readonly M[] | null | undefined): Promise<readonly SessionEvent<M>[]>
  /**
   * Stores the model's answer, then compacts when it is time and waits for that; `signal` ends the
   * compaction, and with it the waiting (a summary is as slow as its model).
   */
  end(
    messages: readonly M[] | null | undefined,
    options?: { readonly signal?: AbortSignal | null | undefined } | null,
  ): Promise<EndResult<M>>
  /**
   * Stores an answer as far as it came (`metadata.aborted` is `true`), without compacting. Later prompts
   * hold it, until the run is begun again and comes further. Nothing after `end`.
   */
  abort(partial?: readonly M[] | null | undefined): Promise<readonly SessionEvent<M>[]>
}

/** Gives a model call its memory. */
export interface SessionMemory<M extends Message = Message> {
  /**
   * Reads the history and stores the last user or tool message of `messages`, before the model is
   * called. Called again with the same `runId` and a longer list, it stores what the run has not stored
   * yet. Events are told by run and position, never by content: an honest repetition is kept.
   *
   * @throws SessionError `NOT_OWNER`, `INVALID_ARGUMENT`, `INVALID_FILTER`, `INVALID_EVENT`; nothing is
   * stored then.
   */
  begin(options: BeginOptions<M>): Promise<MemoryRun<M>>
}

const MAX_OPEN_RUNS = 1000

/** @throws SessionError `INVALID_ARGUMENT` when trigger and strategy do not come together. */
export function createSessionMemory<M extends Message = Message>(
  service: SessionService<M>,
  given: SessionMemoryOptions | null = {},
): SessionMemory<M> {
  checkMethod(service, 'getEvents', 'service')
  const options = readOptions(given)
  const { trigger, strategy, estimateTokens, timeToLive } = options
  if (isGiven(trigger) !== isGiven(strategy)) {
    throw invalidArgument('trigger', 'and strategy go together: give both or neither')
  }
  if (isGiven(trigger)) readFunction(trigger, 'trigger')
  if (isGiven(strategy)) readFunction(strategy, 'strategy')
  if (isGiven(estimateTokens)) readFunction(estimateTokens, 'estimateTokens')
  checkTimeToLive(timeToLive, null)
  const crossSessionSearch = readFlag(options.crossSessionSearch, 'crossSessionSearch')
  const isStored = readFunction(options.messageFilter, 'messageFilter', skipEmptyMessages)
  if (options.filter === null)
    throw invalidArgument('filter', 'must be an EventFilter or its options')
  const defaultFilter = EventFilter.of(options.filter ?? {})
  const [conversationSearch] = createSessionEventTools(service, { pageSize: options.pageSize })
  /** Where the stored messages of a run begin, by session and run. */
  const starts = new Map<string, number>()
  const remember = (key: string, position: number) => {
    starts.set(key, position)
    // Runs that nobody ends must not add up; the store knows their beginnings as well.
    const [oldest] = starts.size > MAX_OPEN_RUNS ? starts.keys() : []
    if (oldest !== undefined) starts.delete(oldest)
  }

  const open = async (
    sessionId: string,
    userId: string | null,
    checkOpening: () => void,
  ): Promise<Session> => {
    let session = await service.findById(sessionId)
    if (session === null) {
      // Before anything is created: what cannot be stored must leave nothing behind.
      checkOpening()
      session = await service.findOrCreate({ id: sessionId, userId, timeToLive })
    }
    if (userId !== null && session.userId !== userId) {
      throw notOwner(sessionId, userId)
    }
    return session
  }

  const compactAfterAnswer = async (
    sessionId: string,
    signal: AbortSignal,
  ): Promise<CompactionResult | null> => {
    if (!isGiven(trigger) || !isGiven(strategy)) return null
    try {
      return await service.compact(sessionId, { trigger, strategy, estimateTokens, signal })
    } catch (error) {
      return withoutChange('failed', [], error)
    }
  }

  return {
    async begin(request) {
      const { sessionId, userId, filter, runId, ...rest } = readOptions(request)
      const id = checkId(sessionId, 'sessionId')
      const user = isGiven(userId) ? checkId(userId, 'userId') : null
      const run = isGiven(runId) ? checkRunId(runId) : randomId()
      const messages = readMessages(rest.messages)
      const view = defaultFilter.merge(filter ?? {}).merge(EventFilter.active())
      const isPlain = JSON.stringify(view) === JSON.stringify(EventFilter.active())
      const { branch } = view
      const last = messages.findLastIndex(isAnswerable)
      const session = await open(id, user, () => {
        const message = messages[last]
        if (message === undefined || !isStored(message)) return
        const path = `messages[${last}]`
        prepareEvent({ message, branch }, { sessionId: id, id: path, now: 0, path })
      })

      const key = JSON.stringify([id, run])
      const eventId = (position: number) => `${run}:${position}`
      const findStart = async (): Promise<number | null> => {
        const known = starts.get(key)
        if (known !== undefined) return known
        // A run id that was given may have been begun before a reload, by another instance.
        if (!isGiven(runId)) return null
        for (const [position, message] of messages.entries()) {
          if (!isAnswerable(message)) continue
          if ((await service.findEvent(id, eventId(position))) !== null) return position
        }
        return null
      }

      const viewEvents = await service.getEvents(id, view)
      const history = withoutOutdated(viewEvents, run)
      const begun = await unfinishedPart(run, messages.length, async () => {
        // What a filter leaves out was said all the same.
        if (!isGiven(runId)) return []
        return isPlain ? viewEvents : service.getEvents(id, EventFilter.active())
      })
      const start = await findStart()
      const wanted = messages
        .map((message, position) => ({ message, position }))
        .filter(({ message, position }) =>
          start === null ? position === last : position >= start && message.role !== 'system',
        )
        .filter(({ message }) => isStored(message))
      const append = (events: readonly EventInput<M>[]) =>
        events.length === 0 ? Promise.resolve([]) : service.appendEvents(id, events)
      const stored = await append(
        wanted.map(({ message, position }) => ({ message, id: eventId(position), branch })),
      )
      if (last >= 0) remember(key, start ?? last)

      // As stored, so that a later prompt repeats it byte for byte.
      const storedAt = new Map(stored.map((event) => [event.id, event.message]))
      const given = messages.map((message, position) => storedAt.get(eventId(position)) ?? message)
      const before = history.map(({ message }) => message)
      const prompt = [...before, ...given, ...begun.map(({ message }) => message)]
      const context = {
        [CONVERSATION_ID]: id,
        ...(branch === null ? {} : { [CONVERSATION_BRANCH]: branch }),
      }
      let next = messages.length
      for (const { id: begunId } of begun) next = positionOf(begunId) + 1
      let ended = false
      // Each attempt's own: a retry that is aborted too keeps its part besides.
      const attempt = randomId()

      const store = (replies: readonly M[], suffix: string, metadata?: { aborted: true }) =>
        append(
          replies
            .map((message, index) => ({
              message,
              id: `${eventId(next + index)}${suffix}`,
              branch,
              metadata,
            }))
            .filter(({ message }) => isStored(message)),
        )

      return {
        runId: run,
        system: prompt.filter(({ role }) => role === 'system') as SystemMessage<M>[],
        messages: completePairs(prompt.filter(({ role }) => role !== 'system')),
        tools: [
          bind(conversationSearch, context),
          ...(crossSessionSearch
            ? createCrossSessionRecallTools(service, {
                userId: session.userId,
                pageSize: options.pageSize,
              })
            : []),
        ],
        async append(given) {
          const replies = readMessages(given ?? [])
          const events = await store(replies, '')
          next += replies.length
          return events
        },
        async end(given, request) {
          const replies = readMessages(given ?? [])
          const signal = readSignal(readOptions(request).signal)
          const events = await store(replies, '')
          ended = true
          starts.delete(key)
          return { events, compaction: await compactAfterAnswer(id, signal) }
        },
        async abort(partial) {
          const replies = readMessages(partial ?? [])
          starts.delete(key)
          // Under ids of its own: a retry of the run stores its whole answer besides.
          return ended ? [] : store(replies, `:aborted:${attempt}`, { aborted: true })
        },
      }
    },
  }
}

/** Event ids are made of it, and end at 512 characters. */
const MAX_RUN_ID_LENGTH = 400

function checkRunId(runId: string): string {
  const id = checkId(runId, 'runId')
  if (id.length <= MAX_RUN_ID_LENGTH) return id
  throw invalidArgument(
    'runId',
    `is ${id.length} characters long; ${MAX_RUN_ID_LENGTH} is the limit`,
  )
}

/** Whether a model may be asked to answer this message: what a run begins with. */
function isAnswerable({ role }: Message): boolean {
  return role === 'user' || role === 'tool'
}

/** A copy of a list of messages: the caller's own may grow while a run goes on. */
function readMessages<M extends Message>(given: readonly M[] | undefined): readonly M[] {
  return reading('INVALID_ARGUMENT', 'messages', () => {
    if (!Array.isArray(given)) throw invalidArgument('messages', 'must be an array of messages')
    const messages: readonly M[] = [...given]
    for (const [index, message] of messages.entries()) {
      const path = `messages[${index}]`
      if (typeof message !== 'object' || message === null) {
        throw invalidArgument(path, `must be a message, not ${describeValue(message)}`)
      }
      reading('INVALID_EVENT', path, () => checkMessage(message, path))
    }
    return messages
  })
}

/** The run, the position in it and, when it was aborted, the attempt that an event's id tells. */
const RUN_EVENT = /^(.*):\d+(?::aborted:(.*))?$/s

function positionOf(eventId: string): number {
  return Number(/:(\d+)$/.exec(eventId)?.[1] ?? -1)
}

/**
 * What an earlier attempt of the run stored of its answer, from `position` on, if it stopped behind a
 * tool's result: the model has still to answer that. Otherwise the answer is there, or nothing of it.
 */
async function unfinishedPart<M extends Message>(
  run: string,
  position: number,
  readView: () => Promise<readonly SessionEvent<M>[]>,
): Promise<readonly SessionEvent<M>[]> {
  const part = (await readView()).filter(({ id, metadata }) => {
    const [, ofRun, attempt] = RUN_EVENT.exec(id) ?? []
    const isWhole = attempt === undefined && metadata['erased'] !== true
    return ofRun === run && isWhole && positionOf(id) >= position
  })
  return part.at(-1)?.message.role === 'tool' ? part : []
}

/**
 * A view without what a prompt must not hold: the events of the run itself, whose messages are given
 * again, what was erased, and parts of answers whose run came further in a later attempt.
 */
function withoutOutdated<M extends Message>(
  view: readonly SessionEvent<M>[],
  ownRun: string,
): readonly SessionEvent<M>[] {
  const attempts = new Map<string, string | null>()
  const places = view.map(({ id }) => {
    const [, run = null, attempt = null] = RUN_EVENT.exec(id) ?? []
    if (run !== null) attempts.set(run, attempt)
    return { run, attempt }
  })
  return view.filter(({ metadata }, index) => {
    const { run, attempt } = places[index] ?? { run: null, attempt: null }
    if (metadata['erased'] === true || run === ownRun) return false
    const isPartial = metadata['aborted'] === true && attempt !== null
    return !(isPartial && run !== null && attempts.get(run) !== attempt)
  })
}

function bind<Name extends string>(
  tool: AgentTool<Name>,
  context: Readonly<Record<string, string>>,
): AgentTool<Name> {
  return { ...tool, execute: (args) => tool.execute(args, context) }
}
