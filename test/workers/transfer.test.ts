// A session goes from a Durable Object into a store of another kind and back without a loss.
import { env } from 'cloudflare:workers'
import { createInMemorySessionService } from 'turnlog/in-memory'
import { durableObjectSessions } from 'turnlog/worker'
import { test } from 'vitest'
import { checkTransfer } from '../support/transfer-check.ts'

let users = 0
const inObject = () => {
  users++
  return durableObjectSessions(env.SESSIONS, `transfer-${users}`)
}
const inMemory = (user: string) => createInMemorySessionService({ defaultUserId: user })

test('from an object into memory and back', async () => {
  const from = inObject()
  await checkTransfer(from, inMemory(`transfer-${users}`))
})

test('from memory into an object and back', async () => {
  const to = inObject()
  await checkTransfer(inMemory(`transfer-${users}`), to)
})
