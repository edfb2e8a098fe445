/** Where a question is written. Keeps its own state: typing draws nothing else anew. */

import { type KeyboardEvent, useState } from 'react'
import { Icon } from './icons.tsx'

export function Composer({
  isAnswering,
  isBusy,
  onSend,
  onStop,
}: {
  readonly isAnswering: boolean
  /** The answer is still being stored. */
  readonly isBusy: boolean
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}) {
  const [text, setText] = useState('')
  const canSend = text.trim() !== '' && !isAnswering && !isBusy
  const send = () => {
    if (!canSend) return
    onSend(text.trim())
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of a Chinese or Japanese word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
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
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isAnswering ? (
        <button type="button" className="round-button" aria-label="Stop" onClick={onStop}>
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
