// The page of `npm run compaction:cost`: counts the records of IndexedDB.
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { countRequests } from '../../test/browser/request-counter.ts'
import { untilSealed } from '../../test/browser/sealing.ts'
import { type Measure, measureCompaction } from './measure.ts'

const measure: Measure = async (operation) => {
  const { result, counts } = await countRequests(operation)
  return { result, read: counts.read, written: counts.written }
}

Object.assign(globalThis, {
  compactionCosts: () =>
    measureCompaction(createIndexedDBSessionService({ defaultUserId: 'me' }), measure, () =>
      untilSealed('turnlog'),
    ),
})
