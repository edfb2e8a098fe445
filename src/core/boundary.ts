/** What a boundary means: the active view, and which events are archived or rewound. */

import { rangesInclude, type SeqRange } from './seq-ranges.ts'
import type { Boundary } from './session-repository.ts'

/** What {@link boundary} says about one event. */
export function placeOf(
  boundary: Boundary | null,
  seq: number,
): { readonly archived: boolean; readonly rewound: boolean } {
  if (boundary === null || seq > boundary.position) return { archived: false, rewound: false }
  if (rangesInclude(boundary.kept, seq) || boundary.summaries.includes(seq)) {
    return { archived: false, rewound: false }
  }
  const rewound = rangesInclude(boundary.rewound, seq)
  return { archived: !rewound, rewound }
}

/** The active view of a log that ends at `lastSeq`: `seq` ranges in view order. */
export function viewRanges(boundary: Boundary | null, lastSeq: number): SeqRange[] {
  const ranges: SeqRange[] =
    boundary === null
      ? [[1, lastSeq]]
      : [
          ...boundary.summaries.map((seq): SeqRange => [seq, seq]),
          ...boundary.kept,
          [boundary.position + 1, lastSeq],
        ]
  return ranges.filter(([first, last]) => first <= last)
}
