/** Counts the bytes of the records that requests give, as the browser's serialisation has them, about. */

import { replace } from '../../test/browser/request-counter.ts'

export async function countBytes(work: () => Promise<unknown>): Promise<number> {
  let bytes = 0
  const restores: (() => void)[] = []
  for (const { prototype } of [IDBObjectStore, IDBIndex]) {
    for (const method of ['get', 'getAll', 'openCursor'] as const) {
      restores.push(
        replace(
          prototype,
          method,
          (original) =>
            function (this: IDBObjectStore | IDBIndex, ...args: unknown[]) {
              const request = original.apply(this, args) as IDBRequest<unknown>
              request.addEventListener('success', () => {
                const { result } = request
                bytes += serialisedBytes(
                  result instanceof IDBCursorWithValue ? (result.value as unknown) : result,
                )
              })
              return request
            },
        ),
      )
    }
  }
  try {
    await work()
    return bytes
  } finally {
    for (const restore of restores) restore()
  }
}

/** Strings take a byte for each unit when all units are below 256, else two; numbers at most nine. */
export function serialisedBytes(value: unknown): number {
  if (typeof value === 'string') {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is Latin-1 itself
    return 2 + value.length * (/^[\x00-\xff]*$/.test(value) ? 1 : 2)
  }
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 30 ? 4 : 9
  if (ArrayBuffer.isView(value)) return 8 + value.byteLength
  if (typeof value !== 'object' || value === null) return 1
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (Array.isArray(value) ? 1 : 2 + key.length) + serialisedBytes(item),
    4,
  )
}
