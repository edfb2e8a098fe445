// The load test in small: scripts/load-test.ts says what it shows.
import { expect, test } from 'vitest'
import { describeReport, runLoad, smallLoad } from '../../../scripts/load-test.ts'

test('clients append while workerd is killed: every acknowledged event is there, once and in order', async () => {
  const report = await runLoad(smallLoad)
  console.log(describeReport(report))
  expect(report.faults).toEqual([])
  expect(report).toMatchObject({ appends: 460, acknowledged: 460, stored: 460, kills: 2 })
}, 180_000)
