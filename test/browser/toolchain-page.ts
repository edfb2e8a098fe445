// The page of test/node/e2e-toolchain.test.ts.
import { openDB } from 'idb'

const database = await openDB('toolchain', 1, {
  upgrade: (upgrading) => void upgrading.createObjectStore('events', { autoIncrement: true }),
})

Object.assign(globalThis, {
  add: (text: string) => database.add('events', text),
  all: () => database.getAll('events'),
})
