// The stored form, against inputs that mean no good.
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toStoredJson, toStoredObject, utf8Length } from '../../../src/core/json.ts'

const stored = (value: unknown) => toStoredJson(value, 'metadata')

function refusal(value: unknown): string {
  try {
    stored(value)
  } catch (error) {
    expect(error).toMatchObject({ name: 'SessionError', code: 'INVALID_EVENT' })
    return (error as Error).message
  }
  return 'not refused'
}

describe('what is stored', () => {
  test('JSON is its own stored form, byte for byte', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value = JSON.parse(json)
        expect(JSON.stringify(stored(value))).toBe(JSON.stringify(value))
      }),
      { numRuns: 500 },
    )
  })

  test('anything else is what JSON makes of it, well-formed, or refused', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        let result: unknown
        try {
          result = stored(value)
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_EVENT' })
          return
        }
        expect(JSON.stringify(result)).toBe(JSON.stringify(JSON.parse(JSON.stringify(result))))
        expect(JSON.stringify(result).isWellFormed()).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('values of other realms', () => {
    expect(stored(runInNewContext('new Date(5)'))).toBe('1970-01-01T00:00:00.005Z')
    expect(stored(runInNewContext('({ a: [1, { b: null }] })'))).toEqual({ a: [1, { b: null }] })
    expect(stored(runInNewContext('new Uint8Array([1, 2])'))).toBe('AQI=')
    expect(stored(runInNewContext('new Uint8Array([1, 2]).buffer'))).toBe('AQI=')
    expect(refusal({ m: runInNewContext('new Map()') })).toContain('metadata.m is a Map')
  })

  test('all kinds of binary, Buffer included', () => {
    const bytes = [0, 255, 128, 7]
    const { buffer } = Uint8Array.from(bytes)
    for (const value of [
      Buffer.from(bytes),
      Uint8Array.from(bytes),
      new Uint8Array([9, ...bytes, 9]).subarray(1, 5),
      buffer,
      new DataView(buffer),
      new Int32Array(buffer),
    ]) {
      expect(stored(value)).toBe('AP+ABw==')
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (array) => {
        expect(stored(array)).toBe(Buffer.from(array).toString('base64'))
      }),
    )
    const long = Uint8Array.from({ length: 30_000 }, (_, index) => index * 7)
    expect(stored(long)).toBe(Buffer.from(long).toString('base64'))
  })

  test('boxed values, classes, getters, and keys that only look special', () => {
    expect(stored([Object(5), Object('x'), Object(false)])).toEqual([5, 'x', false])
    class Point {
      x = 1
      get y() {
        return 2
      }
    }
    expect(stored(new Point())).toEqual({ x: 1 })
    expect(
      stored({
        get a() {
          return [1]
        },
      }),
    ).toEqual({ a: [1] })
    const odd = JSON.parse('{"__proto__":{"x":1},"constructor":1,"toString":null,"":2,"1":3}')
    const copy = stored(odd) as object
    expect(JSON.stringify(copy)).toBe(JSON.stringify(odd))
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
    expect(stored(Object.assign(Object.create({ inherited: 1 }), { own: 2 }))).toEqual({ own: 2 })
    expect(stored({ [Symbol('key')]: 1, plain: 2 })).toEqual({ plain: 2 })
    expect(Object.is(stored(-0), 0)).toBe(true)
  })

  test('toJSON is asked once', () => {
    const endless = { toJSON: () => endless, n: 1 }
    expect(refusal({ endless })).toContain('metadata.endless.toJSON is a function')
    class Itself {
      n = 1
      toJSON() {
        return this
      }
    }
    expect(stored(new Itself())).toEqual({ n: 1 })
    expect(stored({ a: { toJSON: () => undefined } })).toEqual({ a: null })
    expect(stored({ a: { toJSON: 'no function', b: 1 } })).toEqual({
      a: { toJSON: 'no function', b: 1 },
    })
  })

  test('one object in two places is no cycle', () => {
    const shared = { a: 1 }
    expect(stored({ one: shared, two: [shared, shared] })).toEqual({
      one: { a: 1 },
      two: [{ a: 1 }, { a: 1 }],
    })
  })

  test('a snapshot shares nothing with the original', () => {
    const original = { list: [{ deep: [1] }] }
    const copy = stored(original)
    original.list[0]?.deep.push(2)
    expect(copy).toEqual({ list: [{ deep: [1] }] })
  })
})

describe('what is refused, by path', () => {
  test.each<[string, () => unknown]>([
    [
      'metadata.execute is a function',
      () => ({
        execute() {
          return 1
        },
      }),
    ],
    ['metadata.a[1].b is NaN', () => ({ a: [0, { b: Number.NaN }] })],
    ['metadata.a is -Infinity', () => ({ a: Number.NEGATIVE_INFINITY })],
    ['metadata.a is a bigint', () => ({ a: 1n })],
    ['metadata.a is a BigInt', () => ({ a: Object(1n) })],
    ['metadata.a is a symbol', () => ({ a: Symbol('x') })],
    ['metadata.a is a Map', () => ({ a: new Map() })],
    ['metadata.a is a Set', () => ({ a: new Set() })],
    ['metadata.a is a WeakMap', () => ({ a: new WeakMap() })],
    ['metadata.a is a RegExp', () => ({ a: /x/ })],
    ['metadata.a is a Error', () => ({ a: new Error('x') })],
    ['metadata.a is a Promise', () => ({ a: Promise.resolve() })],
    ['metadata["odd key"] is a function', () => ({ 'odd key': () => 1 })],
    ['metadata.ключ is a function', () => ({ ключ: () => 1 })],
    ['metadata is a function', () => () => 1],
  ])('%s', (message, make) => {
    expect(refusal(make())).toContain(message)
  })

  test('cycles, by way of arrays and toJSON too', () => {
    const object: Record<string, unknown> = {}
    object['self'] = object
    expect(refusal(object)).toContain('metadata.self contains itself')
    const list: unknown[] = []
    list.push([list])
    expect(refusal(list)).toContain('metadata[0][0] contains itself')
    const parent: Record<string, unknown> = {}
    parent['child'] = { toJSON: () => parent }
    expect(refusal(parent)).toContain('metadata.child contains itself')
  })

  test('what throws when it is looked at', () => {
    const fail = () => {
      throw new Error('no')
    }
    const hostile: Readonly<Record<string, unknown>> = {
      getter: Object.defineProperty({}, 'x', { get: fail, enumerable: true }),
      toJSON: { toJSON: fail },
      toJSONGetter: Object.defineProperty({}, 'toJSON', { get: fail }),
      tag: Object.defineProperty({}, Symbol.toStringTag, { get: fail }),
      keys: new Proxy({}, { ownKeys: fail }),
      get: new Proxy({ a: 1 }, { get: fail }),
      descriptor: new Proxy({ a: 1 }, { getOwnPropertyDescriptor: fail }),
      valueOf: Object.assign(Object(5), { valueOf: fail }),
      iterator: Object.assign([1], { [Symbol.iterator]: fail }),
    }
    for (const [name, value] of Object.entries(hostile)) {
      expect(refusal({ [name]: value })).toContain(`metadata.${name}`)
    }
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    expect(refusal({ revoked: revoked.proxy })).toContain('metadata.revoked')
    const detached = new Uint8Array(8)
    structuredClone(detached, { transfer: [detached.buffer] })
    expect(['not refused', expect.stringContaining('metadata.detached')]).toContainEqual(
      refusal({ detached }),
    )
  })

  test('too deep, too long, too often the same', () => {
    let deep: unknown = 1
    for (let level = 0; level < 256; level++) deep = [deep]
    expect(refusal(deep)).toBe('not refused')
    expect(refusal([deep])).toContain('nested deeper than 256 levels')
    let veryDeep: unknown = 1
    for (let level = 0; level < 100_000; level++) veryDeep = { a: veryDeep }
    expect(refusal(veryDeep)).toContain('nested deeper than 256 levels')

    const long: unknown[] = []
    long.length = 4_000_000_000
    expect(refusal({ long })).toContain('metadata.long makes it more than 4194304 values')

    let laughs: unknown = 'ha'
    for (let level = 0; level < 64; level++) laughs = [laughs, laughs]
    expect(refusal({ laughs })).toContain('makes it more than 4194304 values')
  })

  test('everything but an object, where an object has to be', () => {
    for (const value of [null, undefined, 5, 'text', [], true, new Date(), new Uint8Array(1)]) {
      expect(() => toStoredObject(value, 'metadata')).toThrow(/^metadata must be a plain object/)
    }
    expect(toStoredObject({ toJSON: () => ({ a: 1 }) }, 'metadata')).toEqual({ a: 1 })
  })
})

test('utf8Length is the length in UTF-8', () => {
  const encoder = new TextEncoder()
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(utf8Length(text)).toBe(encoder.encode(text).length)
    }),
  )
  expect(utf8Length('aé悬😀\u0000')).toBe(1 + 2 + 3 + 4 + 1)
})
