/**
 * The page's first code. Zod, in the AI SDK, finds out whether it may compile code by trying to; the
 * page's policy forbids it, and the browser would report the attempt. So it is told before it loads.
 */

const global = globalThis as { __zod_globalConfig?: { jitless?: boolean } }
global.__zod_globalConfig = { ...global.__zod_globalConfig, jitless: true }

void import('./start.tsx')
