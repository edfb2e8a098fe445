// What compactions cost a store, however much they archive; any store, any runtime.
import {
  type CompactionResult,
  EventFilter,
  recursiveSummarization,
  type SessionService,
} from 'turnlog'

/** What an operation cost, in rows or records. */
export interface Costs {
  readonly read: number
  readonly written: number
}

/** Runs an operation and says what it cost the store. */
export type Measure = <T>(operation: () => Promise<T>) => Promise<Costs & { readonly result: T }>

export interface CompactionCosts {
  readonly compactions: readonly (Costs & { readonly archived: number })[]
  /** `getEvents(active())` afterwards. */
  readonly view: Costs & { readonly events: number; readonly archived: number }
}

/** How many events each compaction archives. */
export const ARCHIVED = [10, 1_000, 50_000] as const

/** The view that each compaction leaves: two summaries and the newest events. */
export const VIEW = 40

/**
 * Compacts one session three times, with a summary pair.
 *
 * @param settle waits for what the store does in the background, so that it is not counted.
 */
export async function measureCompaction(
  service: SessionService,
  measure: Measure,
  settle: () => Promise<void> = async () => undefined,
): Promise<CompactionCosts> {
  const strategy = recursiveSummarization({
    maxEventsToKeep: VIEW - 2,
    summarize: () => 'They spoke of the weather.',
  })
  await service.create({ id: 's' })
  const append = async (count: number) => {
    for (let rest = count; rest > 0; rest -= 5_000) {
      const events = Array.from({ length: Math.min(rest, 5_000) }, (_, index) => ({
        message: {
          role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
          content: `message ${index}: ${'what people say to one another '.repeat(3)}`,
        },
      }))
      await service.appendEvents('s', events)
    }
    await settle()
  }

  const compactions: CompactionCosts['compactions'][number][] = []
  let held = 0
  for (const archived of ARCHIVED) {
    // The summaries of the compaction before are archived along.
    await append(archived + VIEW - 2 - held)
    held = VIEW
    const compact = () => service.compact('s', { trigger: () => true, strategy })
    const { result, read, written } = await measure<CompactionResult>(compact)
    if (result.status !== 'compacted' || result.eventsRemoved !== archived) {
      throw new Error(`${result.status}: ${result.eventsRemoved} events archived, not ${archived}`)
    }
    compactions.push({ archived, read, written })
  }
  await settle()
  const { result, ...costs } = await measure(() => service.getEvents('s', EventFilter.active()))
  const total = ARCHIVED.reduce((sum, archived) => sum + archived, 0)
  return { compactions, view: { ...costs, events: result.length, archived: total } }
}

/** What is wrong with measured costs; empty when nothing is. */
export function findExcess(
  costs: CompactionCosts,
  limits: { readonly written: number; readonly viewRead: number },
): readonly string[] {
  const written = costs.compactions.map((compaction) => compaction.written)
  return [
    ...(new Set(written).size > 1 ? [`the number written differs: ${written.join(', ')}`] : []),
    ...written
      .filter((count) => !(count > 0 && count <= limits.written))
      .map((count) => `${count} written, ${limits.written} at most`),
    ...(costs.view.events === VIEW ? [] : [`${costs.view.events} events in the view, not ${VIEW}`]),
    ...(costs.view.read > 0 && costs.view.read <= limits.viewRead
      ? []
      : [`${costs.view.read} read for the view, ${limits.viewRead} at most`]),
  ]
}

/** Rows of SQLite, as Cloudflare bills them. */
export const SQLITE_LIMITS = { written: 10, viewRead: 60 }
/** Records of IndexedDB. */
export const INDEXEDDB_LIMITS = { written: 6, viewRead: 60 }

/** A line for each figure. */
export function describeCosts(store: string, unit: string, costs: CompactionCosts): string {
  return [
    ...costs.compactions.map(
      ({ archived, written }) =>
        `${store}: a compaction that archives ${archived} events writes ${written} ${unit}`,
    ),
    `${store}: the view of ${costs.view.events} events beside ${costs.view.archived} archived ones reads ${costs.view.read} ${unit}`,
  ].join('\n')
}
