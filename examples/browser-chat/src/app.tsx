/** The page: conversations on the left, one of them in the middle, its prompt on the right. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Session } from 'turnlog'
import { chosenKind, type ModelKind, modelName } from './model/choose-model.ts'
import {
  deleteConversation,
  exportConversation,
  importConversation,
  isDeleted,
  listAll,
  messageOf,
  moveConversations,
  newId,
  renameConversation,
  titleOf,
  UNDO_TIME,
} from './sessions/conversations.ts'
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
  readonly list: readonly Session[]
  readonly hasMore: boolean
}

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
  const [selected, select] = useSelected()
  const [target, setTarget] = useState<ChatProps['target']>(null)
  const [isMenuOpen, setIsMenuOpen] = useState(false)
  const [showsSettings, setShowsSettings] = useState(false)
  const [kind, setKind] = useState<ModelKind>('stand-in')
  const [offer, setOffer] = useState(0)
  const [limit, setLimit] = useState(LIST_PAGE)
  const [{ list, hasMore }, setList] = useState<SessionPage>({ list: [], hasMore: false })

  useEffect(() => void chosenKind(settings).then(setKind), [settings])

  const refresh = useCallback(async () => {
    try {
      const page = await sessions.listSessions({ limit })
      const shown = page.sessions.filter((session) => !isDeleted(session))
      setList({ list: shown, hasMore: page.cursor !== null })
    } catch (error) {
      onNotice(`The conversations could not be read: ${messageOf(error)}`, true)
    }
  }, [sessions, limit, onNotice])

  useEffect(() => {
    void refresh()
    let timer: ReturnType<typeof setTimeout> | undefined
    const soon = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void refresh(), 100)
    }
    const stop = sessions.repository.watch(soon)
    const onVisible = () => {
      if (document.visibilityState === 'visible') soon()
    }
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      stop()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [sessions, refresh])

  // What was deleted and not brought back, in a page that was closed since.
  useEffect(() => void sessions.deleteExpiredSessions().catch(() => undefined), [sessions])

  const open = (id: string, next: ChatProps['target'] = null) => {
    setTarget(next)
    select(id)
    setIsMenuOpen(false)
  }

  /** Runs something that the person has asked for, and says when it fails. */
  const attempt = async (what: string, run: () => Promise<void>) => {
    try {
      await run()
      await refresh()
    } catch (error) {
      onNotice(`${what}: ${messageOf(error)}`, true)
    }
  }

  const remove = (session: Session) =>
    attempt('It was not deleted', async () => {
      const undo = await deleteConversation(sessions, session)
      if (session.id === selected) open(newId())
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
        open(session.id)
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
      open(newId())
    })

  const moveHere = () =>
    attempt('Moving failed', async () => {
      setOffer(0)
      const browser = openPlace('browser', () => undefined)
      try {
        const { moved, stayed } = await moveConversations(browser, sessions)
        onNotice(
          `${moved} ${moved === 1 ? 'conversation is' : 'conversations are'} on the Worker now.`,
        )
        if (stayed.length > 0) onNotice(`Still in this browser: ${stayed.join('; ')}`, true)
      } finally {
        await browser.close()
      }
    })

  const current = list.find(({ id }) => id === selected)
  return (
    <div className={settings.showsPrompt ? 'page with-prompt' : 'page'}>
      <div className={isMenuOpen ? 'sidebar open' : 'sidebar'} id="sidebar">
        <header>
          <h1>
            turnlog <span>chat</span>
          </h1>
          <button
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
          selected={selected}
          onMore={() => setLimit((shown) => Math.min(1000, shown + LIST_PAGE))}
          onNew={() => open(newId())}
          onSelect={(id) => open(id)}
          onOpenHit={(id, seq, query) => open(id, { seq, query })}
          onRename={(session, title) =>
            void attempt('It was not renamed', async () => {
              await renameConversation(sessions, session.id, title)
            })
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
        // Escape and the button in the list do the same for the keyboard.
        <div className="shade" aria-hidden="true" onClick={() => setIsMenuOpen(false)} />
      )}
      <main>
        <header className="bar">
          <button
            type="button"
            className="icon-button phone"
            aria-label="Conversations"
            aria-expanded={isMenuOpen}
            aria-controls="sidebar"
            onClick={() => setIsMenuOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <h2>{current === undefined ? 'New chat' : titleOf(current)}</h2>
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
            <span>
              {offer} {offer === 1 ? 'conversation is' : 'conversations are'} still in this browser.
            </span>
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
            open(newId())
          }}
          onClose={() => setShowsSettings(false)}
        />
      )}
      <Toasts toasts={toasts} onDismiss={dismiss} />
    </div>
  )
}

/** The conversation in the address, so that a reload and the back button keep it. */
function useSelected(): readonly [string, (id: string) => void] {
  const [selected, setSelected] = useState(() => readAddress() ?? newId())
  useEffect(() => {
    const onChange = () => setSelected((current) => readAddress() ?? current)
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  const select = useCallback((id: string) => {
    location.hash = `/${encodeURIComponent(id)}`
    setSelected(id)
  }, [])
  useEffect(() => {
    if (readAddress() === null) history.replaceState(null, '', `#/${encodeURIComponent(selected)}`)
  }, [selected])
  return [selected, select]
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
      setToasts((shown) => [...shown.slice(-3), { id, text, isError, action }])
      // What went wrong stays until it was read.
      if (!isError) setTimeout(() => dismiss(id), time)
    },
    [dismiss],
  )
  return { toasts, notify, dismiss }
}
