// Instants: one point in time for every notation, nothing guessed, whatever the machine's time zone.
import { execFileSync } from 'node:child_process'
import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatInstant, toEpochMilliseconds } from '../../../src/core/instant.ts'

const NOON = Date.UTC(2026, 2, 2, 12)

describe('toEpochMilliseconds', () => {
  test.each([
    ['2026-03-02T12:00:00Z', NOON],
    ['2026-03-02t12:00:00z', NOON],
    ['2026-03-02T14:00:00+02:00', NOON],
    ['2026-03-02T06:30:00-05:30', NOON],
    ['2026-03-01T12:01:00-23:59', NOON],
    ['2026-03-02T12:00:00.5Z', NOON + 500],
    ['2026-03-02T12:00:00,25Z', NOON + 250],
    ['2026-03-02T12:00:00.1239999Z', NOON + 123],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['0000-01-01T00:00:00Z', -62_167_219_200_000],
    ['0099-12-31T00:00:00Z', -59_011_545_600_000],
    ['9999-12-31T23:59:59.999Z', 253_402_300_799_999],
    ['+275760-09-13T00:00:00.000Z', 8.64e15],
    ['-271821-04-20T00:00:00.000Z', -8.64e15],
    ['+002026-03-02T12:00:00Z', NOON],
  ])('%s', (text, expected) => {
    expect(toEpochMilliseconds(text)).toBe(expected)
  })

  test.each([
    '',
    ' ',
    '2026',
    '2026-03-02',
    '2026-03-02T12:00Z',
    '2026-03-02T12:00:00',
    '2026-03-02 12:00:00Z',
    ' 2026-03-02T12:00:00Z',
    '2026-03-02T12:00:00Z\n',
    '2026-02-29T12:00:00Z',
    '2026-04-31T12:00:00Z',
    '2026-13-01T12:00:00Z',
    '2026-00-01T12:00:00Z',
    '2026-03-00T12:00:00Z',
    '2026-03-02T24:00:00Z',
    '2026-03-02T12:60:00Z',
    '2026-03-02T23:59:60Z',
    '2026-03-02T12:00:00.Z',
    '2026-03-02T12:00:00+02',
    '2026-03-02T12:00:00+0200',
    '2026-03-02T12:00:00+24:00',
    '2026-03-02T12:00:00+02:60',
    '2026-03-02T12:00:00 02:00',
    '2026-03-02T12:00:00GMT',
    '+275760-09-13T00:00:00.001Z',
    '-000000-01-01T00:00:00Z',
    '12026-03-02T12:00:00Z',
    '２０２６-03-02T12:00:00Z',
    'Mon, 02 Mar 2026 12:00:00 GMT',
    '1700000000000',
  ])('refuses %j', (text) => {
    expect(toEpochMilliseconds(text)).toBeNull()
  })

  test('numbers are truncated, in the range of a Date', () => {
    expect(toEpochMilliseconds(0)).toBe(0)
    expect(Object.is(toEpochMilliseconds(-0.5), 0)).toBe(true)
    expect(toEpochMilliseconds(1.9)).toBe(1)
    expect(toEpochMilliseconds(-1.9)).toBe(-1)
    expect(toEpochMilliseconds(8.64e15)).toBe(8.64e15)
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1, -8.65e15]) {
      expect(toEpochMilliseconds(bad)).toBeNull()
    }
  })

  test('a Date of another realm is one, an invalid or imitated one is none', () => {
    const foreign: unknown = runInContext(`new Date(${NOON})`, createContext({}))
    expect(foreign).not.toBeInstanceOf(Date)
    expect(toEpochMilliseconds(foreign)).toBe(NOON)
    expect(toEpochMilliseconds(new Date('garbage'))).toBeNull()
    expect(toEpochMilliseconds({ [Symbol.toStringTag]: 'Date' })).toBeNull()
    expect(toEpochMilliseconds(Object.create(Date.prototype))).toBeNull()
    expect(toEpochMilliseconds(new Proxy(new Date(NOON), {}))).toBeNull()
    const renamed = new (class extends Date {
      override getTime() {
        return 0
      }
    })(NOON)
    expect(toEpochMilliseconds(renamed)).toBe(NOON)
  })

  test.each([null, undefined, true, {}, [], 1n, Symbol('x'), () => 0])('refuses %s', (value) => {
    expect(toEpochMilliseconds(value)).toBeNull()
  })

  test('every Date comes back from its own JSON, and from any offset', () => {
    fc.assert(
      fc.property(fc.integer({ min: -8.64e15, max: 8.64e15 }), (time) => {
        expect(toEpochMilliseconds(new Date(time).toISOString())).toBe(time)
      }),
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 253_402_300_799_999 - 86_400_000 }),
        fc.integer({ min: -1439, max: 1439 }),
        (time, offset) => {
          const local = new Date(time + offset * 60_000).toISOString().slice(0, -1)
          const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
          const zone = `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
          fc.pre(local.length === 23)
          expect(toEpochMilliseconds(`${local}${offset < 0 ? '-' : '+'}${zone}`)).toBe(time)
        },
      ),
    )
  })

  test.each(['America/New_York', 'Asia/Kolkata', 'Pacific/Apia'])(
    'does not depend on TZ=%s',
    (zone) => {
      const script = `
      import { toEpochMilliseconds as read, formatInstant } from './src/core/instant.ts'
      const texts = ['2026-03-08T02:30:00Z', '2026-11-01T01:30:00.5+05:30', '2011-12-30T10:00:00-10:00', '0050-06-01T00:00:00Z', '2026-03-08', '2026-03-08T02:30:00']
      console.log(JSON.stringify([texts.map(read), formatInstant(new Date(0)), new Date(0).getTimezoneOffset() !== 0]))
    `
      const run = (TZ: string): unknown =>
        JSON.parse(
          execFileSync(process.execPath, ['--input-type=module', '-e', script], {
            env: { ...process.env, TZ },
            encoding: 'utf8',
          }),
        )
      const expected = [
        [
          Date.UTC(2026, 2, 8, 2, 30),
          Date.UTC(2026, 9, 31, 20, 0, 0, 500),
          Date.UTC(2011, 11, 30, 20),
          -60_576_249_600_000,
          null,
          null,
        ],
        '1970-01-01T00:00:00Z',
      ]
      expect(run('UTC')).toEqual([...expected, false])
      expect(run(zone)).toEqual([...expected, true])
    },
  )
})

test('formatInstant writes milliseconds only where there are some', () => {
  expect(formatInstant(new Date(NOON))).toBe('2026-03-02T12:00:00Z')
  expect(formatInstant(new Date(NOON + 1))).toBe('2026-03-02T12:00:00.001Z')
  expect(formatInstant(new Date(NOON + 500))).toBe('2026-03-02T12:00:00.500Z')
})
