/** One conversation: its transcript, the answer that is coming, and what is asked next. */

import { useChat } from '@ai-sdk/react'
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { Session } from 'turnlog'
import type { AiRun } from 'turnlog/ai-sdk'
import {
  archiveNow,
  createPageMemory,
  fitPrompt,
  type PageMemoryOptions,
} from '../agent/page-memory.ts'
import { createPageTransport, questionId } from '../agent/page-transport.ts'
import { CONTINUE } from '../agent/wording.ts'
import { chooseModel } from '../model/choose-model.ts'
import { createConversation, messageOf, newId, type Sessions } from '../sessions/conversations.ts'
import type { Settings } from '../settings.ts'
import { Composer } from './composer.tsx'
import { type Entry, entriesOf, entryText, liveEntries } from './entries.ts'
import { type EntryActions, EntryView } from './entry-view.tsx'
import { Icon } from './icons.tsx'
import { PromptPanel } from './prompt-panel.tsx'
import { createTranscript } from './transcript.ts'

/** Distance from the end, in pixels, within which new words keep the end in sight. */
const NEAR = 80

export interface ChatProps {
  readonly sessions: Sessions
  readonly sessionId: string
  /** Nothing of it is stored yet. */
  readonly isNew: boolean
  readonly onCreated: () => void
  readonly settings: Settings
  /** Where to open the transcript, and what was looked for. */
  readonly target: { readonly seq: number; readonly query: string } | null
  readonly showsPrompt: boolean
  readonly onClosePrompt: () => void
  readonly onNotice: (text: string, isError?: boolean) => void
  readonly summarizes: boolean
}

export function Chat(props: ChatProps) {
  const { sessions, sessionId, isNew, onCreated, settings, target, onNotice, summarizes } = props
  const transcript = useMemo(() => createTranscript(sessions, sessionId), [sessions, sessionId])
  const state = useSyncExternalStore(transcript.watch, transcript.getState)
  const [liveRun, setLiveRun] = useState<string | null>(null)
  const [spoken, setSpoken] = useState('')
  const [returned, setReturned] = useState<{ readonly text: string } | null>(null)
  const run = useRef<AiRun | null>(null)
  /** Whether the question is in the log; an answer that is stopped at once does not wait for it. */
  const isStored = useRef(Promise.resolve(false))
  const runId = useRef<string | null>(null)
  /** The memory keeps the prompt short from then on. */
  const isFitted = useRef(false)
  const latestSettings = useRef(settings)
  latestSettings.current = settings

  const memoryOptions = useMemo<PageMemoryOptions>(
    () => ({
      maxTurns: settings.maxTurns,
      summarizer: summarizes ? () => chooseModel(latestSettings.current) : null,
    }),
    [settings.maxTurns, summarizes],
  )
  const latestOptions = useRef(memoryOptions)
  latestOptions.current = memoryOptions
  const transport = useMemo(
    () =>
      createPageTransport({
        service: sessions,
        // A memory of the moment: settings may have changed since the last question.
        memory: {
          begin(options) {
            const begun = createPageMemory(sessions, latestOptions.current).begin(options)
            isStored.current = begun.then(
              () => true,
              () => false,
            )
            return begun
          },
        },
        getModel: () => chooseModel(latestSettings.current),
        getRunId: () => runId.current ?? newId(),
        onRun: (begun) => {
          run.current = begun
        },
      }),
    [sessions],
  )
  const chat = useChat({ id: sessionId, transport, throttle: 40 })
  const { sendMessage, regenerate, setMessages, clearError, stop } = chat
  const isAnswering = chat.status === 'submitted' || chat.status === 'streaming'

  // biome-ignore lint/correctness/useExhaustiveDependencies: whether it is new counts at the start only
  useEffect(() => {
    if (!isNew) void transcript.open(target?.seq)
    const onOnline = () => {
      if (transcript.getState().status === 'failed') void transcript.refresh()
    }
    addEventListener('online', onOnline)
    return () => {
      removeEventListener('online', onOnline)
      transcript.close()
    }
  }, [transcript, target])

  /** One run: shown live while it goes on, then read from the log. */
  const answer = useCallback(
    async (ask: (id: string) => Promise<void>) => {
      // Pressed twice, before the first press shows.
      if (runId.current !== null) return
      const id = newId()
      runId.current = id
      run.current = null
      isStored.current = Promise.resolve(false)
      clearError()
      setLiveRun(id)
      setSpoken('Answering')
      try {
        await ask(id)
        await (run.current as AiRun | null)?.settled()
      } catch (error) {
        const what = (await isStored.current)
          ? 'Not all of the answer was stored'
          : 'It was not sent'
        onNotice(`${what}: ${messageOf(error)}`, true)
      }
      await transcript.refresh()
      // In one go: the stored answer takes the place of the live one.
      setMessages([])
      setLiveRun(null)
      runId.current = null
      const last = entriesOf(transcript.getState().events).at(-1)
      setSpoken(last?.kind === 'answer' ? `Answer: ${entryText(last)}` : '')
    },
    [transcript, setMessages, clearError, onNotice],
  )

  const makeRoom = useCallback(
    async (session: Session) => {
      if (!isFitted.current) await fitPrompt(sessions, session, latestOptions.current)
      isFitted.current = true
      if (transcript.getState().after > 0) await transcript.open()
    },
    [sessions, transcript],
  )

  const question = useCallback(
    async (id: string, text: string, edited?: Entry) => {
      try {
        if (edited !== undefined) {
          await sessions.rewind(sessionId, { before: edited.id })
          await transcript.refresh()
        }
        const session = await createConversation(sessions, sessionId, text)
        if (isNew) onCreated()
        await makeRoom(session)
        await sendMessage({ id: questionId(id), role: 'user', parts: [{ type: 'text', text }] })
      } finally {
        if (!(await isStored.current)) setReturned({ text })
      }
    },
    [sessions, sessionId, transcript, isNew, onCreated, makeRoom, sendMessage],
  )
  const send = useCallback((text: string) => answer((id) => question(id, text)), [answer, question])

  const [stored, summaries] = useMemo(() => {
    const entries = entriesOf(state.events, liveRun)
    return [
      entries.filter(({ kind }) => kind !== 'summary'),
      entries.filter(({ kind }) => kind === 'summary'),
    ]
  }, [state.events, liveRun])
  const [live, isWaiting] = useMemo(() => {
    const entries = liveRun === null ? [] : liveEntries(chat.messages)
    // A question that is answered anew is in the log.
    const isNews = ({ id }: Entry) => !stored.some((entry) => entry.id === id)
    return [entries.filter(isNews), isAnswering && entries.at(-1)?.kind === 'question']
  }, [chat.messages, liveRun, stored, isAnswering])

  const latestStored = useRef(stored)
  latestStored.current = stored
  const actions = useMemo<EntryActions>(
    () => ({
      onEdit(entry: Entry, text: string) {
        const isFree = runId.current === null
        if (isFree) void answer((id) => question(id, text, entry))
        else onNotice('Wait for the answer, or stop it.')
        return isFree
      },
      // The question stays where it is; the answer to it leaves the conversation.
      onAskAgain: (entry: Entry) =>
        void answer(async () => {
          const entries = latestStored.current
          const place = entries.findIndex(({ id }) => id === entry.id)
          const asked = entries.slice(0, place + 1).findLast(({ kind }) => kind === 'question')
          if (asked === undefined) throw new Error('There is no question to answer.')
          await sessions.rewind(sessionId, { after: asked.id })
          await transcript.refresh()
          await makeRoom(await sessions.findOrCreate({ id: sessionId }))
          const parts = [{ type: 'text' as const, text: entryText(asked) }]
          setMessages([{ id: asked.id, role: 'user', parts }])
          await regenerate()
        }),
      onContinue: () => void send(CONTINUE),
      onFailure: (what: string, error: unknown) => onNotice(`${what}: ${messageOf(error)}`, true),
    }),
    [
      sessions,
      sessionId,
      transcript,
      answer,
      question,
      send,
      makeRoom,
      setMessages,
      regenerate,
      onNotice,
    ],
  )

  const archive = async () => {
    try {
      const count = await archiveNow(sessions, sessionId, memoryOptions)
      await transcript.refresh()
      onNotice(
        count === 0
          ? 'Nothing to archive: the last two turns always stay in the prompt.'
          : `${count} ${count === 1 ? 'message' : 'messages'} left the prompt. Search finds them all the same.`,
      )
    } catch (error) {
      onNotice(`Nothing was archived: ${messageOf(error)}`, true)
    }
  }

  const scroller = useScroller(stored, live, state.before, target?.seq ?? null, state.status)
  const isBusy = liveRun !== null && !isAnswering
  const boundary = boundaryOf(stored)
  const isEmpty = stored.length === 0 && live.length === 0 && state.before === 0

  return (
    <>
      <section className="chat" aria-label="Conversation">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard */}
        <div className="scroller" ref={scroller.ref} onScroll={scroller.onScroll} tabIndex={0}>
          <div className="column">
            {state.status === 'failed' && (
              <p className="problem" role="alert">
                This conversation could not be read: {state.error}{' '}
                <button
                  type="button"
                  className="text-button"
                  onClick={() => void transcript.refresh()}
                >
                  Try again
                </button>
              </p>
            )}
            {state.status === 'deleted' && (
              <p className="problem" role="alert">
                This conversation was deleted.
              </p>
            )}
            {state.before > 0 && (
              <EarlierMessages count={state.before} onLoad={transcript.loadEarlier} />
            )}
            {isEmpty && (isNew || state.status === 'missing') && liveRun === null && (
              <Welcome onAsk={send} />
            )}
            {stored.map((entry, index) => (
              <div key={entry.id} className="row">
                {index === boundary && <Boundary summaries={summaries} actions={actions} />}
                <EntryView
                  entry={entry}
                  query={isTarget(entry, target) ? target?.query : ''}
                  isTarget={isTarget(entry, target)}
                  isLast={index === stored.length - 1 && liveRun === null && state.after === 0}
                  actions={actions}
                />
              </div>
            ))}
            {boundary === stored.length && state.after === 0 && (
              <Boundary summaries={summaries} actions={actions} />
            )}
            {live.map((entry) => (
              <div key={entry.id} className="row">
                <EntryView entry={entry} isLive actions={actions} />
              </div>
            ))}
            {isWaiting && <p className="waiting">Thinking</p>}
            {chat.error !== undefined && (
              <p className="problem" role="alert">
                No answer: {chat.error.message}
              </p>
            )}
            {state.after > 0 && (
              <button type="button" className="button" onClick={() => void transcript.loadLater()}>
                {state.after.toLocaleString()} later events
              </button>
            )}
          </div>
        </div>
        {(!scroller.isAtEnd || state.after > 0) && (
          <button
            type="button"
            className="to-end round-button"
            aria-label="To the newest message"
            onClick={() => {
              scroller.follow()
              if (state.after > 0) void transcript.open()
            }}
          >
            <Icon name="down" />
          </button>
        )}
        <Composer
          isNew={isNew}
          isAnswering={isAnswering}
          isBusy={isBusy}
          returned={returned}
          onSend={(text) => {
            scroller.follow()
            void send(text)
          }}
          onStop={() => void stop()}
        />
        <p className="unseen" role="status">
          {spoken}
        </p>
      </section>
      {props.showsPrompt && (
        <PromptPanel
          sessions={sessions}
          sessionId={sessionId}
          session={state.session}
          onArchive={() => void archive()}
          onClose={props.onClosePrompt}
        />
      )}
    </>
  )
}

function isTarget(entry: Entry, target: ChatProps['target']): boolean {
  return target !== null && entry.seq <= target.seq && target.seq <= entry.lastSeq
}

/** The first entry of the view: behind the last archived one. -1 when nothing on the screen is archived. */
function boundaryOf(entries: readonly Entry[]): number {
  const last = entries.findLastIndex(({ archived }) => archived)
  return last < 0 ? -1 : last + 1
}

/** Where the prompt begins, with the summary that it begins with. */
function Boundary({
  summaries,
  actions,
}: {
  readonly summaries: readonly Entry[]
  readonly actions: EntryActions
}) {
  return (
    <>
      <p className="boundary">
        <span>The prompt begins here. Above is archived, and found by search.</span>
      </p>
      {summaries.map((entry) => (
        <EntryView key={entry.id} entry={entry} actions={actions} />
      ))}
    </>
  )
}

/** Loads what is before when it comes into sight, or when it is pressed. */
function EarlierMessages({
  count,
  onLoad,
}: {
  readonly count: number
  readonly onLoad: () => Promise<void>
}) {
  const ref = useRef<HTMLButtonElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each portion it may still be in sight
  useEffect(() => {
    const button = ref.current
    if (button === null) return
    const observer = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting) void onLoad()
    })
    observer.observe(button)
    return () => observer.disconnect()
  }, [count, onLoad])
  return (
    <button ref={ref} type="button" className="earlier quiet" onClick={() => void onLoad()}>
      {count.toLocaleString()} earlier events
    </button>
  )
}

function Welcome({ onAsk }: { readonly onAsk: (text: string) => Promise<void> }) {
  const examples = [
    'My bicycle is a green Pelikan, and its lock opens with 4711.',
    'What did I say about my bicycle?',
  ]
  return (
    <div className="welcome">
      <h2>A chat that remembers</h2>
      <p>
        Every message stays in a log. The model sees only the newest part of it, and finds the rest
        with a tool, <code>conversation_search</code>.
      </p>
      <ul>
        {examples.map((text) => (
          <li key={text}>
            <button type="button" className="suggestion" onClick={() => void onAsk(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Keeps the end in sight while words come, and the place when earlier messages are put before it. */
function useScroller(
  stored: readonly Entry[],
  live: readonly Entry[],
  before: number,
  targetSeq: number | null,
  status: string,
) {
  const ref = useRef<HTMLDivElement>(null)
  const follows = useRef(targetSeq === null)
  const [isAtEnd, setIsAtEnd] = useState(true)
  const last = useRef({ before, height: 0 })
  const shown = useRef<number | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: looks at the height that these have led to
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null || status === 'loading') return
    if (targetSeq !== null && shown.current !== targetSeq) {
      const found = element.querySelector<HTMLElement>('.target')
      if (found !== null) {
        shown.current = targetSeq
        follows.current = false
        found.scrollIntoView({ block: 'center' })
        found.focus({ preventScroll: true })
      }
    } else if (follows.current) {
      element.scrollTop = element.scrollHeight
    } else if (before < last.current.before) {
      element.scrollTop += element.scrollHeight - last.current.height
    }
    last.current = { before, height: element.scrollHeight }
  }, [stored, live, before, targetSeq, status])

  const onScroll = useCallback(() => {
    const element = ref.current
    if (element === null) return
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR
    follows.current = isNear
    setIsAtEnd(isNear)
  }, [])
  const follow = useCallback(() => {
    follows.current = true
    const element = ref.current
    if (element !== null) element.scrollTop = element.scrollHeight
  }, [])
  return { ref, onScroll, follow, isAtEnd }
}
