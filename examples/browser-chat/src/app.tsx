/** The page: conversations on the left, one of them in the middle, its prompt on the right. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Session } from 'turnlog'
import { chosenKind, type ModelKind, modelName } from './model/choose-model.ts'
import {
  deleteConversation,
  importConversation,
  isDeleted,
  listAll,
  messageOf,
  moveConversations,
  newId,
  renameConversation,
  type Sessions,
  titleOf,
  UNDO_TIME,
} from './sessions/conversations.ts'
import { exportConversation } from './sessions/export-file.ts'
import { openPlace } from './sessions/places.ts'
import { readSettings, type Settings, writeSettings } from './settings.ts'
import { Chat, type ChatProps } from './view/chat.tsx'
import { Icon } from './view/icons.tsx'
import { SessionList } from './view/session-list.tsx'
import { SettingsDialog } from './view/settings-dialog.tsx'
import { type Toast, Toasts } from './view/toasts.tsx'

const LIST_PAGE = 50
/** Milliseconds that a plain notice stays. */
const NOTICE_TIME = 6000

interface SessionPage {
  /** Whose they are: after a sign-in, those of the browser are not the Worker's. */
  readonly of: Sessions | null
  readonly list: readonly Session[]
  readonly hasMore: boolean
  /** Why the list is none, or an old one. */
  readonly problem: string | null
}

const NO_PAGE: SessionPage = { of: null, list: [], hasMore: false, problem: null }

export function App() {
  const [settings, setSettings] = useState(readSettings)
  const changeSettings = useCallback((change: Partial<Settings>) => {
    setSettings((current) => {
      const next = { ...current, ...change }
      writeSettings(next)
      return next
    })
  }, [])
  const { toasts, notify, dismiss } = useToasts()
  const onNotice = useCallback(
    (text: string, isError = false) => notify({ text, isError }),
    [notify],
  )

  const sessions = useMemo(
    () =>
      openPlace(settings.place, () =>
        onNotice('The browser has cleared the conversations of this page.', true),
      ),
    [settings.place, onNotice],
  )
  const [{ id: selected, isNew }, select] = useSelection()
  const [target, setTarget] = useState<ChatProps['target']>(null)
  const [isMenuOpen, setIsMenuOpen] = useState(false)
  const menuButton = useRef<HTMLButtonElement>(null)
  const closeButton = useRef<HTMLButtonElement>(null)
  const [showsSettings, setShowsSettings] = useState(false)
  const [kind, setKind] = useState<ModelKind>('stand-in')
  const [offer, setOffer] = useState(0)
  const [limit, setLimit] = useState(LIST_PAGE)
  const [page, setPage] = useState<SessionPage>(NO_PAGE)
  const isRead = page.of === sessions
  const { list, hasMore, problem } = isRead ? page : NO_PAGE
  /** A deletion that failed: it has expired, so that it is not seen, and is tried again at the next opening. */
  const onKept = useCallback(
    (error: unknown) =>
      onNotice(`What was deleted is still in the store: ${messageOf(error)}`, true),
    [onNotice],
  )
  const latestSessions = useRef(sessions)
  latestSessions.current = sessions

  useEffect(() => void chosenKind(settings).then(setKind), [settings])

  const refresh = useCallback(async () => {
    try {
      const found = await sessions.listSessions({ limit })
      if (latestSessions.current !== sessions) return
      const shown = found.sessions.filter((session) => !isDeleted(session))
      setPage({ of: sessions, list: shown, hasMore: found.cursor !== null, problem: null })
      // Deleted in another tab.
      if (found.sessions.some((session) => session.id === selected && isDeleted(session))) {
        select(newSelection())
      }
    } catch (error) {
      if (latestSessions.current !== sessions) return
      const old = (current: SessionPage) => (current.of === sessions ? current : NO_PAGE)
      setPage((current) => ({ ...old(current), of: sessions, problem: messageOf(error) }))
    }
  }, [sessions, limit, selected, select])

  useEffect(() => {
    void refresh()
    let timer: ReturnType<typeof setTimeout> | undefined
    const soon = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void refresh(), 100)
    }
    // A store behind HTTP tells of its own changes only: the tabs of this browser tell each other.
    const tabs = new BroadcastChannel(`turnlog-chat ${settings.place}`)
    tabs.addEventListener('message', soon)
    const stop = sessions.repository.watch((id) => {
      soon()
      if (settings.place === 'worker') tabs.postMessage(id)
    })
    document.addEventListener('visibilitychange', soon)
    addEventListener('online', soon)
    return () => {
      stop()
      tabs.close()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', soon)
      removeEventListener('online', soon)
    }
  }, [sessions, settings.place, refresh])

  useEffect(() => {
    // What was deleted and not brought back, in a page that was closed since.
    if (isRead && problem === null) sessions.deleteExpiredSessions().catch(onKept)
  }, [sessions, isRead, problem, onKept])

  const open = (selection: Selection, next: ChatProps['target'] = null) => {
    setTarget(next)
    select(selection)
    setIsMenuOpen(false)
  }
  const openStored = (id: string, next: ChatProps['target'] = null) =>
    open({ id, isNew: false }, next)
  const onCreated = useCallback(() => select({ id: selected, isNew: false }), [select, selected])

  /** Runs something that the person has asked for, and says when it fails. */
  const attempt = async (what: string, run: () => Promise<unknown>) => {
    try {
      await run()
      await refresh()
    } catch (error) {
      onNotice(`${what}: ${messageOf(error)}`, true)
    }
  }

  const remove = (session: Session) =>
    attempt('It was not deleted', async () => {
      const undo = await deleteConversation(sessions, session, onKept)
      if (session.id === selected) open(newSelection())
      notify({
        text: `“${titleOf(session)}” was deleted.`,
        time: UNDO_TIME - 1000,
        action: {
          label: 'Undo',
          run: () => void attempt('It could not be brought back', undo),
        },
      })
    })

  const importFiles = async (files: readonly File[]) => {
    for (const file of files) {
      await attempt(`“${file.name}” was not imported, and nothing was changed`, async () => {
        const session = await importConversation(sessions, file)
        openStored(session.id)
        onNotice(
          `“${titleOf(session)}” was imported: ${session.eventCount.toLocaleString()} events.`,
        )
      })
    }
  }

  const signIn = () =>
    attempt('Signing in failed', async () => {
      const local = await listAll(sessions)
      changeSettings({ place: 'worker' })
      setShowsSettings(false)
      setOffer(local.length)
      open(newSelection())
    })

  const moveHere = () =>
    attempt('Moving failed', async () => {
      setOffer(0)
      const browser = openPlace('browser', () => undefined)
      try {
        const { moved, stayed } = await moveConversations(browser, sessions)
        onNotice(`${conversations(moved)} on the Worker now.`)
        if (stayed.length > 0) onNotice(`Still in this browser: ${stayed.join('; ')}`, true)
      } finally {
        await browser.close()
      }
    })

  useEffect(() => {
    if (!isMenuOpen) return
    closeButton.current?.focus()
    const onKeyDown = (event: KeyboardEvent) => {
      // A menu or a dialog above it, or a search, is closed first.
      const isTaken =
        document.querySelector(':popover-open, dialog[open]') !== null ||
        (event.target instanceof HTMLInputElement && event.target.value !== '')
      if (event.key !== 'Escape' || isTaken) return
      setIsMenuOpen(false)
      menuButton.current?.focus()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [isMenuOpen])

  const current = list.find(({ id }) => id === selected)
  return (
    <div className={settings.showsPrompt ? 'page with-prompt' : 'page'}>
      <div className={isMenuOpen ? 'sidebar open' : 'sidebar'} id="sidebar">
        <header>
          <h1>
            turnlog <span>chat</span>
          </h1>
          <button
            ref={closeButton}
            type="button"
            className="icon-button phone"
            aria-label="Close the list"
            onClick={() => setIsMenuOpen(false)}
          >
            <Icon name="close" />
          </button>
        </header>
        <SessionList
          key={settings.place}
          sessions={sessions}
          list={list}
          hasMore={hasMore}
          isRead={isRead}
          problem={problem}
          onRetry={() => void refresh()}
          selected={selected}
          onMore={() => setLimit((shown) => Math.min(1000, shown + LIST_PAGE))}
          onNew={() => open(newSelection())}
          onSelect={(id) => openStored(id)}
          onOpenHit={(id, seq, query) => openStored(id, { seq, query })}
          onRename={(session, title) =>
            void attempt('It was not renamed', () =>
              renameConversation(sessions, session.id, title),
            )
          }
          onDelete={(session) => void remove(session)}
          onExport={(session) =>
            void attempt('It was not exported', () => exportConversation(sessions, session))
          }
          onImport={(files) => void importFiles(files)}
        />
        <footer>
          <button type="button" className="quiet" onClick={() => setShowsSettings(true)}>
            <Icon name="settings" />
            Settings
          </button>
          <span className="note">
            {settings.place === 'worker' ? 'Stored on the Worker' : 'Stored in this browser'}
          </span>
        </footer>
      </div>
      {isMenuOpen && (
        // For a finger; Escape does the same for the keyboard.
        <div className="shade" aria-hidden="true" onClick={() => setIsMenuOpen(false)} />
      )}
      <main>
        <header className="bar">
          <button
            ref={menuButton}
            type="button"
            className="icon-button phone"
            aria-label="Conversations"
            aria-expanded={isMenuOpen}
            aria-controls="sidebar"
            onClick={() => setIsMenuOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <h2>{isNew ? 'New chat' : current === undefined ? 'Conversation' : titleOf(current)}</h2>
          <button type="button" className="model" onClick={() => setShowsSettings(true)}>
            <span className="unseen">Model: </span>
            {modelName(kind, settings)}
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label="Prompt"
            aria-pressed={settings.showsPrompt}
            onClick={() => changeSettings({ showsPrompt: !settings.showsPrompt })}
          >
            <Icon name="prompt" />
          </button>
        </header>
        {offer > 0 && (
          <div className="offer" role="status">
            <span>{conversations(offer)} still in this browser.</span>
            <button type="button" className="button primary" onClick={() => void moveHere()}>
              Move to the Worker
            </button>
            <button type="button" className="button" onClick={() => setOffer(0)}>
              Leave
            </button>
          </div>
        )}
        <Chat
          key={`${settings.place} ${selected} ${target?.seq ?? ''} ${target?.query ?? ''}`}
          sessions={sessions}
          sessionId={selected}
          isNew={isNew}
          onCreated={onCreated}
          settings={settings}
          target={target}
          summarizes={kind !== 'stand-in'}
          showsPrompt={settings.showsPrompt}
          onClosePrompt={() => changeSettings({ showsPrompt: false })}
          onNotice={onNotice}
        />
      </main>
      {showsSettings && (
        <SettingsDialog
          settings={settings}
          onChange={changeSettings}
          onSignIn={() => void signIn()}
          onSignOut={() => {
            changeSettings({ place: 'browser' })
            setShowsSettings(false)
            setOffer(0)
            open(newSelection())
          }}
          onClose={() => setShowsSettings(false)}
        />
      )}
      <Toasts toasts={toasts} onDismiss={dismiss} />
    </div>
  )
}

function conversations(count: number): string {
  return `${count} ${count === 1 ? 'conversation is' : 'conversations are'}`
}

interface Selection {
  readonly id: string
  /** Nothing has been said in it, so nothing is stored. */
  readonly isNew: boolean
}

function newSelection(): Selection {
  return { id: newId(), isNew: true }
}

function addressedSelection(): Selection | null {
  const id = readAddress()
  return id === null ? null : { id, isNew: false }
}

/** The conversation in the address, so that a reload and the back button keep it. */
function useSelection(): readonly [Selection, (next: Selection) => void] {
  const [selection, setSelection] = useState(() => addressedSelection() ?? newSelection())
  useEffect(() => {
    const onChange = () => {
      const addressed = addressedSelection()
      setSelection((current) =>
        addressed?.id === current.id ? current : (addressed ?? newSelection()),
      )
    }
    addEventListener('popstate', onChange)
    return () => removeEventListener('popstate', onChange)
  }, [])
  const select = useCallback((next: Selection) => {
    const address = next.isNew ? '#/' : `#/${encodeURIComponent(next.id)}`
    if (location.hash !== address) history.pushState(null, '', address)
    setSelection(next)
  }, [])
  return [selection, select]
}

function readAddress(): string | null {
  const match = /^#\/(.+)$/.exec(location.hash)
  try {
    return match?.[1] === undefined ? null : decodeURIComponent(match[1])
  } catch {
    return null // not an address that this page has made
  }
}

function useToasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const last = useRef(0)
  const dismiss = useCallback((id: number) => {
    setToasts((shown) => shown.filter((toast) => toast.id !== id))
  }, [])
  const notify = useCallback(
    ({
      text,
      isError = false,
      action = null,
      time = NOTICE_TIME,
    }: Partial<Toast> & { readonly text: string; readonly time?: number }) => {
      last.current += 1
      const id = last.current
      setToasts((shown) => {
        // What fails again and again, such as a Worker that cannot be reached, is said once.
        const others = isError ? shown.filter((toast) => toast.text !== text) : shown
        return [...others.slice(-3), { id, text, isError, action }]
      })
      // What went wrong stays until it was read.
      if (!isError) setTimeout(() => dismiss(id), time)
    },
    [dismiss],
  )
  return { toasts, notify, dismiss }
}
