/** Prints the figures for a person to read. */

import { isReached, type Metric, REACHES } from './metric.ts'

/** `isJudged` says of which figures it is told that they miss what was promised. */
export function printTable(metrics: readonly Metric[], isJudged: (item: Metric) => boolean): void {
  const rows = metrics.map((item) => [
    item.name,
    format(item.value),
    format(item.baseline),
    item.unit,
    format(item.ratio),
    reachOf(item, isJudged(item)),
    item.note,
  ])
  const heads = ['metric', 'value', 'baseline', 'unit', 'ratio', 'reach', 'note']
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  for (const row of [heads, ...rows]) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    console.log(cells.join('  ').trimEnd())
  }
}

function format(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en')
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

function reachOf(item: Metric, isJudged: boolean): string {
  const reach = REACHES[item.name]
  if (reach === undefined) return ''
  const limit =
    reach.kind === 'timesFaster'
      ? `≥ ${reach.limit} ×`
      : reach.kind === 'ratioAtMost'
        ? `≤ ${format(reach.limit)} ×`
        : `≤ ${reach.limit}`
  return !isJudged || isReached(item) ? limit : `${limit} MISSED`
}
