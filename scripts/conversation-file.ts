// Reads conversations from a file in LoCoMo's format: an array of samples, each with the sittings of
// two speakers and questions that name the turns that hold the answer. examples/conversation.json is
// the project's own; LoCoMo's (CC BY-NC 4.0) is read from where the caller has it.
import { readFileSync } from 'node:fs'

export interface Conversation {
  readonly id: string
  /** Who becomes `user` and who `assistant`. */
  readonly speakers: readonly [user: string, assistant: string]
  /** When each sitting began. */
  readonly sittings: readonly Date[]
  readonly turns: readonly Turn[]
  readonly questions: readonly Question[]
}

export interface Turn {
  /** `D3:7`: the seventh turn of the third sitting; unique within the conversation. */
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Epoch milliseconds: the beginning of the sitting, and half a minute for every turn before. */
  readonly timestamp: number
}

export interface Question {
  readonly question: string
  readonly answer: string
  /** Ids of the turns that hold the answer; only ids that exist. */
  readonly evidence: readonly string[]
  /** LoCoMo's kind of question; 5 has no answer in the text. */
  readonly category: number
  /** What to search for. Only in the project's own file. */
  readonly query: string | null
}

const SECONDS_PER_TURN = 30

/** @throws an `Error` that names the file and what is wrong with it. */
export function readConversations(file: string): readonly Conversation[] {
  let samples: unknown
  try {
    samples = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
  if (!Array.isArray(samples) || samples.length === 0) {
    throw new Error(`${file} must be a JSON array of conversations in LoCoMo's format`)
  }
  return samples.map((sample, index) => {
    try {
      return readSample(sample, index)
    } catch (cause) {
      throw new Error(`${file}: sample ${index}: ${(cause as Error).message}`, { cause })
    }
  })
}

interface Sample {
  readonly sample_id?: string
  readonly conversation: Readonly<Record<string, unknown>>
  readonly qa?: readonly SampleQuestion[]
}

interface SampleTurn {
  readonly speaker: string
  readonly dia_id: string
  readonly text: string
}

interface SampleQuestion {
  readonly question: string
  readonly answer?: string | number | null
  readonly evidence?: readonly string[]
  readonly category?: number
  readonly query?: string
}

function readSample(sample: Sample, index: number): Conversation {
  const { conversation } = sample
  const speakers = [
    readText(conversation, 'speaker_a'),
    readText(conversation, 'speaker_b'),
  ] as const
  const numbers = Object.keys(conversation)
    .map((key) => /^session_(\d+)$/.exec(key)?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((one, other) => one - other)
  const sittings = numbers.map((number) =>
    readSittingTime(readText(conversation, `session_${number}_date_time`)),
  )
  const turns = numbers.flatMap((number, sitting) => {
    const begin = sittings[sitting]?.getTime() ?? 0
    return (conversation[`session_${number}`] as readonly SampleTurn[]).map(
      (turn, position): Turn => {
        const { speaker, dia_id: id, text } = turn
        if (!speakers.includes(speaker)) throw new Error(`${id} is said by "${speaker}"`)
        if (typeof text !== 'string') throw new Error(`${id} has no text`)
        return {
          id,
          role: speaker === speakers[0] ? 'user' : 'assistant',
          text,
          timestamp: begin + position * SECONDS_PER_TURN * 1000,
        }
      },
    )
  })
  if (turns.length === 0) throw new Error('it has no turns')
  const ids = new Set(turns.map(({ id }) => id))
  if (ids.size < turns.length) throw new Error('a dia_id comes twice')
  return {
    id: sample.sample_id ?? `conversation-${index + 1}`,
    speakers,
    sittings,
    turns,
    questions: (sample.qa ?? []).map((question) => readQuestion(question, ids)),
  }
}

function readText(record: Readonly<Record<string, unknown>>, key: string): string {
  const value = record?.[key]
  if (typeof value !== 'string') throw new Error(`conversation.${key} must be a text`)
  return value
}

/** Some evidence holds several ids in one text, and some ids name no turn. */
function readQuestion(given: SampleQuestion, ids: ReadonlySet<string>): Question {
  const { question, answer, evidence, category, query } = given
  return {
    question,
    answer: String(answer ?? ''),
    evidence: (evidence ?? [])
      .flatMap((names) => names.split(/[;,\s]+/))
      .filter((id) => ids.has(id)),
    category: category ?? 0,
    query: query ?? null,
  }
}

/** `1:56 pm on 8 May, 2023`, taken as UTC. */
function readSittingTime(text: string): Date {
  const match = /^(\d{1,2}):(\d\d) (am|pm) on (\d{1,2} \w+, \d{4})$/.exec(text)
  const day = Date.parse(`${match?.[4]} UTC`)
  if (match === null || Number.isNaN(day)) throw new Error(`"${text}" is not a time`)
  const hour = (Number(match[1]) % 12) + (match[3] === 'pm' ? 12 : 0)
  return new Date(day + (hour * 60 + Number(match[2])) * 60_000)
}
