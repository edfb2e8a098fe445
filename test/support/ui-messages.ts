// Messages of useChat with every type of part and every state of a tool.
import type { UIMessage, UIMessagePart } from 'ai'

export type AnyPart = UIMessagePart<Record<string, unknown>, Record<string, never>>

const metadata = { provider: { itemId: 'i-1', cached: true } }

const toolFields = { toolCallId: 'T', input: { city: 'Porto' } }
const approval = { id: 'ok', requestReason: 'It costs money.', signature: 'sig' }

/** A tool part in each state that it can have, static and dynamic, by name. */
export const toolStates: Readonly<Record<string, object>> = {
  'input-streaming': {
    state: 'input-streaming',
    toolCallId: 'T',
    input: { city: 'Po' },
    rawInput: '{"city":"Po',
    inputEncoding: 'json',
  },
  'input-streaming without input': { state: 'input-streaming', toolCallId: 'T' },
  'input-available': { state: 'input-available', ...toolFields },
  'approval-requested': { state: 'approval-requested', ...toolFields, approval },
  'approval-responded, granted': {
    state: 'approval-responded',
    ...toolFields,
    approval: { ...approval, approved: true },
  },
  'approval-responded, refused': {
    state: 'approval-responded',
    ...toolFields,
    approval: { ...approval, approved: false, reason: 'Too dear.' },
  },
  'output-available, text': { state: 'output-available', ...toolFields, output: 'Sunny.' },
  'output-available, data': {
    state: 'output-available',
    ...toolFields,
    output: { degrees: 21, days: [1, null, 'x'] },
    callProviderMetadata: metadata,
    resultProviderMetadata: { provider: { itemId: 'i-2' } },
    title: 'Weather',
    toolMetadata: { source: 'test' },
  },
  'output-available, nothing': { state: 'output-available', ...toolFields, output: null },
  'output-available, preliminary': {
    state: 'output-available',
    ...toolFields,
    output: 'Loading …',
    preliminary: true,
  },
  'output-available, after approval': {
    state: 'output-available',
    ...toolFields,
    output: 'Sunny.',
    approval: { ...approval, approved: true, isAutomatic: true, inputSchemaInput: { city: 'P' } },
  },
  'output-available, by the provider': {
    state: 'output-available',
    ...toolFields,
    providerExecuted: true,
    output: { found: 3 },
    callProviderMetadata: metadata,
    resultProviderMetadata: { provider: { itemId: 'i-2' } },
  },
  'output-error': { state: 'output-error', ...toolFields, errorText: 'It failed.' },
  'output-error without input': {
    state: 'output-error',
    toolCallId: 'T',
    errorText: 'No such city.',
  },
  'output-error, by the provider': {
    state: 'output-error',
    ...toolFields,
    providerExecuted: true,
    errorText: 'It failed.',
    resultProviderMetadata: metadata,
  },
  'output-error, after approval': {
    state: 'output-error',
    ...toolFields,
    errorText: 'It failed.',
    approval: { ...approval, approved: true },
  },
  'output-denied': {
    state: 'output-denied',
    ...toolFields,
    approval: { ...approval, approved: false, reason: 'Too dear.' },
  },
}

/** Parts of an answer that are no tools, by name. */
export const answerParts: Readonly<Record<string, object>> = {
  text: { type: 'text', text: 'Porto is in Portugal.', state: 'done' },
  'text with metadata': { type: 'text', text: 'Hm.', state: 'done', providerMetadata: metadata },
  'text with citations': {
    type: 'text',
    text: 'So it is.',
    citations: [{ source: { type: 'source', sourceType: 'url', id: 's', url: 'https://a.test' } }],
  },
  'empty text': { type: 'text', text: '', state: 'streaming' },
  'growing text': { type: 'text', text: 'Port', state: 'streaming' },
  reasoning: { type: 'reasoning', id: 'r', text: 'Let me think.', providerMetadata: metadata },
  custom: { type: 'custom', kind: 'provider.compaction', providerMetadata: metadata },
  'source-url': { type: 'source-url', sourceId: 's', url: 'https://a.test/', title: 'A' },
  'source-document': {
    type: 'source-document',
    sourceId: 'd',
    mediaType: 'application/pdf',
    title: 'B',
    filename: 'b.pdf',
  },
  'file by address': { type: 'file', mediaType: 'image/png', url: 'https://a.test/a.png?size=1' },
  'file with bytes': {
    type: 'file',
    mediaType: 'image/png',
    filename: 'a.png',
    url: 'data:image/png;base64,iVBORw0KGgo=',
  },
  'file of a provider': {
    type: 'file',
    mediaType: 'image/png',
    url: 'https://a.test/a.png',
    providerReference: { provider: 'file-1' },
  },
  'reasoning-file': {
    type: 'reasoning-file',
    mediaType: 'image/png',
    url: 'data:image/png;base64,iVBORw0KGgo=',
  },
  'data part': { type: 'data-weather', id: 'w', data: { degrees: 21, at: [1, 2] } },
  'data part without id': { type: 'data-note', data: 'x' },
  'steering-message': {
    type: 'steering-message',
    id: 'st',
    parts: [
      { type: 'text', text: 'Be quick.' },
      { type: 'file', mediaType: 'image/png', url: 'https://a.test/a.png' },
    ],
  },
  'step-start': { type: 'step-start' },
}

/** Every part that an answer can have. */
export const everyPart: Readonly<Record<string, object>> = {
  ...answerParts,
  ...Object.fromEntries(
    Object.entries(toolStates).flatMap(([name, part]) => [
      [`tool-weather, ${name}`, { type: 'tool-weather', ...part }],
      [`dynamic-tool, ${name}`, { type: 'dynamic-tool', toolName: 'weather', ...part }],
    ]),
  ),
}

export const question = (id: string, text: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
})

export const answer = (id: string, ...parts: readonly object[]): UIMessage => ({
  id,
  role: 'assistant',
  parts: parts as AnyPart[],
})

export const said = (text: string): object => ({ type: 'text', text, state: 'done' })
