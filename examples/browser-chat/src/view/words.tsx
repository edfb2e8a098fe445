/** Texts on the screen: a small part of Markdown, and marks where a search matches. */

import { Fragment, type ReactNode } from 'react'
import { matchRanges } from 'turnlog'

/** The text with every match of `query` marked, by turnlog's own rules of matching. */
export function Highlighted({ text, query }: { readonly text: string; readonly query: string }) {
  if (query.trim() === '') return text
  const pieces: ReactNode[] = []
  let position = 0
  for (const { start, end } of matchRanges(text, query)) {
    pieces.push(text.slice(position, start), <mark key={start}>{text.slice(start, end)}</mark>)
    position = end
  }
  pieces.push(text.slice(position))
  return pieces.map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
    <Fragment key={index}>{piece}</Fragment>
  ))
}

const SNIPPET = 140

/** The part of a long text around the first match. */
export function snippetOf(text: string, query: string): string {
  const flat = text.replaceAll(/\s+/g, ' ')
  if (flat.length <= SNIPPET) return flat
  const first = matchRanges(flat, query)[0]?.start ?? 0
  const start = Math.max(0, first - SNIPPET / 3)
  const part = flat.slice(start, start + SNIPPET).toWellFormed()
  return `${start > 0 ? '… ' : ''}${part}${start + SNIPPET < flat.length ? ' …' : ''}`
}

/**
 * What models write in answers: paragraphs, lists, quotations, headings, code, emphasis. Everything else
 * is shown as it is; nothing becomes HTML.
 */
export function Markdown({ text, query = '' }: { readonly text: string; readonly query?: string }) {
  return blocksOf(text).map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a growing text only changes at its end
    <Block key={index} block={block} query={query} />
  ))
}

interface TextBlock {
  readonly type: 'paragraph' | 'code' | 'quote' | 'list' | 'numbers' | 'heading'
  readonly lines: readonly string[]
}

const LINE_TYPES: readonly (readonly [TextBlock['type'], RegExp])[] = [
  ['quote', /^>\s?/],
  ['list', /^\s*[-*•]\s+/],
  ['numbers', /^\s*\d{1,3}[.)]\s+/],
  ['heading', /^#{1,6}\s+/],
]

function blocksOf(text: string): readonly TextBlock[] {
  const blocks: { type: TextBlock['type']; lines: string[] }[] = []
  let isOpen = false
  let isCode = false
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) {
      isCode = !isCode
      if (isCode) blocks.push({ type: 'code', lines: [] })
      isOpen = false
      continue
    }
    if (isCode) {
      blocks.at(-1)?.lines.push(line)
      continue
    }
    if (line.trim() === '') {
      isOpen = false
      continue
    }
    const [type, pattern] = LINE_TYPES.find(([, start]) => start.test(line)) ?? ['paragraph', /^/]
    const content = line.replace(pattern, '')
    const last = blocks.at(-1)
    if (isOpen && last?.type === type && type !== 'heading') last.lines.push(content)
    else blocks.push({ type, lines: [content] })
    isOpen = true
  }
  return blocks
}

function Block({ block, query }: { readonly block: TextBlock; readonly query: string }) {
  const { type, lines } = block
  if (type === 'code') {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard
      <pre tabIndex={0}>
        <code>{lines.join('\n')}</code>
      </pre>
    )
  }
  if (type === 'list' || type === 'numbers') {
    const items = lines.map((line, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a growing text only changes at its end
      <li key={index}>
        <Inline text={line} query={query} />
      </li>
    ))
    return type === 'list' ? <ul>{items}</ul> : <ol>{items}</ol>
  }
  const content = <Inline text={lines.join('\n')} query={query} />
  if (type === 'quote') return <blockquote>{content}</blockquote>
  if (type === 'heading') return <p className="heading">{content}</p>
  return <p>{content}</p>
}

function Inline({ text, query }: { readonly text: string; readonly query: string }) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((piece, index) => {
    const marked = (inner: string) => <Highlighted text={inner} query={query} />
    if (index % 2 === 0) {
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
      return <Fragment key={index}>{marked(piece)}</Fragment>
    }
    return piece.startsWith('`') ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <code key={index}>{marked(piece.slice(1, -1))}</code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <strong key={index}>{marked(piece.slice(2, -2))}</strong>
    )
  })
}
