/** turnlog/testing: the contract that every store passes, to be run against a store of one's own. */

export { ContractViolation } from './assertions.ts'
export {
  type CaseContext,
  type ManualClock,
  reasonToSkip,
  runStoreCase,
  type StoreAbility,
  type StoreCase,
  type StoreHarness,
} from './store-case.ts'
export { describeStoreContract, storeContract, type TestFramework } from './store-contract.ts'
