/** A fixed user without credentials, for a server on the developer's own machine. */

import { checkId } from '../core/identifiers.ts'
import type { Authenticate } from './authenticate.ts'

const LOCAL_NAMES = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const LOCAL_ADDRESSES = /^(?:127(?:\.\d{1,3}){3}|::1|::ffff:127(?:\.\d{1,3}){3})$/

/**
 * Every request that comes from this machine is the given user's; all others are refused. A request is
 * local when its URL names localhost and no proxy says that it came from elsewhere. Never set it where
 * others can reach the server.
 */
export function developmentAuth(options: { readonly userId: string }): Authenticate<unknown> {
  const userId = checkId(options.userId, 'userId')
  return (context) => (isLocal(context.req.raw) ? userId : null)
}

function isLocal(request: Request): boolean {
  // The name that the browser asked for: a page that rebinds its own name to 127.0.0.1 has another.
  if (!LOCAL_NAMES.test(new URL(request.url).hostname)) return false
  const addresses = ['cf-connecting-ip', 'x-forwarded-for', 'x-real-ip']
    .map((name) => request.headers.get(name))
    .filter((value) => value !== null)
  if (request.headers.has('forwarded')) return false
  return addresses.every((list) =>
    list.split(',').every((address) => LOCAL_ADDRESSES.test(address.trim())),
  )
}
