/** Headers that every answer has, failures included: who may read it, and that nobody keeps it. */

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Prefer, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name'
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After, WWW-Authenticate, Allow'
/** Seconds that a browser may remember a preflight; Chromium's limit. */
const PREFLIGHT_AGE = '7200'

/** Lets pages of the listed origins read the answer. */
export function addCorsHeaders(
  headers: Headers,
  request: Request,
  allowedOrigins: readonly string[],
): void {
  headers.append('vary', 'Origin')
  const origin = request.headers.get('origin')
  if (origin === null) return
  const any = allowedOrigins.includes('*')
  if (!any && !allowedOrigins.includes(origin)) return
  // Credentials are bearer tokens, which a page has to add itself; cookies are never asked for.
  headers.set('access-control-allow-origin', any ? '*' : origin)
  headers.set('access-control-expose-headers', EXPOSED_HEADERS)
  if (request.method !== 'OPTIONS') return
  headers.set('access-control-allow-methods', ALLOWED_METHODS)
  headers.set('access-control-allow-headers', ALLOWED_HEADERS)
  headers.set('access-control-max-age', PREFLIGHT_AGE)
}

export function preflightResponse(): Response {
  return new Response(null, { status: 204, headers: { allow: `${ALLOWED_METHODS}, OPTIONS` } })
}

export function addSecurityHeaders(headers: Headers, request: Request): void {
  headers.set('cache-control', 'no-store')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('referrer-policy', 'no-referrer')
  headers.set('x-frame-options', 'DENY')
  headers.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
  if (request.url.startsWith('https:')) {
    headers.set('strict-transport-security', 'max-age=31536000')
  }
}
