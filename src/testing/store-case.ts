/** One case of the contract suite: what it needs from a store, and how it is run. */

import { createSessionService } from '../core/create-session-service.ts'
import type { SessionRepository } from '../core/session-repository.ts'
import type { SessionService, SessionServiceOptions } from '../core/session-service.ts'

/** How the suite gets at a store. Only `open` and `reset` are required. */
export interface StoreHarness {
  /** Opens another instance on the store, as another tab or process would. The suite closes it. */
  open(): Promise<SessionRepository>
  /** Gives the next case an empty store. Called before each case, when every instance is closed. */
  reset(): Promise<void>
  /**
   * Takes away everything the store holds in memory, as a crash or an eviction would; open instances
   * must go on working.
   */
  evict?(): Promise<void>
  /** Makes the stored body of one event unreadable, or removes its record. */
  damage?(sessionId: string, seq: number): Promise<void>
  /**
   * What the store cannot do by design, and why: cases that need it are reported as skipped with that
   * reason.
   */
  readonly without?: Partial<Readonly<Record<StoreAbility, string>>>
}

/**
 * What some cases need.
 * - `evict`, `damage`: the hooks of the harness
 * - `users`: sessions of several users in one store
 * - `clock`: the time that the caller gives decides about expiry
 * - `hints`: `watch` hears of changes by other instances
 */
export type StoreAbility = 'evict' | 'damage' | 'users' | 'clock' | 'hints'

/** What a case works with: a fresh store, seen through one instance and its service. */
export interface CaseContext {
  readonly repository: SessionRepository
  /** Over `repository`, for the user `ana`; time stands still at `clock.now`. */
  readonly service: SessionService
  readonly clock: ManualClock
  /** Another instance on the same store. */
  open(): Promise<SessionRepository>
  /** Another service, on an instance of its own. */
  openService(options?: SessionServiceOptions): Promise<SessionService>
  evict(): Promise<void>
  damage(sessionId: string, seq: number): Promise<void>
}

/** A clock that moves only when a case moves it. Starts now, in whole seconds. */
export interface ManualClock {
  /** Epoch milliseconds. */
  now: number
}

/** One thing that every store must do. */
export interface StoreCase {
  /** `topic: what holds` */
  readonly name: string
  readonly needs?: readonly StoreAbility[]
  run(context: CaseContext): Promise<void>
}

/** Why a case cannot run against a store; `null` when it can. */
export function reasonToSkip(storeCase: StoreCase, harness: StoreHarness): string | null {
  for (const ability of storeCase.needs ?? []) {
    const reason = harness.without?.[ability]
    if (reason !== undefined) return reason
    if ((ability === 'evict' || ability === 'damage') && harness[ability] === undefined) {
      return `the harness has no ${ability}()`
    }
  }
  return null
}

/**
 * Runs one case on an empty store and closes every instance it opened.
 *
 * @throws ContractViolation when the store does not do what the case says.
 */
export async function runStoreCase(storeCase: StoreCase, harness: StoreHarness): Promise<void> {
  await harness.reset()
  const opened: SessionRepository[] = []
  const open = async () => {
    const repository = await harness.open()
    opened.push(repository)
    return repository
  }
  const clock: ManualClock = { now: Math.floor(Date.now() / 1000) * 1000 }
  const serve = (repository: SessionRepository, options?: SessionServiceOptions) =>
    createSessionService(repository, { defaultUserId: 'ana', now: () => clock.now, ...options })
  try {
    const repository = await open()
    await storeCase.run({
      repository,
      service: serve(repository),
      clock,
      open,
      openService: async (options) => serve(await open(), options),
      evict: async () => harness.evict?.(),
      damage: async (sessionId, seq) => harness.damage?.(sessionId, seq),
    })
  } finally {
    for (const repository of opened) await repository.close()
  }
}
