// How far a long piece of work is: one line that changes on a terminal, a line now and then elsewhere.

const INTERVAL = 2000 // milliseconds between lines where nothing can be overwritten

export interface Progress {
  /** Shows `text`, or not, when something was shown a moment ago. */
  show(text: string): void
  /** Clears the line. */
  end(): void
}

export function createProgress(): Progress {
  const { stdout } = process
  let shownAt = Date.now()
  return {
    show(text) {
      if (stdout.isTTY) stdout.write(`\r\x1b[K   ${text}`)
      else if (Date.now() - shownAt >= INTERVAL) {
        shownAt = Date.now()
        console.log(`   … ${text}`)
      }
    },
    end() {
      if (stdout.isTTY) stdout.write('\r\x1b[K')
    },
  }
}
