/** What the person has chosen; kept in this browser only, the key included. */

import type { OpenAiSettings } from './model/open-ai.ts'

export interface Settings {
  readonly model: 'automatic' | 'stand-in' | 'prompt-api' | 'open-ai'
  readonly openAi: OpenAiSettings
  /** With more turns than this in the prompt, older ones are archived. */
  readonly maxTurns: number
  /** Where conversations are kept. */
  readonly place: 'browser' | 'worker'
  readonly showsPrompt: boolean
}

const KEY = 'turnlog-chat'

const DEFAULTS: Settings = {
  model: 'automatic',
  openAi: { address: '', key: '', modelId: '' },
  maxTurns: 10,
  place: 'browser',
  showsPrompt: false,
}

export function readSettings(): Settings {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}')
    return typeof stored === 'object' ? { ...DEFAULTS, ...stored } : DEFAULTS
  } catch {
    return DEFAULTS // storage is switched off, or holds something else
  }
}

export function writeSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings))
  } catch {
    // Storage is switched off: the choice holds until the page is closed.
  }
}
