// Watches what a runtime brings besides the language. Whoever imports this before another module learns
// which globals that module read or changed while it was loaded.

/** What the language itself has; using it says nothing about the runtime. */
const LANGUAGE = new Set(
  (
    'globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent ' +
    'encodeURI encodeURIComponent escape unescape AggregateError Array ArrayBuffer AsyncDisposableStack ' +
    'Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date DisposableStack Error EvalError ' +
    'FinalizationRegistry Float16Array Float32Array Float64Array Function Int16Array Int32Array Int8Array ' +
    'Intl Iterator JSON Map Math Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set ' +
    'SharedArrayBuffer String SuppressedError Symbol SyntaxError TypeError URIError Uint16Array Uint32Array ' +
    'Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet'
  ).split(' '),
)

const touched = new Set<string>()
// All are looked up before any is watched: Node loads some of them at the first look, and others with it.
const originals = new Map(
  namesOf(globalThis)
    .filter((name) => !LANGUAGE.has(name))
    .map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const)
    // A few, such as `window`, cannot be watched.
    .filter(([, own]) => own?.configurable !== false),
)
for (const [name, own] of originals) {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: own?.enumerable ?? true,
    get() {
      touched.add(name)
      return own?.get === undefined ? own?.value : own.get.call(globalThis)
    },
    set: () => void touched.add(name),
  })
}
const before = new Set(namesOf(globalThis))

/** How many globals are watched, and which of them were read, set or added since. */
export function stopWatching(): { readonly watched: number; readonly touched: readonly string[] } {
  for (const name of namesOf(globalThis)) if (!before.has(name)) touched.add(name)
  for (const [name, own] of originals) {
    if (own === undefined) Reflect.deleteProperty(globalThis, name)
    else Object.defineProperty(globalThis, name, own)
  }
  return { watched: originals.size, touched: [...touched].sort() }
}

function namesOf(value: object): readonly string[] {
  const names: string[] = []
  for (let object: object | null = value; object !== null && object !== Object.prototype; ) {
    names.push(...Object.getOwnPropertyNames(object))
    object = Object.getPrototypeOf(object)
  }
  return [...new Set(names)].filter((name) => name !== 'constructor')
}
