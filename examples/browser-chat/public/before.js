// The page's first code. Zod, in the AI SDK, finds out whether it may compile code by trying to; the
// page's policy forbids it, and the browser would report the attempt. So it is told before it loads.
globalThis.__zod_globalConfig = { jitless: true }
