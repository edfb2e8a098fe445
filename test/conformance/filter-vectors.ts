// Filters: built, merged, and applied to a log in a store.
import { EventFilter, type EventFilterOptions } from '../../src/index.ts'
import { createSessionService } from '../../src/stores/index.ts'
import type { StoreHarness } from '../../src/testing/index.ts'
import {
  asList,
  asObject,
  expectMentions,
  expectSame,
  expectThrown,
  expectTrue,
  type VectorCase,
  VectorFailure,
  VectorSkipped,
} from './vector-case.ts'
import { logOf, storeLog } from './vector-events.ts'

const SESSION = 's-1'

/** Applies the filter to the log: in the store, and by `apply`. */
export async function runFilterMatches(
  vectorCase: VectorCase,
  harness: StoreHarness,
): Promise<void> {
  const repository = await harness.open()
  try {
    const service = createSessionService(repository, { defaultUserId: 'ana' })
    const log = logOf(vectorCase['log'])
    await storeLog(service, repository, SESSION, log)
    const filter = buildFilter(vectorCase)
    const events = await service.getEvents(SESSION, filter)
    const whole = await service.getEvents(SESSION, {
      excludeArchived: filter.excludeArchived,
    })
    const ids = events.map(({ id }) => id)
    expectSame(
      filter.apply(whole).map(({ id }) => id),
      ids,
      'apply over the log against the store',
    )
    const accepted = acceptedIds(vectorCase)
    if (accepted.length === 1) expectSame(ids, accepted[0], 'the ids')
    else {
      expectTrue(
        accepted.some((expected) => JSON.stringify(expected) === JSON.stringify(ids)),
        `the ids: expected one of ${JSON.stringify(accepted)}, found ${JSON.stringify(ids)}`,
      )
    }
  } finally {
    await repository.close()
  }
}

/** Ours: the alternative, else what a person expects; a case of low priority leaves the choice. */
function acceptedIds(vectorCase: VectorCase): readonly unknown[] {
  const { expectIds, userIds, alternative, priority } = vectorCase
  const alternativeIds = Array.isArray(alternative)
    ? alternative
    : asObject(alternative)['expectIds']
  if (alternativeIds !== undefined) return [alternativeIds]
  if (typeof alternative === 'string')
    throw new VectorSkipped(`its alternative is prose: ${alternative}`)
  if (userIds === undefined) return [expectIds]
  return priority === 'low' ? [userIds, expectIds] : [userIds]
}

/** Builds the filter and looks at every field, or at the error. */
export async function runFilterValidation(
  vectorCase: VectorCase,
  harness: StoreHarness,
): Promise<void> {
  const { expect, normalized, errorMentions } = {
    ...vectorCase,
    ...asObject(vectorCase['alternative']),
  }
  if (expect === 'error') {
    const message = await expectThrown(() => buildFilter(vectorCase), 'building the filter')
    expectMentions(message, errorMentions, 'building the filter')
    return
  }
  const filter = buildFilter(vectorCase)
  expectFields(filter, asObject(normalized), 'the filter')
  expectFields(
    EventFilter.fromJSON(filter.toJSON()),
    asObject(normalized),
    'the filter from its JSON',
  )
  const repository = await harness.open()
  try {
    const service = createSessionService(repository, { defaultUserId: 'ana' })
    await service.create({ id: SESSION })
    expectSame(await service.getEvents(SESSION, filter), [], 'what it gives of an empty log')
  } finally {
    await repository.close()
  }
}

/** Merges, and merges on. */
export async function runFilterMerge(vectorCase: VectorCase): Promise<void> {
  const { base, other, then, baseAfter, otherAfter } = vectorCase
  const { expect, error, errorMentions } = { ...vectorCase, ...asObject(vectorCase['alternative']) }
  const first = EventFilter.of(asObject(base) as EventFilterOptions)
  const second = () => EventFilter.of(other as EventFilterOptions)
  const merge = () =>
    asList<EventFilterOptions>(then).reduce<EventFilter>(
      (filter, next) => filter.merge(next),
      first.merge(other as EventFilterOptions),
    )
  if (error === true) {
    expectMentions(await expectThrown(merge, 'the merge'), errorMentions, 'the merge')
  } else {
    expectFields(merge(), asObject(expect), 'the merged filter')
  }
  if (baseAfter !== undefined) expectFields(first, asObject(baseAfter), 'the first filter then')
  if (otherAfter !== undefined)
    expectFields(second(), asObject(otherAfter), 'the other filter then')
}

function buildFilter(vectorCase: VectorCase): EventFilter {
  const options = (vectorCase['filter'] ?? {}) as EventFilterOptions
  if (vectorCase['factory'] === undefined) return EventFilter.of(options)
  const { method, args } = asObject(vectorCase['factory'])
  const factories = EventFilter as unknown as Readonly<Record<string, unknown>>
  const factory = factories[String(method)]
  if (typeof factory !== 'function')
    throw new VectorSkipped(`there is no factory ${String(method)}`)
  return factory.apply(EventFilter, [...asList<unknown>(args)]) as EventFilter
}

/** The fields of a filter; instants compared as such, message types as a set. */
function expectFields(
  filter: EventFilter,
  expected: Readonly<Record<string, unknown>>,
  what: string,
): void {
  const json = filter.toJSON() as unknown as Readonly<Record<string, unknown>>
  for (const [field, value] of Object.entries(expected)) {
    if (!(field in json)) throw new VectorFailure(`${what} has no field ${field}`)
    expectSame(normalize(field, json[field]), normalize(field, value), `${what}, ${field}`)
  }
}

function normalize(field: string, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (field === 'from' || field === 'to') return Date.parse(String(value))
  return field === 'messageTypes' ? [...(value as readonly string[])].sort() : value
}
