/**
 * The globals that the core may use: all runtimes have them, and the ES library does not declare them.
 * Only the core's own type check sees this file; browser and worker checks bring their own libraries.
 */
declare const crypto: { getRandomValues<T extends Uint8Array>(array: T): T }
declare const console: { warn(...data: unknown[]): void; error(...data: unknown[]): void }
declare class AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
  throwIfAborted(): void
}
declare class AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}
declare class URL {
  constructor(url: string, base?: string)
  readonly href: string
}
declare function btoa(binary: string): string
declare function setTimeout(callback: () => void, milliseconds?: number): unknown
declare function clearTimeout(timer: unknown): void
declare function queueMicrotask(callback: () => void): void
