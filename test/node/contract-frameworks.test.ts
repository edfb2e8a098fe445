// The contract suite registers with any test framework that has describe, test and test.skip.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describeStoreContract, storeContract, type TestFramework } from 'turnlog/testing'
import { expect, test } from 'vitest'
import { root } from '../../scripts/entries.ts'
import { inMemoryHarness } from '../support/in-memory-harness.ts'

test('every case is registered once; what cannot run is skipped with its reason', () => {
  const registered: string[] = []
  const skipped: string[] = []
  const groups: string[] = []
  const framework: TestFramework = {
    describe: (name, register) => {
      groups.push(name)
      register()
    },
    test: Object.assign((name: string) => registered.push(name), {
      skip: (name: string) => skipped.push(name),
    }),
  }
  const { open, reset } = inMemoryHarness()
  const without = { users: 'there is one user' }
  describeStoreContract(framework, { open, reset, without }, 'my store')
  expect(groups).toEqual(['my store'])
  expect(registered.length + skipped.length).toBe(storeContract.length)
  expect(new Set([...registered, ...skipped]).size).toBe(storeContract.length)
  expect(skipped.every((name) => /\(skipped: .+\)$/.test(name))).toBe(true)
  for (const reason of ['the harness has no evict()', 'the harness has no damage()', 'one user']) {
    expect(skipped.some((name) => name.includes(reason))).toBe(true)
  }
  for (const { name } of storeContract) expect(name).toMatch(/^[a-z ]+: \S/)
})

test('it runs under node:test', () => {
  const file = join(root, 'test/support/contract-under-node-test.ts')
  const { stdout, status } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(stdout)?.[1])
  expect(count('fail')).toBe(0)
  expect(count('skipped')).toBeGreaterThan(0)
  expect(count('pass') + count('skipped')).toBe(storeContract.length)
  expect(status).toBe(0)
})
