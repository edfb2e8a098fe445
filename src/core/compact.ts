/** Compaction: asks a trigger and a strategy, and commits what is safe of the answer as a boundary. */

import { readFunction, readOptions, readSignal } from './arguments.ts'
import { isSessionError, SessionError } from './errors.ts'
import { checkBatchSize, prepareEvent } from './event-input.ts'
import { randomId } from './identifiers.ts'
import { messageText } from './message.ts'
import { rangesOf } from './seq-ranges.ts'
import type { EventInput, SessionEvent } from './session.ts'
import type { SessionRecord, SessionRepository } from './session-repository.ts'
import { estimateTokens } from './token-estimate.ts'
import { estimateEvents, type TokenEstimator } from './token-estimator.ts'
import { exchangeParts, keepSafely } from './turns.ts'
import { untilAborted } from './until-aborted.ts'

/** Whether it is time to compact the view. */
export type CompactionTrigger = (view: readonly SessionEvent[]) => boolean | Promise<boolean>

/** What a strategy wants the view to be. */
export interface CompactionProposal {
  /** New events that stand for what is archived; they come first in the view. */
  readonly summaries: readonly Omit<EventInput, 'id' | 'sessionId' | 'synthetic'>[]
  /** Ids of the events of the view that stay, earlier summaries included. */
  readonly keep: Iterable<string>
}

/**
 * Decides what stays in the view; `null`: everything. The service corrects a proposal that would break a
 * turn (see `keepSafely`), so that a strategy need not know about tool calls.
 */
export type CompactionStrategy = (
  view: readonly SessionEvent[],
  context: { readonly signal: AbortSignal },
) => CompactionProposal | null | Promise<CompactionProposal | null>

/** When and how to compact. */
export interface CompactOptions {
  readonly trigger: CompactionTrigger
  readonly strategy: CompactionStrategy
  /** Ends the compaction, whatever the trigger and the strategy wait for. */
  readonly signal?: AbortSignal | null | undefined
  /** What `tokensEstimatedSaved` is counted with. Default: the built-in estimate. */
  readonly estimateTokens?: TokenEstimator | undefined
}

/** What a compaction led to. */
export interface CompactionResult {
  /**
   * `compacted`; `not-triggered`: the trigger said no; `nothing-to-archive`: everything fits;
   * `conflict`: another compaction or rewind came first; `failed`: the trigger or the strategy threw, was
   * aborted or gave an empty summary. Only `compacted` changed anything.
   */
  readonly status: 'compacted' | 'not-triggered' | 'nothing-to-archive' | 'conflict' | 'failed'
  /** What left the view, superseded summaries included. */
  readonly archivedEvents: readonly SessionEvent[]
  /** The view after it; of a compaction that changed nothing, the one that it looked at last. */
  readonly compactedEvents: readonly SessionEvent[]
  /** The number of `archivedEvents`. */
  readonly eventsRemoved: number
  /** Estimated tokens of `archivedEvents`; what new summaries cost is not taken off. */
  readonly tokensEstimatedSaved: number
  /** Why it failed. */
  readonly error?: unknown
}

/** What a compaction needs of the service. */
export interface CompactionContext {
  readonly repository: SessionRepository
  readonly readView: (
    sessionId: string,
  ) => Promise<{ readonly session: SessionRecord; readonly events: readonly SessionEvent[] }>
  readonly generateId: () => string | Promise<string>
  readonly now: () => number
}

/** Runs one compaction; see `SessionService.compact`. */
export async function compact(
  { repository, readView, generateId, now }: CompactionContext,
  sessionId: string,
  { trigger, strategy, signal, estimate }: CheckedCompactOptions,
): Promise<CompactionResult> {
  const { session, events: view } = await readView(sessionId)
  const end = (status: CompactionResult['status'], error?: unknown) =>
    withoutChange(status, view, error)

  /** What the user's code decides, with nothing written; `null`: all fits. */
  const decide = async () => {
    // Copies of the list: whoever sorts it must not change what is safe.
    const proposal = await untilAborted(signal, async () => strategy([...view], { signal }))
    if (proposal === null || proposal === undefined) return null
    const summaries = await prepareSummaries(proposal, {
      sessionId,
      generateId: () => untilAborted(signal, async () => generateId()),
      now: now(),
    })
    const kept = new Set(keepSafely(view, readKeep(proposal)))
    const archived = view.filter((event) => !kept.has(event))
    const costs = await estimateEvents(archived, (text) =>
      untilAborted(signal, async () => estimate(text)),
    )
    signal.throwIfAborted()
    const saved = costs.reduce((sum, cost) => sum + cost, 0)
    return archived.length === 0 ? null : { summaries, kept: [...kept], archived, saved }
  }

  let decision: Awaited<ReturnType<typeof decide>>
  try {
    if (!(await untilAborted(signal, async () => trigger([...view])))) return end('not-triggered')
    decision = await decide()
  } catch (error) {
    return end('failed', error)
  }
  if (decision === null) return end('nothing-to-archive')

  const { summaries, kept, archived, saved } = decision
  const keptSummaries = kept.filter((event) => event.synthetic)
  const keptEvents = kept.filter((event) => !event.synthetic)
  try {
    await repository.commit(sessionId, {
      now: now(),
      operationId: randomId(),
      expectedSession: session.number,
      expectedBoundary: session.boundary?.id ?? null,
      events: summaries,
      boundary: {
        summaries: [...keptSummaries, ...summaries].map(({ id }) => id),
        kept: rangesOf(keptEvents.map(({ seq }) => seq)),
        through: session.lastSeq,
        rewound: [],
      },
    })
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'BOUNDARY_CONFLICT') throw error
    return withoutChange('conflict', (await readView(sessionId)).events)
  }
  const { events: compactedEvents } = await readView(sessionId)
  return {
    status: 'compacted',
    archivedEvents: archived.map((event) => ({ ...event, archived: true })),
    compactedEvents,
    eventsRemoved: archived.length,
    tokensEstimatedSaved: saved,
  }
}

/** The result of a compaction that changed nothing. */
export function withoutChange(
  status: CompactionResult['status'],
  view: readonly SessionEvent[],
  error?: unknown,
): CompactionResult {
  return {
    status,
    archivedEvents: [],
    compactedEvents: view,
    eventsRemoved: 0,
    tokensEstimatedSaved: 0,
    ...(error === undefined ? {} : { error }),
  }
}

/** {@link CompactOptions} with nothing left open. */
export interface CheckedCompactOptions {
  readonly trigger: CompactionTrigger
  readonly strategy: CompactionStrategy
  readonly signal: AbortSignal
  readonly estimate: TokenEstimator
}

/** @throws SessionError `INVALID_ARGUMENT` */
export function readCompactOptions(given: CompactOptions): CheckedCompactOptions {
  const options = readOptions(given)
  return {
    trigger: readFunction<CompactionTrigger | undefined>(options.trigger, 'trigger'),
    strategy: readFunction<CompactionStrategy | undefined>(options.strategy, 'strategy'),
    signal: readSignal(options.signal),
    estimate: readFunction(options.estimateTokens ?? estimateTokens, 'estimateTokens'),
  }
}

function readKeep({ keep }: CompactionProposal): ReadonlySet<string> {
  // A forgotten `keep`, or a single id as text, must not archive everything.
  if (typeof keep === 'object' && keep !== null) return new Set(keep)
  throw new SessionError('COMPACTION_FAILED', 'keep must be the ids of the events that stay')
}

async function prepareSummaries(
  { summaries }: CompactionProposal,
  context: {
    readonly sessionId: string
    readonly generateId: CompactionContext['generateId']
    readonly now: number
  },
) {
  const prepared = []
  for (const [index, summary] of (summaries ?? []).entries()) {
    const path = `summaries[${index}]`
    const { sessionId, generateId, now } = context
    const event = prepareEvent(
      { ...summary, sessionId, synthetic: true },
      { sessionId, id: await generateId(), now, path },
    )
    if (messageText(summary.message).trim() === '') {
      throw new SessionError('COMPACTION_FAILED', `${path} is empty`)
    }
    if (exchangeParts(summary).length > 0) {
      throw new SessionError('COMPACTION_FAILED', `${path} must not call tools`)
    }
    prepared.push(event)
  }
  checkBatchSize(prepared)
  return prepared.map(({ record }) => record)
}
