/** A figure of the benchmark, and what the project promises of it. */

export interface Metric {
  readonly name: string
  readonly value: number
  /** What it is measured against. */
  readonly baseline: number
  /** See `reach`: `value / baseline` where it says "at most", `baseline / value` where it says "at least". */
  readonly ratio: number
  readonly unit: 'ms' | 'rows' | 'bytes'
  readonly note: string
}

/** What the ratio, or for `most` the value itself, has to be. */
export type Reach =
  | { readonly kind: 'ratioAtMost'; readonly limit: number }
  | { readonly kind: 'timesFaster'; readonly limit: number }
  | { readonly kind: 'valueAtMost'; readonly limit: number }

const ratioAtMost = (limit: number): Reach => ({ kind: 'ratioAtMost', limit })
const timesFaster = (limit: number): Reach => ({ kind: 'timesFaster', limit })
const valueAtMost = (limit: number): Reach => ({ kind: 'valueAtMost', limit })

/** How many events a page of a search holds. */
export const PAGE_SIZE = 10

/** The promise for every figure, by its name. Figures of peers have none. */
export const REACHES: Readonly<Record<string, Reach>> = {
  'idb.append.single': ratioAtMost(1.6),
  'idb.append.batch1000': ratioAtMost(1.8),
  'idb.lastN20.growth': ratioAtMost(1.3),
  'idb.active40.growth': ratioAtMost(1.3),
  'idb.search.common': timesFaster(30),
  'idb.search.late': timesFaster(30),
  'idb.search.phrase': timesFaster(30),
  'idb.search.absent': timesFaster(30),
  'idb.search.twochars': timesFaster(10),
  'idb.search.onechar': timesFaster(10),
  'idb.search.cjk2': timesFaster(10),
  'idb.search.page50': timesFaster(5),
  'idb.cross.rare': timesFaster(20),
  'idb.cross.absent': timesFaster(20),
  'idb.search.bytes': ratioAtMost(1 / 5),
  'do.append.rowsWritten': valueAtMost(5),
  'do.search.common.rowsRead': ratioAtMost(0.01),
  'do.search.late.rowsRead': ratioAtMost(0.01),
  'do.search.phrase.rowsRead': ratioAtMost(0.01),
  'do.search.absent.rowsRead': ratioAtMost(0.01),
  'do.search.twochars.rowsRead': ratioAtMost(0.01),
  'do.search.cjk2.rowsRead': ratioAtMost(0.01),
  'do.cross.absent.rowsRead': ratioAtMost(0.02),
  'do.lastN20.rowsRead': valueAtMost(30),
  'do.active40.rowsRead': valueAtMost(60),
  'storage.overhead': ratioAtMost(1.8),
  'storage.overhead.worker': ratioAtMost(1.8),
  'index.upgrade': valueAtMost(50),
}

/** A figure with its ratio, by what is promised of it. */
export function metric(
  name: string,
  unit: Metric['unit'],
  value: number,
  baseline: number,
  note = '',
): Metric {
  const isFaster = REACHES[name]?.kind === 'timesFaster'
  return {
    name,
    value,
    baseline,
    ratio: isFaster ? baseline / value : value / baseline,
    unit,
    note,
  }
}

/** The figures of peers, with ours of the same work as their baseline where there is one. */
export function compareWithPeers(metrics: readonly Metric[]): readonly Metric[] {
  const values = new Map(metrics.map(({ name, value }) => [name, value]))
  return metrics.map((item) => {
    const [, peer, work] = /^peer\.(\w+)\.(.+)$/.exec(item.name) ?? []
    const ours = values.get(`${peer === 'dexie' ? 'idb' : 'do'}.${work}`)
    if (peer === undefined || ours === undefined) return item
    return { ...item, baseline: ours, ratio: item.value / ours }
  })
}

/** Whether a figure is what was promised; `null` when nothing was. */
export function isReached({ name, value, ratio }: Metric): boolean | null {
  const reach = REACHES[name]
  if (reach === undefined) return null
  if (reach.kind === 'timesFaster') return ratio >= reach.limit
  return (reach.kind === 'valueAtMost' ? value : ratio) <= reach.limit
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** The value that a share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
}
