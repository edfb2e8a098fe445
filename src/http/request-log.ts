/** What a request leaves in the log: never a text, an id or a token of a user. */

import { isSessionError } from '../core/errors.ts'

/** One line of the log. */
export interface LogEntry {
  readonly level: 'info' | 'error'
  readonly requestId: string
  readonly method: string
  /** The pattern of the path, without ids; `null` when nothing matched. */
  readonly route: string | null
  readonly status: number
  /** Why it failed. */
  readonly code?: string
  /** How long it took to the beginning of the answer. */
  readonly milliseconds: number
  /** What a fault of the server was. */
  readonly error?: string
}

/** The default: faults of the server go to the console as JSON. */
export function logFaults(entry: LogEntry): void {
  // biome-ignore lint/suspicious/noConsole: the console is a Worker's log
  if (entry.level === 'error') console.error(JSON.stringify(entry))
}

/** Every request, to the console as JSON: for a Worker that keeps its log. */
export function logRequests(entry: LogEntry): void {
  if (entry.level === 'error') logFaults(entry)
  // biome-ignore lint/suspicious/noConsole: the console is a Worker's log
  else console.log(JSON.stringify(entry))
}

/**
 * A failure for the log: its chain of causes, and where it came from. What stands in quotes may be
 * somebody's text (engines quote what they could not parse), so it is left out.
 */
export function describeFault(error: unknown): string {
  const parts: string[] = []
  for (let cause = error; cause !== undefined && parts.length < 4; ) {
    const { name, message, code, stack } = Object(cause) as Partial<Error> & { code?: unknown }
    const label = isSessionError(cause) ? `SessionError ${code}` : String(name ?? typeof cause)
    const text = (message ?? '').replace(/(["'`]).*\1/gs, '$1…$1').slice(0, 300)
    const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
    parts.push([`${label}: ${text}`, ...frames.slice(0, 6)].join('\n'))
    cause = Object(cause).cause
  }
  return parts.join('\ncaused by ')
}
