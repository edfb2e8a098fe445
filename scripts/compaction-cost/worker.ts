// The Worker of `npm run compaction:cost`: counts the rows of a Durable Object's SQLite, inside of it.
import { DurableObject } from 'cloudflare:workers'
import { createSessionService } from 'turnlog/store'
import { createSqlRepository } from 'turnlog/worker'
import { MeteredStorage } from '../../test/workers/metered-storage.ts'
import { type Measure, measureCompaction } from './measure.ts'

export class CostMeter extends DurableObject {
  override async fetch(): Promise<Response> {
    const storage = new MeteredStorage(this.ctx.storage)
    const measure: Measure = async (operation) => {
      const { result, rowsRead, rowsWritten } = await storage.measure(operation)
      return { result, read: rowsRead, written: rowsWritten }
    }
    const service = createSessionService(createSqlRepository(storage), { defaultUserId: 'me' })
    return Response.json(await measureCompaction(service, measure))
  }
}

export default {
  fetch: (request, env) => env.COSTS.getByName('compaction').fetch(request),
} satisfies ExportedHandler<{ readonly COSTS: DurableObjectNamespace<CostMeter> }>
