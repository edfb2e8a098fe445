/**
 * What a store of one's own is made with: the seam, the rules that all stores share, and what makes a
 * service of it.
 */

export { placeOf } from '../core/boundary.ts'
export { createSessionService } from '../core/create-session-service.ts'
export { SessionError } from '../core/errors.ts'
export {
  type CommitContext,
  type CommitPlan,
  idsOfCommit,
  planCommit,
} from '../core/plan-commit.ts'
export { type IndexPortion, type LogIndex, type LogSource, readLog } from '../core/read-log.ts'
export { recallLogs } from '../core/recall.ts'
export type { SeqRange, SeqRanges } from '../core/seq-ranges.ts'
export { changeSession, isExpired, listTime, requireSession } from '../core/session-record.ts'
export type {
  Boundary,
  ChangeListener,
  Commit,
  CommitResult,
  Damage,
  EventRecord,
  EventView,
  ListRequest,
  NewBoundary,
  NewEventRecord,
  ReadAnswer,
  ReadCursor,
  ReadRequest,
  RecallAnswer,
  RecallRequest,
  SessionRecord,
  SessionRepository,
} from '../core/session-repository.ts'
