// A Durable Object that counts visits, for the tests of the toolchain itself. A Worker of its own too.
import { DurableObject } from 'cloudflare:workers'

export class VisitCounter extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { sql } = this.ctx.storage
    sql.exec('CREATE TABLE IF NOT EXISTS visit (number INTEGER PRIMARY KEY) STRICT')
    if (request.method === 'POST') sql.exec('INSERT INTO visit DEFAULT VALUES')
    return Response.json(sql.exec('SELECT count(*) AS visits FROM visit').one())
  }

  refuse(): never {
    throw Object.assign(new Error('refused'), { code: 'REFUSED' })
  }
}

export default {
  fetch(request: Request, env: Cloudflare.Env): Promise<Response> {
    const { pathname } = new URL(request.url)
    return env.VISITS.getByName(pathname).fetch(request)
  },
} satisfies ExportedHandler<Cloudflare.Env>
