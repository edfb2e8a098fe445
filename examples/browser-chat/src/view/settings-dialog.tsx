/** Which model answers, how long the prompt may get, where conversations are kept. */

import { useEffect, useRef, useState } from 'react'
import { requestPersistence, type StorageStatus, storageStatus } from 'turnlog/indexeddb'
import { downloadOwnModel, findOwnModel, type OwnModel } from '../model/prompt-api.ts'
import { messageOf } from '../sessions/conversations.ts'
import { findWorkerUser } from '../sessions/places.ts'
import type { Settings } from '../settings.ts'
import { Icon } from './icons.tsx'

const OWN_MODEL = {
  ready: 'The Prompt API; nothing leaves this device',
  downloadable: 'The browser downloads it first; then nothing leaves this device',
  none: 'This browser has none',
} as const

const percent = new Intl.NumberFormat(undefined, { style: 'percent' })

export function SettingsDialog({
  settings,
  onChange,
  onSignIn,
  onSignOut,
  onClose,
}: {
  readonly settings: Settings
  readonly onChange: (change: Partial<Settings>) => void
  readonly onSignIn: () => void
  readonly onSignOut: () => void
  readonly onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [ownModel, setOwnModel] = useState<OwnModel>('none')
  /** What is said of it instead while it is downloaded, and when that fails. */
  const [download, setDownload] = useState<string | null>(null)
  const [worker, setWorker] = useState<string | null | undefined>(undefined)
  const [storage, setStorage] = useState<StorageStatus | null>(null)
  useEffect(() => {
    dialog.current?.showModal()
    void findOwnModel().then(setOwnModel)
    void findWorkerUser().then(setWorker)
    void storageStatus().then(setStorage)
  }, [])
  const [isRefused, setIsRefused] = useState(false)
  const { model, openAi } = settings
  const setOpenAi = (change: Partial<Settings['openAi']>) =>
    onChange({ openAi: { ...openAi, ...change } })
  const keep = async () => {
    const status = await requestPersistence()
    setStorage(status)
    setIsRefused(!status.persisted)
  }
  const choose = async (value: Settings['model']) => {
    onChange({ model: value })
    if (value !== 'prompt-api' || ownModel !== 'downloadable') return
    setDownload('The browser downloads it …')
    try {
      const found = await downloadOwnModel((loaded) =>
        setDownload(`The browser downloads it: ${percent.format(loaded)}`),
      )
      setOwnModel(found)
      setDownload(null)
      if (found === 'none') onChange({ model: 'automatic' })
    } catch (error) {
      setDownload(`It could not be downloaded: ${messageOf(error)}`)
    }
  }
  const choice = (value: Settings['model'], label: string, hint: string, isPossible = true) => (
    <label className="choice">
      <input
        type="radio"
        name="model"
        checked={model === value}
        disabled={!isPossible}
        onChange={() => void choose(value)}
      />
      <span>
        {label}
        <small>{hint}</small>
      </span>
    </label>
  )
  return (
    <dialog ref={dialog} className="settings" aria-labelledby="settings-title" onClose={onClose}>
      <header>
        <h2 id="settings-title">Settings</h2>
        <button
          type="button"
          className="icon-button"
          aria-label="Close settings"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      <fieldset>
        <legend>Model</legend>
        {choice(
          'automatic',
          'Automatic',
          'The browser’s own model where there is one, else the stand-in',
        )}
        {choice(
          'stand-in',
          'Built-in stand-in',
          'Follows fixed rules: searches, and quotes what it finds',
        )}
        {choice(
          'prompt-api',
          'Browser model',
          download ?? OWN_MODEL[ownModel],
          ownModel !== 'none',
        )}
        {choice('open-ai', 'OpenAI-compatible server', 'Any address; the prompt is sent there')}
        {model === 'open-ai' && (
          <div className="fields">
            <label>
              Address
              <input
                type="url"
                placeholder="https://api.openai.com/v1"
                value={openAi.address}
                onChange={(event) => setOpenAi({ address: event.target.value.trim() })}
              />
            </label>
            <label>
              Model
              <input
                value={openAi.modelId}
                onChange={(event) => setOpenAi({ modelId: event.target.value.trim() })}
              />
            </label>
            <label>
              Key
              <input
                type="password"
                autoComplete="off"
                value={openAi.key}
                onChange={(event) => setOpenAi({ key: event.target.value.trim() })}
              />
              <small>Kept in this browser, unencrypted, and sent to that address only.</small>
            </label>
          </div>
        )}
      </fieldset>
      <fieldset>
        <legend>Prompt</legend>
        <label className="inline">
          Archive when there are more turns than
          <input
            type="number"
            min={2}
            max={1000}
            value={settings.maxTurns}
            onChange={(event) => {
              const turns = event.target.valueAsNumber
              if (turns >= 2 && turns <= 1000) onChange({ maxTurns: Math.trunc(turns) })
            }}
          />
        </label>
      </fieldset>
      <fieldset>
        <legend>Storage</legend>
        {settings.place === 'browser' ? (
          <>
            <p>In this browser: {storage === null ? '…' : describe(storage)}</p>
            {storage !== null && !storage.persisted && (
              <button type="button" className="button" onClick={() => void keep()}>
                Keep it when space is low
              </button>
            )}
            <p className="note" role="status">
              {isRefused &&
                'The browser has refused. It may agree once this page is used more often.'}
            </p>
            <p className="note">
              {worker === undefined
                ? 'Looking for a Worker …'
                : worker === null
                  ? 'No Worker answers here: npm start runs one beside this page.'
                  : `A Worker runs beside this page. Its user is “${worker}”.`}
            </p>
            <button type="button" className="button" disabled={!worker} onClick={onSignIn}>
              Sign in to the Worker
            </button>
          </>
        ) : (
          <>
            <p>On the Worker{worker ? `, as “${worker}”` : ''}.</p>
            <button type="button" className="button" onClick={onSignOut}>
              Sign out
            </button>
          </>
        )}
      </fieldset>
    </dialog>
  )
}

function describe({ usage, quota, persisted }: StorageStatus): string {
  const size =
    usage === null
      ? 'size unknown'
      : `${megabytes(usage)} used${quota === null ? '' : ` of ${megabytes(quota)}`}`
  return `${size}; ${persisted ? 'kept until you clear it.' : 'the browser may clear it when space is low.'}`
}

function megabytes(bytes: number): string {
  const format = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })
  return bytes > 1e9 ? `${format.format(bytes / 1e9)} GB` : `${format.format(bytes / 1e6)} MB`
}
