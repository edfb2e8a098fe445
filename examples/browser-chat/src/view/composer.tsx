/** Where a question is written. Keeps its own state: typing draws nothing else anew. */

import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Icon } from './icons.tsx'

export function Composer({
  isNew,
  isAnswering,
  isBusy,
  returned,
  onSend,
  onStop,
}: {
  /** A conversation that begins: one writes at once. */
  readonly isNew: boolean
  readonly isAnswering: boolean
  /** The answer is still being stored. */
  readonly isBusy: boolean
  /** What could not be sent, to be sent again; another object each time. */
  readonly returned: { readonly text: string } | null
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}) {
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    // On a phone the keyboard would cover half of the page.
    if (isNew && matchMedia('(hover: hover)').matches) field.current?.focus()
  }, [isNew])
  useEffect(() => {
    // What has been written since stays.
    if (returned !== null) setText((current) => (current === '' ? returned.text : current))
  }, [returned])
  const canSend = text.trim() !== '' && !isAnswering && !isBusy
  const send = () => {
    if (!canSend) return
    onSend(text.trim())
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of a Chinese or Japanese word; Safari says so by the code 229.
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229
    if (event.key !== 'Enter' || event.shiftKey || isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isAnswering ? (
        <button
          type="button"
          className="round-button"
          aria-label="Stop"
          // The second click of a double click was meant for Send, which was here before.
          onClick={({ detail }) => detail < 2 && onStop()}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button type="submit" className="round-button" aria-label="Send" disabled={!canSend}>
          <Icon name="send" />
        </button>
      )}
    </form>
  )
}
