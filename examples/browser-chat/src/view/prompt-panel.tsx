/** What the next prompt holds, and about how many tokens that is. */

import type { ModelMessage } from 'ai'
import { useEffect, useState } from 'react'
import { EventFilter, estimateTokens, formatEvent, type Session, type SessionEvent } from 'turnlog'
import { INSTRUCTIONS } from '../agent/wording.ts'
import { messageOf, type Sessions } from '../sessions/conversations.ts'
import { Icon } from './icons.tsx'

/** Messages that are listed; all are counted. */
const SHOWN = 60
const SPEAKERS = { user: 'You', assistant: 'Answer', tool: 'Tool', system: 'Summary' } as const

interface PromptContent {
  readonly view: readonly SessionEvent<ModelMessage>[]
  readonly tokens: number
  readonly error: string | null
}

const EMPTY: PromptContent = { view: [], tokens: 0, error: null }

export function PromptPanel({
  sessions,
  sessionId,
  session,
  onArchive,
  onClose,
}: {
  readonly sessions: Sessions
  readonly sessionId: string
  /** Another object when the conversation has changed; `null` while nothing is stored. */
  readonly session: Session | null
  readonly onArchive: () => void
  readonly onClose: () => void
}) {
  const stored = session?.eventCount ?? 0
  const [content, setContent] = useState(EMPTY)
  // biome-ignore lint/correctness/useExhaustiveDependencies: read anew when the conversation has changed
  useEffect(() => {
    let isStale = false
    const read = async (): Promise<PromptContent> => {
      try {
        const view = stored === 0 ? [] : await sessions.getEvents(sessionId, EventFilter.active())
        let tokens = estimateTokens(INSTRUCTIONS)
        for (const event of view) tokens += estimateTokens(formatEvent(event))
        return { view, tokens, error: null }
      } catch (error) {
        return { ...EMPTY, error: messageOf(error) }
      }
    }
    void read().then((next) => {
      if (!isStale) setContent(next)
    })
    return () => {
      isStale = true
    }
  }, [sessions, sessionId, session])

  const { view, tokens, error } = content
  const hidden = Math.max(0, view.length - SHOWN)
  return (
    <aside className="prompt" aria-label="Prompt">
      <header>
        <h2>In the prompt now</h2>
        <button type="button" className="icon-button" aria-label="Close prompt" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {error !== null && (
        <p className="problem" role="alert">
          The prompt could not be read: {error}
        </p>
      )}
      <dl>
        <div>
          <dt>Tokens, estimated</dt>
          <dd>{tokens.toLocaleString()}</dd>
        </div>
        <div>
          <dt>Events in the prompt</dt>
          <dd>
            {view.length.toLocaleString()} of {stored.toLocaleString()}
          </dd>
        </div>
      </dl>
      <button type="button" className="button" onClick={onArchive} disabled={view.length === 0}>
        <Icon name="archive" />
        Archive all but the last two turns
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard */}
      <ol tabIndex={0} aria-label="Messages in the prompt">
        <li>
          <b>Instructions</b>
          <span>{INSTRUCTIONS}</span>
        </li>
        {hidden > 0 && <li className="note">{hidden.toLocaleString()} more</li>}
        {view.slice(-SHOWN).map((event) => (
          <li key={event.id}>
            <b>{event.synthetic ? 'Summary' : SPEAKERS[event.message.role]}</b>
            <span>{formatEvent(event).replace(/^\w+: /, '')}</span>
          </li>
        ))}
      </ol>
    </aside>
  )
}
