/** One question, answer or summary, with what can be done with it. */

import { memo, useEffect, useRef, useState } from 'react'
import { type Entry, type EntryPart, entryText } from './entries.ts'
import { Icon } from './icons.tsx'
import { Highlighted, Markdown } from './words.tsx'

export interface EntryActions {
  /**
   * Asks in other words: this question and what follows leave the conversation. `false`: not while an
   * answer comes.
   */
  readonly onEdit: (entry: Entry, text: string) => boolean
  /** Asks the same again. */
  readonly onAskAgain: (entry: Entry) => void
  readonly onContinue: () => void
  /** Hears of what the entry itself could not do. */
  readonly onFailure: (what: string, error: unknown) => void
}

interface EntryViewProps {
  readonly entry: Entry
  readonly query?: string | undefined
  /** Marked as what was looked for. */
  readonly isTarget?: boolean
  readonly isLast?: boolean
  readonly isLive?: boolean
  readonly actions: EntryActions
}

const NAMES = {
  question: 'You',
  answer: 'Answer',
  summary: 'Summary',
  instruction: 'Instruction',
} as const

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

export const EntryView = memo(function EntryView(props: EntryViewProps) {
  const { entry, query = '', isTarget, isLast, isLive, actions } = props
  const [isEditing, setIsEditing] = useState(false)
  const [isCopied, setIsCopied] = useState(false)
  const { kind, archived, time } = entry
  const name = NAMES[kind]
  const text = entryText(entry)
  const label = `${name}${archived ? ', archived' : ''}${time === null ? '' : `, ${timeFormat.format(time)}`}`

  if (isEditing) {
    return (
      <EntryEditor
        text={text}
        onCancel={() => setIsEditing(false)}
        onSave={(changed) => {
          if (actions.onEdit(entry, changed)) setIsEditing(false)
        }}
      />
    )
  }
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text) // not there on plain-http pages
      setIsCopied(true)
    } catch (error) {
      actions.onFailure('It was not copied', error)
    }
  }
  return (
    <article
      className={`entry ${kind}${archived ? ' archived' : ''}${isTarget ? ' target' : ''}`}
      aria-label={label}
      data-seq={entry.seq}
      tabIndex={isTarget ? -1 : undefined}
    >
      {(kind === 'summary' || kind === 'instruction') && <h3>{name} in the prompt</h3>}
      <div className="words">
        {entry.parts.map((part, index) => (
          <Part
            // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end
            key={index}
            part={part}
            query={query}
            isQuestion={kind === 'question'}
          />
        ))}
        {isLive && kind === 'answer' && text === '' && <span className="waiting">Thinking</span>}
      </div>
      {entry.aborted && <p className="note">Stopped here.</p>}
      {!isLive && (
        <footer>
          {time !== null && <time dateTime={time.toISOString()}>{timeFormat.format(time)}</time>}
          <button type="button" className="quiet" onClick={() => void copy()}>
            <Icon name="copy" />
            {isCopied ? 'Copied' : 'Copy'}
          </button>
          {kind === 'question' && (
            <button type="button" className="quiet" onClick={() => setIsEditing(true)}>
              <Icon name="edit" />
              Edit
            </button>
          )}
          {isLast && kind === 'answer' && entry.aborted && (
            <button type="button" className="quiet" onClick={actions.onContinue}>
              <Icon name="down" />
              Continue
            </button>
          )}
          {isLast && (kind === 'answer' || kind === 'question') && (
            <button type="button" className="quiet" onClick={() => actions.onAskAgain(entry)}>
              <Icon name="again" />
              {kind === 'answer' ? 'Regenerate' : 'Ask again'}
            </button>
          )}
        </footer>
      )}
    </article>
  )
})

function Part({
  part,
  query,
  isQuestion,
}: {
  readonly part: EntryPart
  readonly query: string
  readonly isQuestion: boolean
}) {
  switch (part.type) {
    case 'text':
      return isQuestion ? (
        <p className="plain">
          <Highlighted text={part.text} query={query} />
        </p>
      ) : (
        <Markdown text={part.text} query={query} />
      )
    case 'reasoning':
      return (
        <details className="aside">
          <summary>Reasoning</summary>
          <p className="plain">{part.text}</p>
        </details>
      )
    case 'file':
      return (
        <p className="note">
          <Icon name="file" /> {part.mediaType}
        </p>
      )
    case 'tool':
      return <ToolCall {...part} />
  }
}

function ToolCall({ name, input, output }: Extract<EntryPart, { type: 'tool' }>) {
  const query = (input as { readonly query?: unknown } | null)?.query
  return (
    <details className="aside tool">
      <summary>
        <Icon name="search" />
        <span>
          <code>{name}</code>
          {typeof query === 'string' && (
            <>
              {' '}
              for “<bdi>{query}</bdi>”
            </>
          )}
        </span>
        <span className="note">{resultOf(output)}</span>
      </summary>
      <h4>Arguments</h4>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{JSON.stringify(input, null, 2)}</pre>
      {output !== null && (
        <>
          <h4>Result</h4>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: as above */}
          <pre tabIndex={0}>{pretty(output)}</pre>
        </>
      )}
    </details>
  )
}

function resultOf(output: string | null): string {
  if (output === null) return 'running'
  const results = parse(output)
  if (Array.isArray(results)) return results.length === 1 ? '1 result' : `${results.length} results`
  return output.startsWith('Error') ? 'failed' : 'nothing found'
}

function pretty(output: string): string {
  const value = parse(output)
  return value === undefined ? output : JSON.stringify(value, null, 2)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a result in plain words
  }
}

function EntryEditor({
  text,
  onSave,
  onCancel,
}: {
  readonly text: string
  readonly onSave: (text: string) => void
  readonly onCancel: () => void
}) {
  const [changed, setChanged] = useState(text)
  const form = useRef<HTMLFormElement>(null)
  // The focus alone brings the field into sight, not its buttons.
  // Newer browsers give a promise, which is no way to clean up.
  useEffect(() => void form.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <form
      ref={form}
      className="entry editor"
      onSubmit={(event) => {
        event.preventDefault()
        if (changed.trim() !== '') onSave(changed.trim())
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel()
      }}
    >
      <textarea
        aria-label="Edit your message"
        // biome-ignore lint/a11y/noAutofocus: it opens because “Edit” was pressed
        autoFocus
        value={changed}
        onChange={(event) => setChanged(event.target.value)}
      />
      <p className="note">What follows leaves the conversation; the log keeps it.</p>
      <div className="buttons">
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button primary">
          Save and ask
        </button>
      </div>
    </form>
  )
}
