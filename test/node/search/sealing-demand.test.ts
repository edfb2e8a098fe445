// When it is looked for blocks to seal: never in vain for long, and not never.
import { expect, test } from 'vitest'
import { SealingDemand } from '../../../src/search/sealing-demand.ts'

const LIMITS = { events: 256, units: 1 << 16 }

test('bodies without texts are looked at a few times, not with every append', () => {
  const demand = new SealingDemand(LIMITS)
  let looks = 0
  let read = 0
  for (let left = 1; left < LIMITS.events; left++) {
    demand.appended([{ body: 'x'.repeat(100_000) }])
    if (!demand.isEnough) continue
    looks++
    read += left
    demand.looked({ blocks: 0, left })
  }
  expect(looks).toBeGreaterThan(3)
  expect(looks).toBeLessThan(10)
  expect(read).toBeLessThan(2 * LIMITS.events)
  demand.appended([{ body: '' }])
  demand.seen(LIMITS.events)
  expect(demand.isEnough).toBe(true)
})

test('a block that was full, or nothing that is left, ends the patience', () => {
  const demand = new SealingDemand(LIMITS)
  const fill = () => demand.appended([{ body: 'x'.repeat(LIMITS.units) }])
  fill()
  demand.looked({ blocks: 0, left: 1 })
  fill()
  expect(demand.isEnough).toBe(false)
  fill()
  expect(demand.isEnough).toBe(true)
  demand.looked({ blocks: 1, left: 1 })
  expect(demand.isEnough).toBe(true)
  demand.looked({ blocks: 1, left: 1 })
  expect(demand.isEnough).toBe(false)
  fill()
  expect(demand.isEnough).toBe(true)
  demand.looked({ blocks: 0, left: 0 })
  fill()
  expect(demand.isEnough).toBe(true)
})

test('after a failure it is tried again with the next append that fills a block, not before', () => {
  const demand = new SealingDemand(LIMITS)
  demand.seen(1000)
  expect(demand.isEnough).toBe(true)
  demand.pause()
  demand.seen(1000)
  expect(demand.isEnough).toBe(false)
  demand.appended([{ body: '' }])
  expect(demand.isEnough).toBe(true)
})
