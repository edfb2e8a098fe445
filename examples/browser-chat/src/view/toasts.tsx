/** Short messages at the edge of the page: what has happened, and the way back. */

import { Icon } from './icons.tsx'

export interface Toast {
  readonly id: number
  readonly text: string
  readonly isError: boolean
  readonly action: { readonly label: string; readonly run: () => void } | null
}

export function Toasts({
  toasts,
  onDismiss,
}: {
  readonly toasts: readonly Toast[]
  readonly onDismiss: (id: number) => void
}) {
  return (
    <section className="toasts" aria-label="Notices">
      {/* Always there: a live region that comes with its first text is not read out. */}
      <div role="status">{toasts.filter(({ isError }) => !isError).map(card)}</div>
      <div role="alert">{toasts.filter(({ isError }) => isError).map(card)}</div>
    </section>
  )

  function card({ id, text, isError, action }: Toast) {
    return (
      <div key={id} className={isError ? 'toast error' : 'toast'}>
        <span>{text}</span>
        {action !== null && (
          <button
            type="button"
            className="text-button"
            onClick={() => {
              onDismiss(id)
              action.run()
            }}
          >
            {action.label}
          </button>
        )}
        <button
          type="button"
          className="icon-button"
          aria-label="Dismiss"
          onClick={() => onDismiss(id)}
        >
          <Icon name="close" />
        </button>
      </div>
    )
  }
}
