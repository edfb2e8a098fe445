// What `env` of 'cloudflare:workers' holds in the tests; vitest.config.ts binds it.
declare namespace Cloudflare {
  interface Env {
    SESSIONS: DurableObjectNamespace<import('./worker.ts').SessionStore>
    /** How many sequences a property test tries; `''` for its own default. */
    TURNLOG_RUNS: string
    VISITS: DurableObjectNamespace<import('./worker.ts').VisitCounter>
  }
  interface GlobalProps {
    mainModule: typeof import('./worker.ts')
    durableNamespaces: 'SessionStore' | 'VisitCounter'
  }
}
