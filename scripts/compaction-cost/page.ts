// The page of `npm run compaction:cost`: counts the records of IndexedDB.
import { createIndexedDBSessionService } from 'turnlog/indexeddb'
import { countRequests } from '../../test/browser/request-counter.ts'
import { type Measure, measureCompaction } from './measure.ts'

const measure: Measure = async (operation) => {
  const { result, counts } = await countRequests(operation)
  return { result, read: counts.read, written: counts.written }
}

/** Blocks of the search are sealed in the background: quiet once nothing more is written. */
const settle = async () => {
  for (let written = 1; written > 0; ) {
    const wait = () => new Promise((resolve) => setTimeout(resolve, 200))
    written = (await countRequests(wait)).counts.written
  }
}

Object.assign(globalThis, {
  compactionCosts: () =>
    measureCompaction(createIndexedDBSessionService({ defaultUserId: 'me' }), measure, settle),
})
