// The browser's Prompt API as its draft describes it (https://webmachinelearning.github.io/prompt-api, 2026),
// over a model that a test writes: what no Chromium without Google's parts has. It is as strict as the
// draft: a system prompt in another place than the first, a prompt that does not fit, a session that was
// destroyed and an unknown option are errors of the draft's kinds.

/** What is put into a page ahead of its own code. */
export interface PromptApiFake {
  /** The page's text of `(conversation, constraint) => string`: what the model says. */
  readonly answer: string
  /** In characters, which are its tokens. Default 100,000. */
  readonly contextWindow?: number
  /** Default `available`. What is `downloadable` comes after a press only, in steps that `continueDownload()` takes. */
  readonly availability?: 'unavailable' | 'downloadable' | 'downloading' | 'available'
  /** Milliseconds between two words of a stream. Default 0. */
  readonly delay?: number
}

/** The script; `openSessions()` in the page counts the sessions that nobody has destroyed. */
export function promptApiFake({
  answer,
  contextWindow = 100_000,
  availability = 'available',
  delay = 0,
}: PromptApiFake): string {
  return `{
  const answer = ${answer}
  let availability = '${availability}'
  const open = new Set()
  globalThis.openSessions = () => open.size
  const known = (options, names) => {
    for (const name of Object.keys(options)) {
      if (!names.includes(name)) throw new TypeError('unknown option ' + name)
    }
  }
  const canonical = (input, isFirst) => {
    const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input
    return messages.map(({ role, content, prefix = false }, index) => {
      if (!['system', 'user', 'assistant'].includes(role)) throw new TypeError('role ' + role)
      if (role === 'system' && !(isFirst && index === 0)) throw new TypeError('system prompt is not the first')
      if (typeof content !== 'string') throw new TypeError('only texts here')
      if (prefix) throw new DOMException('prefix', 'SyntaxError')
      return { role, content }
    })
  }
  const sizeOf = (messages) => messages.reduce((sum, { content }) => sum + content.length, 0)
  const checkSize = (requested) => {
    if (requested <= ${contextWindow}) return
    if (globalThis.QuotaExceededError) throw new QuotaExceededError('too long', { requested, quota: ${contextWindow} })
    throw new DOMException('too long', 'QuotaExceededError')
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, ${delay}))

  globalThis.LanguageModel = class LanguageModel extends EventTarget {
    #messages
    #destroying = new AbortController()
    constructor(key, messages) {
      super()
      if (key !== open) throw new TypeError('Illegal constructor')
      this.#messages = messages
      open.add(this)
    }
    static async availability(options = {}) {
      known(options, ['expectedInputs', 'expectedOutputs', 'tools', 'samplingMode'])
      return availability
    }
    static async create(options = {}) {
      known(options, ['expectedInputs', 'expectedOutputs', 'tools', 'samplingMode', 'signal', 'monitor', 'initialPrompts'])
      options.signal?.throwIfAborted()
      if (availability === 'unavailable') throw new DOMException('no model', 'NotSupportedError')
      const messages = canonical(options.initialPrompts ?? [], true)
      checkSize(sizeOf(messages))
      await pause()
      if (availability === 'downloadable') {
        if (!navigator.userActivation.isActive) throw new DOMException('nothing was pressed', 'NotAllowedError')
        const monitor = new EventTarget()
        options.monitor?.(monitor)
        for (const loaded of [0, 0.42, 1]) {
          monitor.dispatchEvent(new ProgressEvent('downloadprogress', { loaded, total: 1 }))
          if (loaded < 1) await new Promise((resolve) => { globalThis.continueDownload = resolve })
        }
        availability = 'available'
      }
      options.signal?.throwIfAborted()
      return new LanguageModel(open, messages)
    }
    get contextWindow() { return ${contextWindow} }
    get contextUsage() { return sizeOf(this.#messages) }
    async measureContextUsage(input) { return sizeOf(canonical(input, false)) }
    #begin(input, options) {
      known(options, ['responseConstraint', 'omitResponseConstraintInput', 'signal'])
      if (this.#destroying.signal.aborted) throw new DOMException('destroyed', 'InvalidStateError')
      options.signal?.throwIfAborted()
      const messages = canonical(input, this.#messages.length === 0)
      checkSize(this.contextUsage + sizeOf(messages))
      this.#messages = [...this.#messages, ...messages]
      const said = answer(this.#messages, options.responseConstraint ?? null)
      this.#messages = [...this.#messages, { role: 'assistant', content: said }]
      return said
    }
    async append(input) {
      this.#messages = [...this.#messages, ...canonical(input, this.#messages.length === 0)]
    }
    async prompt(input, options = {}) {
      await pause()
      return this.#begin(input, options)
    }
    promptStreaming(input, options = {}) {
      const ending = AbortSignal.any([this.#destroying.signal, ...(options.signal ? [options.signal] : [])])
      let words = null
      return new ReadableStream({
        pull: async (controller) => {
          try {
            words ??= this.#begin(input, options).match(/\\s*\\S+/g) ?? []
            await pause()
            ending.throwIfAborted()
            const word = words.shift()
            if (word === undefined) controller.close()
            else controller.enqueue(word)
          } catch (error) {
            controller.error(error)
          }
        },
      })
    }
    async clone(options = {}) {
      known(options, ['signal'])
      options.signal?.throwIfAborted()
      if (this.#destroying.signal.aborted) throw new DOMException('destroyed', 'InvalidStateError')
      return new LanguageModel(open, this.#messages)
    }
    destroy() {
      open.delete(this)
      this.#destroying.abort(new DOMException('destroyed', 'AbortError'))
    }
  }
}`
}
