// Wires the page to the chat.
import { messageText } from 'turnlog'
import { ask, history } from './chat.ts'

const SESSION = 'quickstart'
const list = find('#messages')
const form = find<HTMLFormElement>('form')
const input = find<HTMLInputElement>('input')

async function show(): Promise<void> {
  const items = (await history(SESSION)).map(({ message, archived }) => {
    const item = document.createElement('li')
    item.textContent = messageText(message)
    item.className = archived ? `${message.role} archived` : message.role
    return item
  })
  list.replaceChildren(...items)
}

async function send(text: string): Promise<void> {
  form.inert = true
  try {
    await ask(SESSION, text)
  } finally {
    form.inert = false
  }
  await show()
}

function find<E extends Element = Element>(selector: string): E {
  const element = document.querySelector<E>(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const { value } = input
  form.reset()
  send(value).catch(reportError)
})

await show()
