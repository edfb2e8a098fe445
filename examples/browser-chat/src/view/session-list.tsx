/** The list of conversations, and the search across all of them. */

import { type CSSProperties, useEffect, useId, useState } from 'react'
import { EventFilter, messageText, type Session, type SessionEvent } from 'turnlog'
import { messageOf, type Sessions, titleOf } from '../sessions/conversations.ts'
import { Icon } from './icons.tsx'
import { Highlighted, snippetOf } from './words.tsx'

export interface SessionListProps {
  readonly sessions: Sessions
  readonly list: readonly Session[]
  readonly hasMore: boolean
  readonly isRead: boolean
  /** Why the list could not be read. */
  readonly problem: string | null
  readonly onRetry: () => void
  readonly selected: string
  readonly onMore: () => void
  readonly onNew: () => void
  readonly onSelect: (id: string) => void
  readonly onOpenHit: (id: string, seq: number, query: string) => void
  readonly onRename: (session: Session, title: string) => void
  readonly onDelete: (session: Session) => void
  readonly onExport: (session: Session) => void
  readonly onImport: (files: readonly File[]) => void
}

export function SessionList(props: SessionListProps) {
  const { list, selected } = props
  const [query, setQuery] = useState('')
  const [renaming, setRenaming] = useState<string | null>(null)
  const isSearching = query.trim() !== ''
  return (
    <>
      <div className="list-head">
        <button type="button" className="button primary" onClick={props.onNew}>
          <Icon name="plus" />
          New chat
        </button>
        <label className="button file-button">
          Import
          <input
            type="file"
            accept=".jsonl,.json,.txt"
            multiple
            className="unseen"
            onChange={(event) => {
              props.onImport([...(event.target.files ?? [])])
              event.target.value = '' // the same file may be chosen again
            }}
          />
        </label>
      </div>
      <search className="search">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Search all conversations"
          placeholder="Search all conversations"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </search>
      {isSearching ? (
        <SearchResults {...props} query={query.trim()} />
      ) : (
        <nav aria-label="Conversations">
          <ul className="sessions">
            {list.map((session) => (
              <li key={session.id} className={session.id === selected ? 'current' : ''}>
                {renaming === session.id ? (
                  <RenameForm
                    title={titleOf(session)}
                    onDone={(title) => {
                      setRenaming(null)
                      if (title !== null) props.onRename(session, title)
                    }}
                  />
                ) : (
                  <>
                    <button
                      type="button"
                      className="session"
                      aria-current={session.id === selected ? 'page' : undefined}
                      onClick={() => props.onSelect(session.id)}
                    >
                      {titleOf(session)}
                    </button>
                    <SessionMenu
                      session={session}
                      onRename={() => setRenaming(session.id)}
                      onExport={() => props.onExport(session)}
                      onDelete={() => props.onDelete(session)}
                    />
                  </>
                )}
              </li>
            ))}
          </ul>
          {props.problem !== null ? (
            <p className="problem" role="alert">
              The conversations could not be read: {props.problem}{' '}
              <button type="button" className="text-button" onClick={props.onRetry}>
                Try again
              </button>
            </p>
          ) : (
            props.isRead && list.length === 0 && <p className="note">No conversations yet.</p>
          )}
          {props.hasMore && (
            <button type="button" className="quiet" onClick={props.onMore}>
              Older conversations
            </button>
          )}
        </nav>
      )}
    </>
  )
}

function SessionMenu({
  session,
  onRename,
  onExport,
  onDelete,
}: {
  readonly session: Session
  readonly onRename: () => void
  readonly onExport: () => void
  readonly onDelete: () => void
}) {
  const id = useId()
  const title = titleOf(session)
  const anchor = `--menu${id.replaceAll(/[^\w]/g, '')}`
  const item = (label: string, run: () => void) => (
    <button
      type="button"
      onClick={(event) => {
        event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()
        run()
      }}
    >
      {label}
    </button>
  )
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={`Actions for ${title}`}
        popoverTarget={id}
        style={{ anchorName: anchor } as CSSProperties}
      >
        <Icon name="more" />
      </button>
      <div
        id={id}
        popover="auto"
        className="menu"
        style={{ positionAnchor: anchor } as CSSProperties}
      >
        {item('Rename', onRename)}
        {item('Export', onExport)}
        {item('Delete', onDelete)}
      </div>
    </>
  )
}

function RenameForm({
  title,
  onDone,
}: {
  readonly title: string
  readonly onDone: (title: string | null) => void
}) {
  const [changed, setChanged] = useState(title)
  const finish = () => onDone(changed.trim() === '' || changed === title ? null : changed.trim())
  return (
    <form
      className="rename"
      onSubmit={(event) => {
        event.preventDefault()
        finish()
      }}
    >
      <input
        aria-label="Name of the conversation"
        // biome-ignore lint/a11y/noAutofocus: it opens because “Rename” was pressed
        autoFocus
        value={changed}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setChanged(event.target.value)}
        onBlur={finish}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onDone(null)
        }}
      />
    </form>
  )
}

const PAGE = 20
/** Milliseconds after the last key before a search begins. */
const PAUSE = 150
const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

interface Found {
  readonly query: string
  readonly hits: readonly SessionEvent[]
  readonly hasMore: boolean
  readonly error: string | null
}

function SearchResults(props: SessionListProps & { readonly query: string }) {
  const { sessions, list, query, onOpenHit } = props
  const [pages, setPages] = useState({ query, count: 1 })
  const count = pages.query === query ? pages.count : 1
  const [found, setFound] = useState<Found | null>(null)

  useEffect(() => {
    let isStale = false
    const search = async (): Promise<Found> => {
      const options = { keyword: query, excludeSynthetic: true, excludeRewound: true }
      try {
        const hits = await sessions.recallEvents(
          EventFilter.of({ ...options, page: 0, pageSize: count * PAGE + 1 }),
        )
        const hasMore = hits.length > count * PAGE
        return { query, hits: hits.slice(0, count * PAGE), hasMore, error: null }
      } catch (error) {
        return { query, hits: [], hasMore: false, error: messageOf(error) }
      }
    }
    const timer = setTimeout(() => {
      void search().then((result) => {
        if (!isStale) setFound(result)
      })
    }, PAUSE)
    return () => {
      isStale = true
      clearTimeout(timer)
    }
  }, [sessions, query, count])

  const titles = new Map(list.map((session) => [session.id, titleOf(session)]))
  const isCurrent = found?.query === query
  return (
    <section aria-label="Search results">
      <p className="note" role="status">
        {!isCurrent
          ? 'Searching'
          : found.error !== null
            ? `The search failed: ${found.error}`
            : found.hits.length === 0
              ? 'Nothing found.'
              : `${found.hits.length}${found.hasMore ? ' or more' : ''} found, oldest first`}
      </p>
      <ul className="hits">
        {found?.hits.map((event) => {
          const text = messageText(event.message)
          return (
            <li key={`${event.sessionId} ${event.seq}`}>
              <button
                type="button"
                onClick={() => onOpenHit(event.sessionId, event.seq, found.query)}
              >
                <span className="note origin">
                  <b>{titles.get(event.sessionId) ?? 'Conversation'}</b>
                  <span>
                    {dateFormat.format(event.timestamp)}
                    {event.archived ? ' · archived' : ''}
                  </span>
                </span>
                <span className="snippet">
                  <Highlighted text={snippetOf(text, found.query)} query={found.query} />
                </span>
              </button>
            </li>
          )
        })}
      </ul>
      {isCurrent && found.hasMore && (
        <button
          type="button"
          className="quiet"
          onClick={() => setPages({ query, count: count + 1 })}
        >
          More results
        </button>
      )}
    </section>
  )
}
