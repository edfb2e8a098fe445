// A session moves from IndexedDB in a real browser into a Durable Object in workerd, and the other way.
import { expect, test } from 'vitest'
import { openBrowser } from '../../scripts/browser-page.ts'
import { startWorker } from '../../scripts/local-worker.ts'
import type { TransferOperations } from '../support/transfer-operations.ts'

type Call = (operation: keyof TransferOperations, ...args: readonly string[]) => Promise<unknown>

async function openBoth(): Promise<
  AsyncDisposable & { readonly page: Call; readonly worker: Call }
> {
  const browser = await openBrowser({ entry: 'test/browser/transfer-page.ts' })
  const worker = await startWorker({ entry: 'test/workers/transfer-worker.ts' })
  const page = await browser.newPage()
  return {
    page: (operation, ...args) =>
      page.evaluate(`transfer.${operation}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`),
    worker: async (...call) => {
      const response = await fetch(worker.url, { method: 'POST', body: JSON.stringify(call) })
      if (!response.ok) throw new Error(await response.text())
      return response.json()
    },
    async [Symbol.asyncDispose]() {
      await worker.close()
      await browser.close()
    },
  }
}

test.each(['page', 'worker'] as const)('from the %s to the other and back', async (start) => {
  await using both = await openBoth()
  const [from, to] = start === 'page' ? [both.page, both.worker] : [both.worker, both.page]
  await from('create')
  const text = String(await from('export'))
  await to('import', text)
  await to('import', text)
  expect(await to('snapshot')).toEqual(await from('snapshot'))
  // Nothing is lost on the way back, and nothing changes where it came from.
  await from('import', String(await to('export')))
  expect(await from('snapshot')).toEqual(await to('snapshot'))
})
