/** What is new in a `UIMessage` compared with what a log holds of it, as events to append. */

import type { ModelMessage, UIMessage } from 'ai'
import { invalidArgument } from '../../core/errors.ts'
import { isSameJson, type JsonObject, type JsonValue, toStoredObject } from '../../core/json.ts'
import { type PartPatch, patchFor, type UiMessageMetadata, type UiRole } from './ui-message-log.ts'
import {
  isToolPart,
  type ModelPart,
  type PartConversion,
  type Piece,
  piecesOf,
  toolNameOf,
  type UiPart,
} from './ui-part.ts'

/** A `UIMessage` in its stored form. */
export interface StoredUiMessage {
  readonly id: string
  readonly role: UiRole
  /** What it holds besides id, role and parts. */
  readonly rest: JsonObject
  /** `undefined` where an event was erased. */
  readonly parts: readonly (UiPart | undefined)[]
}

/** A new event of a message. */
export interface MessageDraft {
  readonly message: ModelMessage
  readonly uiMessage: UiMessageMetadata
}

/** What to do with a message. */
export type Growth =
  | { readonly type: 'grew'; readonly drafts: readonly MessageDraft[] }
  /** It contradicts what is stored; `field` names where. */
  | { readonly type: 'changed'; readonly field: string }

/** @throws SessionError `INVALID_ARGUMENT`, `INVALID_EVENT` */
export function toStoredUiMessage(message: UIMessage, path: string): StoredUiMessage {
  const { id, role, parts, ...rest } = toStoredObject(message, path)
  if (typeof id !== 'string' || id.trim() === '') {
    throw invalidArgument(`${path}.id`, 'must be an id that is not blank')
  }
  if (role !== 'system' && role !== 'user' && role !== 'assistant') {
    throw invalidArgument(`${path}.role`, 'must be system, user or assistant')
  }
  if (!Array.isArray(parts)) throw invalidArgument(`${path}.parts`, 'must be an array of parts')
  for (const [index, part] of parts.entries()) {
    if (typeof (part as { type?: unknown } | null)?.type !== 'string') {
      throw invalidArgument(`${path}.parts[${index}]`, 'must be a part with a string "type"')
    }
  }
  return { id, role, rest, parts: parts as readonly UiPart[] }
}

/** How a part relates to what is stored of it. */
type Relation = 'same' | 'grew' | 'behind' | 'changed'

/**
 * The events that `message` needs besides what is `stored`. A copy that is behind what is stored needs
 * none: somebody who saw only a part of an answer takes nothing away from it.
 */
export async function growMessage(
  stored: StoredUiMessage | null,
  message: StoredUiMessage,
  conversion: PartConversion,
): Promise<Growth> {
  const changed = (field: string): Growth => ({ type: 'changed', field })
  const { role } = message
  if (stored !== null && stored.role !== role) return changed('role')
  if (stored !== null && role !== 'assistant' && stored.parts.length !== message.parts.length) {
    return changed('parts')
  }
  const writer = createDraftWriter(message.id)
  let isBehind = message.parts.length < (stored?.parts.length ?? 0)
  for (const [at, part] of message.parts.entries()) {
    if (part === undefined) continue
    if (part.type === 'step-start' || part.type === 'steering-message') writer.endStep()
    const before = stored?.parts[at]
    const isErased = before === undefined && at < (stored?.parts.length ?? 0)
    if (isErased) continue
    const pieces = await piecesOf(part, role, conversion)
    const told = before === undefined ? [] : await piecesOf(before, role, conversion)
    const relation = before === undefined ? 'grew' : relate(before, told, part, pieces, role)
    if (relation === 'changed') return changed(`parts[${at}]`)
    if (relation === 'behind') isBehind = true
    if (relation !== 'grew') continue
    writer.addPart(at, part, newPieces(before, told, part, pieces), before)
  }
  const isNew = stored === null
  if (isNew && role === 'system') writer.setSystem(systemContent(message.parts))
  const rest = isNew || !(isBehind || isSameJson(stored.rest, message.rest)) ? message.rest : null
  return { type: 'grew', drafts: writer.finish(isNew ? role : null, rest) }
}

function relate(
  before: UiPart,
  told: readonly Piece[],
  part: UiPart,
  pieces: readonly Piece[],
  role: UiRole,
): Relation {
  if (isSameJson(before, part)) return 'same'
  if (isToolPart(before) && isToolPart(part)) return relateTools(before, told, part, pieces)
  if (before.type !== part.type) return 'changed'
  const [old, new_] = [before['text'], part['text']]
  if (typeof old === 'string' && typeof new_ === 'string' && old !== new_) {
    if (role !== 'assistant') return 'changed'
    if (new_.startsWith(old)) return 'grew'
    return old.startsWith(new_) ? 'behind' : 'changed'
  }
  const content = (list: readonly Piece[]) => list.flatMap(({ parts }) => parts.map(withoutOptions))
  return isSameJson(content(told), content(pieces)) ? 'grew' : 'changed'
}

function relateTools(
  before: UiPart,
  told: readonly Piece[],
  part: UiPart,
  pieces: readonly Piece[],
): Relation {
  const isSameCall =
    before['toolCallId'] === part['toolCallId'] && toolNameOf(before) === toolNameOf(part)
  if (!isSameCall) return 'changed'
  const [old, now] = [told, pieces].map((list) => new Set(list.map(({ kind }) => kind)))
  if (old === undefined || now === undefined) return 'changed'
  const isLess = [...old].some((kind) => !now.has(kind))
  if (isLess && [...now].some((kind) => !old.has(kind))) return 'changed'
  for (const { kind, parts } of told) {
    const other = pieces.find((piece) => piece.kind === kind)
    if (other === undefined) continue
    const isSameState = before['state'] === part['state']
    const isSameAnswer =
      isSameJson(before['output'], part['output']) &&
      isSameJson(before['errorText'], part['errorText'])
    // A refused call has a result of its own before the tool's denial comes back.
    const isSame =
      kind === 'result'
        ? isSameState
          ? isSameAnswer
          : REFUSED.includes(String(before['state'])) && REFUSED.includes(String(part['state']))
        : isSameJson(parts.map(withoutOptions), other.parts.map(withoutOptions))
    if (!isSame) return 'changed'
  }
  return isLess || progressOf(part) < progressOf(before) ? 'behind' : 'grew'
}

/** How far a call has come. */
function progressOf({ state, preliminary }: UiPart): number {
  const steps = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']
  const step = steps.indexOf(String(state))
  if (step >= 0) return step
  return preliminary === true ? steps.length : steps.length + 1
}

const REFUSED = ['approval-responded', 'output-denied']

/** What a provider adds to a part says nothing about whether it is the same. */
function withoutOptions({ providerOptions: _, ...part }: ModelPart): JsonObject {
  return part
}

/** The pieces that were not told yet; of a text that grew, its end. */
function newPieces(
  before: UiPart | undefined,
  told: readonly Piece[],
  part: UiPart,
  pieces: readonly Piece[],
): readonly Piece[] {
  const [old, now] = [before?.['text'], part['text']]
  if (typeof old === 'string' && typeof now === 'string') {
    if (old === now) return []
    const grown = now.slice(old.length)
    return pieces.map((piece) => ({
      ...piece,
      parts: piece.parts.map((each) => ({ ...each, text: grown })),
    }))
  }
  return pieces.filter(({ kind }) => !told.some((piece) => piece.kind === kind))
}

/** A tool part as it was when its call was made: what comes later is told by later events. */
function atCall(part: UiPart): UiPart {
  const { state: _, output: _output, errorText: _error, preliminary: _preliminary, ...call } = part
  const { approval, rawInput, resultProviderMetadata: _result, ...rest } = call
  const { approved: _approved, reason: _reason, ...request } = (approval ?? {}) as JsonObject
  const input = rest['input'] ?? rawInput
  return {
    ...rest,
    ...(input === undefined ? {} : { input }),
    ...(approval === undefined
      ? { state: 'input-available' }
      : { state: 'approval-requested', approval: request }),
  } as UiPart
}

function systemContent(parts: readonly (UiPart | undefined)[]): ModelMessage {
  const texts = parts.filter((part) => part?.type === 'text')
  const options = Object.assign({}, ...texts.map((part) => part?.['providerMetadata'] ?? {}))
  return {
    role: 'system',
    content: texts.map((part) => String(part?.['text'] ?? '')).join(''),
    ...(Object.keys(options).length > 0 ? { providerOptions: options } : {}),
  }
}

interface Draft {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: ModelPart[]
  readonly patches: PartPatch[]
}

/** Puts new pieces into messages, step by step: what the assistant says, then what its tools answer. */
function createDraftWriter(id: string) {
  const drafts: Draft[] = []
  let said: Draft | null = null
  let answered: Draft | null = null
  /** Of parts that the model is told nothing of: they go along with others. */
  const silent: PartPatch[] = []
  let system: ModelMessage | null = null

  const newDraft = (role: Draft['role']): Draft => ({ role, content: [], patches: [] })

  const draftOf = (role: Draft['role']): Draft => {
    if (role === 'tool') {
      answered ??= newDraft(role)
      return answered
    }
    said ??= newDraft(role)
    return said
  }

  const endStep = () => {
    for (const draft of [said, answered]) if (draft !== null) drafts.push(draft)
    said = null
    answered = null
  }

  const place = (draft: Draft, pieces: readonly Piece[]) =>
    pieces.flatMap(({ parts }) =>
      parts.map((part) => [draft.content.push(part) - 1, part] as const),
    )

  return {
    endStep,

    addPart(at: number, part: UiPart, pieces: readonly Piece[], before: UiPart | undefined): void {
      const answers = pieces.filter(({ role }) => role === 'tool')
      const words = pieces.filter(({ role }) => role !== 'tool')
      const isSplit = answers.length > 0 && words.length > 0
      if (pieces.length === 0) silent.push(patchFor(at, part, [], before))
      if (words.length > 0) {
        const draft = draftOf(words[0]?.role ?? 'assistant')
        const content = place(draft, words)
        const grown = typeof before?.['text'] === 'string' && typeof part['text'] === 'string'
        const told = grown ? { ...part, text: content[0]?.[1]['text'] as JsonValue } : part
        const patch = patchFor(at, isSplit ? atCall(part) : (told as UiPart), content, before)
        draft.patches.push(grown ? { ...patch, add: true } : patch)
      }
      if (answers.length > 0) {
        const draft = draftOf('tool')
        const content = place(draft, answers)
        draft.patches.push(patchFor(at, part, content, isSplit ? atCall(part) : before))
      }
      if (part.type === 'steering-message') endStep()
    },

    setSystem(message: ModelMessage): void {
      system = message
    },

    /** `role` and `rest` of the message, when they are new. */
    finish(role: UiRole | null, rest: JsonObject | null): readonly MessageDraft[] {
      endStep()
      const isSilent = drafts.length === 0 && silent.length === 0 && rest === null && role === null
      if (isSilent) return []
      // Nothing said by the user: that would open a turn.
      if (drafts.length === 0) drafts.push(newDraft(role === 'user' ? 'user' : 'assistant'))
      return drafts.map(({ role: speaker, content, patches }, index) => {
        const isFirst = index === 0
        const parts = isFirst ? [...silent, ...patches] : patches
        const message = system ?? ({ role: speaker, content } as unknown as ModelMessage)
        return {
          message,
          uiMessage: {
            id,
            ...(isFirst && role !== null ? { role } : {}),
            ...(isFirst && rest !== null && (role === null || Object.keys(rest).length > 0)
              ? { rest }
              : {}),
            parts,
          },
        }
      })
    },
  }
}
