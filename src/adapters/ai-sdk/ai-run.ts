/** Session memory for one call of `generateText`, `streamText` or an agent, through its own callbacks. */

import type { Instructions, ModelMessage, SystemModelMessage, ToolSet, UserModelMessage } from 'ai'
import type { CompactionResult } from '../../core/compact.ts'
import { invalidArgument } from '../../core/errors.ts'
import { randomId } from '../../core/identifiers.ts'
import type { BeginOptions, MemoryRun, SessionMemory } from '../../memory/session-memory.ts'
import { aiMessages } from './model-messages.ts'
import { createPartialAnswer } from './partial-answer.ts'

export interface AiRunOptions extends Omit<BeginOptions<ModelMessage>, 'messages'> {
  /**
   * Hears, once, that something could not be stored: the AI SDK swallows what its callbacks throw.
   * Default: the console. `settled` throws it as well, and a call that has steps before it stops.
   */
  readonly onError?: ((error: unknown) => void) | null | undefined
}

/** What a step begins with. */
interface StepStart {
  readonly stepNumber: number
  readonly instructions: Instructions | undefined
  readonly initialMessages: readonly ModelMessage[]
  readonly responseMessages: readonly ModelMessage[]
  readonly experimental_steeringMessages?: readonly UserModelMessage[]
}

/** What a step ends with. */
interface StepEnd {
  readonly finishReason: string
  readonly response: { readonly messages: readonly ModelMessage[] }
}

interface Part {
  readonly type: string
}

/** Options of `generateText`, `streamText` and agents: spread them into the call. */
export interface AiRunCallbacks {
  prepareStep(step: StepStart): Promise<PreparedStep | undefined>
  onStepStart(event: { readonly tools: ToolSet | undefined }): void
  onChunk(event: { readonly chunk: Part }): void
  onStepEnd(step: StepEnd): Promise<void>
  onStepError(event: object): Promise<void>
  onAbort(event: object): void
  onEnd(event: object): void
}

export interface PreparedStep {
  messages: ModelMessage[]
  instructions?: SystemModelMessage[]
}

/** The memory of one call. */
export interface AiRun {
  /** Give it to another `createAiRun` to try the same call again, after a reload for instance. */
  readonly runId: string
  /** What the call takes: `generateText({ model, messages, ...run.callbacks })`. */
  readonly callbacks: AiRunCallbacks
  /**
   * Resolves when all that was said is stored, and the compaction after it has ended: hand it to
   * `waitUntil` on a Worker.
   *
   * @throws what went wrong while storing.
   */
  settled(): Promise<{ readonly compaction: CompactionResult | null }>
}

/** How long after an abort a reader may take for what is on its way, in milliseconds; it may be gone. */
const READER_TIME = 250

/**
 * Memory around one call: the history goes in before the first step, and every message of every step
 * is stored once, in order, when its step ends. What comes of a step that is aborted or fails is stored
 * as far as it came, with `metadata.aborted`.
 *
 * The call's `messages` are what is new, the history left out. To try again after a failure, use the same
 * run, or its `runId`: the question is not stored twice, and steps that were finished are not repeated.
 *
 * @throws SessionError from the call itself, as `memory.begin` does.
 */
export function createAiRun(memory: SessionMemory<ModelMessage>, options: AiRunOptions): AiRun {
  const runId = options.runId ?? randomId()
  // biome-ignore lint/suspicious/noConsole: the documented default, nobody else may ever hear of it
  const onError = options.onError ?? ((error: unknown) => console.error(error))
  const partial = createPartialAnswer()
  let run: MemoryRun<ModelMessage> | null = null
  let tools: ToolSet | undefined
  let isAnswered = false
  /** The last step failed: the SDK ends a stream with `onEnd` all the same. */
  let isBroken = false
  let compaction: CompactionResult | null = null
  let failure: { readonly error: unknown } | null = null
  let writes: Promise<void> = Promise.resolve()
  let chunks = 0
  let onStreamEnd: (() => void) | null = null

  /** One write after the other; the first that fails is reported, and stops those behind it. */
  const write = (store: (begun: MemoryRun<ModelMessage>) => Promise<unknown>): Promise<void> => {
    const begun = run
    if (begun === null) return writes
    writes = writes.then(async () => {
      if (failure !== null) return
      try {
        await store(begun)
      } catch (error) {
        failure = { error }
        onError(error)
      }
    })
    return writes
  }

  const begin = async (messages: readonly ModelMessage[]): Promise<MemoryRun<ModelMessage>> => {
    if (isAnswered) {
      throw invalidArgument(
        'run',
        `"${runId}" has its answer: create another for the next question`,
      )
    }
    await writes
    failure = null
    isBroken = false
    await partial.take(undefined)
    return memory.begin({ ...options, runId, messages })
  }

  const callbacks: AiRunCallbacks = {
    async prepareStep(step) {
      const steering = step.experimental_steeringMessages ?? []
      if (step.stepNumber > 0) {
        await write((begun) => begun.append(steering))
        if (failure === null) return undefined
        // Better no further step than one that nobody will remember.
        isBroken = true
        throw failure.error
      }
      const begun = await begin(step.initialMessages)
      run = begun
      // The results of tools that a user has approved come before the first step.
      const results = withoutAnswered(step.responseMessages, begun.messages)
      await begun.append([...results, ...steering])
      return {
        messages: aiMessages([...begun.messages, ...results, ...steering]),
        ...(begun.system.length === 0
          ? {}
          : { instructions: [...toSystemMessages(step.instructions), ...begun.system] }),
      }
    },
    onStepStart(event) {
      tools = event.tools
    },
    onChunk({ chunk }) {
      chunks += 1
      if (chunk.type === 'abort') onStreamEnd?.()
      else if (chunk.type === 'error') isBroken = true
      else partial.add({ ...chunk })
    },
    async onStepEnd({ finishReason, response: { messages } }) {
      await partial.take(undefined)
      isBroken = finishReason === 'error'
      await write((begun) => (isBroken ? begun.abort(messages) : begun.append(messages)))
    },
    async onStepError() {
      isBroken = true
      await write(async (begun) => {
        // Parts of the stream that came before the error may still be on their way to the reader.
        for (let seen = 0; seen < chunks; ) {
          seen = chunks
          await new Promise<void>((resolve) => void setTimeout(resolve))
        }
        await begun.abort(await partial.take(tools))
      })
    },
    onAbort() {
      // What is still on its way to the reader belongs to the answer. The AI SDK waits for this
      // callback before it says so, so that it must not be waited for here.
      void write(async (begun) => {
        await new Promise<void>((resolve) => {
          onStreamEnd = resolve
          setTimeout(resolve, READER_TIME)
        })
        await begun.abort(await partial.take(tools))
      })
    },
    onEnd() {
      if (isBroken) return
      isAnswered = true
      // Not waited for: a summary is as slow as its model, and the answer is there.
      void write(async (begun) => {
        compaction = (await begun.end([])).compaction
      })
    },
  }

  return {
    runId,
    callbacks,
    async settled() {
      await writes
      if (failure !== null) throw failure.error
      return { compaction }
    },
  }
}

function toSystemMessages(instructions: Instructions | undefined): readonly SystemModelMessage[] {
  if (instructions === undefined) return []
  if (typeof instructions === 'string') return [{ role: 'system', content: instructions }]
  return Array.isArray(instructions) ? instructions : [instructions]
}

/** Results of calls that the prompt has none for yet: a retry runs an approved tool again. */
function withoutAnswered(
  messages: readonly ModelMessage[],
  prompt: readonly ModelMessage[],
): readonly ModelMessage[] {
  const answered = new Set<string>()
  for (const part of prompt.flatMap(partsOf)) {
    if (part.type === 'tool-call') answered.delete(part.toolCallId ?? '')
    if (part.type === 'tool-result') answered.add(part.toolCallId ?? '')
  }
  return messages.flatMap((message) => {
    const content = partsOf(message).filter(({ toolCallId }) => !answered.has(toolCallId ?? ''))
    if (content.length === partsOf(message).length) return [message]
    return content.length === 0 ? [] : [{ ...message, content } as ModelMessage]
  })
}

function partsOf({ content }: ModelMessage): readonly { type: string; toolCallId?: string }[] {
  return typeof content === 'string' ? [] : (content as readonly { type: string }[])
}
