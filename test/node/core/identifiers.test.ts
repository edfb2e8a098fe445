// Ids, and the errors that name what is wrong.
import { expect, test } from 'vitest'
import { describeValue, isSessionError, SessionError } from '../../../src/core/errors.ts'
import { checkId, isBlank, randomId } from '../../../src/core/identifiers.ts'

test('an id is any text that is not blank, up to 512 characters, made well-formed', () => {
  for (const id of ['a', '5', ' a ', '\u0000', '😀'.repeat(256), 'x'.repeat(512), '__proto__']) {
    expect(checkId(id, 'sessionId')).toBe(id)
  }
  expect(checkId('a\ud83d', 'sessionId')).toBe('a\ufffd')
  for (const bad of [
    '',
    ' ',
    '\t\n\u00a0\u3000\ufeff',
    'x'.repeat(513),
    5,
    null,
    undefined,
    {},
    Object('a'),
  ]) {
    expect(() => checkId(bad, 'sessionId')).toThrow(/^sessionId /)
  }
  expect(() => checkId('x'.repeat(513), 'id')).toThrow(/513.*512/)
})

test('blank is what trim leaves nothing of', () => {
  expect(['', ' \u00a0\u2028'].map(isBlank)).toEqual([true, true])
  expect(['\u200b', '\u0000', '.'].map(isBlank)).toEqual([false, false, false])
})

test('random ids are UUIDs of version 4, all different', () => {
  const ids = Array.from({ length: 1000 }, randomId)
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  expect(new Set(ids).size).toBe(1000)
})

test('an error is known by its code, across realms and transports', () => {
  const cause = new Error('below')
  const error = new SessionError('EVENT_TOO_LARGE', 'too large', {
    cause,
    details: { size: 9, limit: 8 },
  })
  expect(error).toMatchObject({ name: 'SessionError', code: 'EVENT_TOO_LARGE', cause })
  expect(error.details).toEqual({ size: 9, limit: 8 })
  expect(new SessionError('CLOSED', 'closed').details).toEqual({})
  expect('cause' in new SessionError('CLOSED', 'closed')).toBe(false)
  expect(isSessionError(error)).toBe(true)
  const arrived = Object.assign(new Error('too large'), { name: 'SessionError', code: 'CLOSED' })
  expect(isSessionError(arrived)).toBe(true)
  for (const other of [
    null,
    undefined,
    'CLOSED',
    new Error('x'),
    { code: 'CLOSED' },
    { name: 'SessionError' },
  ]) {
    expect(isSessionError(other)).toBe(false)
  }
})

test('a value is described in a few characters, whatever it is', () => {
  expect(describeValue('x'.repeat(1000))).toHaveLength(43)
  expect([null, undefined, 5, 'a', [1], {}, () => 1, 1n, Symbol('s')].map(describeValue)).toEqual([
    'null',
    'undefined',
    '5',
    '"a"',
    'an array',
    'object',
    'function',
    'bigint',
    'symbol',
  ])
})
