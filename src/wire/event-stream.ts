/** Server-sent events: what the changes of a session travel as. */

/** One event of a stream. */
export interface StreamEvent {
  /** Where a later stream goes on when it is given back as `Last-Event-ID`: a `seq`. */
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

/** The text of an event; `data` must be one line, as JSON is. */
export function formatStreamEvent({ id, event, data }: StreamEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
  return `${head}data: ${data}\n\n`
}

/** The events of a stream that arrives in pieces of any size. */
export async function* parseStream(pieces: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  let rest = ''
  let fields: Record<string, string> = {}
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.map((text) => text.replace(/\r$/, ''))) {
      if (line === '') {
        if (fields['data'] !== undefined) {
          yield { id: fields['id'], event: fields['event'], data: fields['data'] }
        }
        fields = {}
        continue
      }
      const colon = line.indexOf(':')
      if (colon === 0) continue // a comment, which only keeps the connection open
      const name = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      fields[name] =
        name === 'data' && fields['data'] !== undefined ? `${fields['data']}\n${value}` : value
    }
  }
}
