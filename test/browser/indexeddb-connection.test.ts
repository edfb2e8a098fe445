// The connection of the IndexedDB store: one, opened when needed, replaced when the browser took it
// away, and never a promise that hangs.

import { deleteDB, openDB } from 'idb'
import { isSessionError } from 'turnlog'
import { createIndexedDBRepository, createIndexedDBSessionService } from 'turnlog/indexeddb'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { factoryWith, freshDatabaseName, listeningFactory } from './indexeddb-harness.ts'
import { replace } from './request-counter.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

const hello = { role: 'user', content: 'hello' } as const

/** A service on a database of its own, and what its factory did. */
function openService(
  options: NonNullable<Parameters<typeof createIndexedDBSessionService>[0]> = {},
) {
  const databaseName = options.databaseName ?? freshDatabaseName()
  const connections: IDBDatabase[] = []
  const service = createIndexedDBSessionService({
    defaultUserId: 'me',
    indexedDB: listeningFactory((connection) => connections.push(connection)),
    ...options,
    databaseName,
  })
  return { service, databaseName, connections }
}

/** Whether a database can be deleted, which every open connection prevents. */
async function isFree(databaseName: string): Promise<boolean> {
  let isBlocked = false
  const deletion = deleteDB(databaseName, {
    blocked() {
      isBlocked = true
    },
  })
  return Promise.race([deletion.then(() => true), until(() => isBlocked).then(() => false)])
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('opening', () => {
  test('parallel first calls open the database once', async () => {
    const { service, connections } = openService()
    await service.create({ id: 'a' })
    await service.close()

    const opens = vi.fn((name: string, version?: number) => indexedDB.open(name, version))
    const second = createIndexedDBSessionService({
      defaultUserId: 'me',
      databaseName: connections[0]?.name,
      indexedDB: factoryWith({ open: opens }),
    })
    const [events, session] = await Promise.all([
      second.getEvents('a'),
      second.findById('a'),
      second.appendMessage('a', hello),
    ])
    expect(events.length).toBeLessThanOrEqual(1)
    expect(session?.id).toBe('a')
    expect(opens).toHaveBeenCalledTimes(1)
    await second.close()
  })

  test('nothing is opened before the first call', async () => {
    const open = vi.fn((name: string, version?: number) => indexedDB.open(name, version))
    const service = createIndexedDBSessionService({
      defaultUserId: 'me',
      databaseName: freshDatabaseName(),
      indexedDB: factoryWith({ open }),
    })
    await service.close()
    expect(open).not.toHaveBeenCalled()
    await expect(service.findById('a')).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('closing while the database opens leaves no connection behind', async () => {
    const { service, databaseName } = openService()
    const call = service.findById('a')
    await service.close()
    await expect(call).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await isFree(databaseName)).toBe(true)
  })

  test('a failed upgrade is told with its cause, and the next call tries again', async () => {
    const { service } = openService()
    const failure = new DOMException('no more stores', 'UnknownError')
    const restore = replace(IDBDatabase.prototype, 'createObjectStore', () => () => {
      throw failure
    })
    const error = await service.create({ id: 'a' }).catch((thrown: unknown) => thrown)
    restore()
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause: failure })
    expect((await service.create({ id: 'a' })).id).toBe('a')
    await service.close()
  })
})

describe('a browser without a working IndexedDB', () => {
  /** A request that fires `error`, or nothing at all. */
  const requestThat = (error: DOMException | null): IDBOpenDBRequest => {
    const events = new EventTarget()
    if (error !== null) setTimeout(() => events.dispatchEvent(new Event('error')))
    const members: Record<PropertyKey, unknown> = {
      error,
      addEventListener: events.addEventListener.bind(events),
      removeEventListener: events.removeEventListener.bind(events),
    }
    // idb looks for the class.
    return new Proxy(Object.create(IDBOpenDBRequest.prototype) as IDBOpenDBRequest, {
      get: (_, property) => members[property],
    })
  }

  const ways: Record<string, (name: string, version?: number) => IDBOpenDBRequest> = {
    'open throws': () => {
      throw new DOMException('denied', 'SecurityError')
    },
    'open fires an error': () =>
      requestThat(new DOMException('A mutation operation was attempted', 'InvalidStateError')),
    'open never settles': () => requestThat(null),
  }

  test.for(Object.entries(ways))('%s', async ([, open]) => {
    let isBroken = true
    const { service } = openService({
      openTimeout: 2_000, // also the time that the true opening has
      indexedDB: factoryWith({
        open: (name, version) => (isBroken ? open : indexedDB.open.bind(indexedDB))(name, version),
      }),
    })
    for (const call of [() => service.findById('a'), () => service.create({ id: 'a' })]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    }
    isBroken = false
    expect((await service.create({ id: 'a' })).id).toBe('a')
    await service.close()
  })

  test('there is no indexedDB', async () => {
    const service = createIndexedDBSessionService({ databaseName: freshDatabaseName() })
    vi.stubGlobal('indexedDB', undefined)
    await expect(service.findById('a')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    vi.unstubAllGlobals()
    expect(await service.findById('a')).toBe(null)
    await service.close()
  })

  test('the browser refuses to hand it out', async () => {
    const denied = new DOMException('the user denied access', 'SecurityError')
    const original = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')
    Object.defineProperty(globalThis, 'indexedDB', {
      configurable: true,
      get() {
        throw denied
      },
    })
    try {
      const service = createIndexedDBSessionService({ databaseName: freshDatabaseName() })
      const error = await service.findById('a').catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause: denied })
    } finally {
      Object.defineProperty(globalThis, 'indexedDB', original as PropertyDescriptor)
    }
  })
})

describe('a connection that the browser closed', () => {
  test.for([
    ['without telling', (connection: IDBDatabase) => connection.close()],
    [
      'with a close event',
      (connection: IDBDatabase) => {
        connection.close()
        connection.dispatchEvent(new Event('close'))
      },
    ],
  ] as const)('%s: the next call opens another, and writes once', async ([, lose]) => {
    const { service, connections } = openService()
    await service.create({ id: 'a' })
    await service.appendMessage('a', hello, { id: 'e1' })

    lose(connections[0] as IDBDatabase)
    await service.appendMessage('a', hello, { id: 'e2' })
    lose(connections[1] as IDBDatabase)
    const events = await service.getEvents('a')

    expect(events.map(({ id, seq }) => [id, seq])).toEqual([
      ['e1', 1],
      ['e2', 2],
    ])
    expect(connections.length).toBe(3)
    await service.close()
  })

  test('a close event alone is enough', async () => {
    const { service, connections } = openService()
    await service.create({ id: 'a' })
    connections[0]?.dispatchEvent(new Event('close'))
    expect((await service.findById('a'))?.id).toBe('a')
    expect(connections.length).toBe(2)
    connections[0]?.close()
    await service.close()
  })

  test('in the middle of a write: tried once more, written once', async () => {
    const { service, connections } = openService()
    await service.create({ id: 'a' })
    const restore = replace(
      IDBTransaction.prototype,
      'commit',
      () =>
        function (this: IDBTransaction) {
          restore()
          this.db.close()
          this.abort()
        },
    )
    await service.appendMessage('a', hello, { id: 'e1' })
    expect(connections.length).toBe(2)
    expect((await service.getEvents('a')).map(({ id }) => id)).toEqual(['e1'])
    await service.close()
  })

  test('again and again: tried twice, then told', async () => {
    const { service, connections } = openService()
    await service.create({ id: 'a' })
    const restore = replace(
      IDBDatabase.prototype,
      'transaction',
      (original) =>
        function (this: IDBDatabase, ...args: unknown[]) {
          if (args[0] !== 'properties') this.close()
          return original.apply(this, args)
        },
    )
    await expect(service.appendMessage('a', hello)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      cause: { name: 'InvalidStateError' },
    })
    expect(connections.length).toBe(2)
    restore()
    await service.appendMessage('a', hello, { id: 'e1' })
    expect((await service.getEvents('a')).map(({ id }) => id)).toEqual(['e1'])
    await service.close()
  })
})

describe('an upgrade by a newer version of the page', () => {
  test('the old one gives way, and says what to do', async () => {
    const { service, databaseName } = openService()
    await service.create({ id: 'a' })
    const blocked = vi.fn()
    const newer = await openDB(databaseName, 1_000, { blocked })
    expect(blocked).not.toHaveBeenCalled()
    newer.close()

    for (let call = 0; call < 2; call++) {
      const error = await service.findById('a').catch((thrown: unknown) => thrown)
      expect(isSessionError(error)).toBe(true)
      expect(error).toMatchObject({ code: 'STORAGE_OUTDATED', cause: { name: 'VersionError' } })
      expect((error as Error).message).toContain('reload')
    }
    await service.close()
  })

  test('one opening is tried a call, not more', async () => {
    const databaseName = freshDatabaseName()
    ;(await openDB(databaseName, 1_000)).close()
    const open = vi.fn((name: string, version?: number) => indexedDB.open(name, version))
    const { service } = openService({ databaseName, indexedDB: factoryWith({ open }) })
    await expect(service.findById('a')).rejects.toMatchObject({ code: 'STORAGE_OUTDATED' })
    expect(open).toHaveBeenCalledTimes(1)
    await service.close()
  })

  /** Our own store one version later, whose new step changes nothing. */
  const nextVersion = (onOpen?: (connection: IDBDatabase) => void) =>
    factoryWith({
      open(name, version = 0) {
        const request = indexedDB.open(name, version + 1)
        request.addEventListener('success', () => onOpen?.(request.result))
        return request
      },
    })

  test('two of our own: the older closes itself, the newer opens with all data', async () => {
    const { service: older, databaseName } = openService()
    await older.create({ id: 'a' })
    await older.appendMessage('a', hello)
    const { service: newer } = openService({ databaseName, indexedDB: nextVersion() })
    expect((await newer.getEvents('a')).length).toBe(1)
    await expect(older.getEvents('a')).rejects.toMatchObject({ code: 'STORAGE_OUTDATED' })
    await older.close()
    await newer.close()
  })

  test('held up by a tab that does not give way: told in bounded time, and it can be tried again', async () => {
    const { service: older, databaseName } = openService()
    await older.create({ id: 'a' })
    await older.close()
    const stubborn = await openDB(databaseName)

    const onBlocked = vi.fn()
    const late: IDBDatabase[] = []
    const { service: newer } = openService({
      databaseName,
      openTimeout: 2_000,
      onBlocked,
      indexedDB: nextVersion((connection) => late.push(connection)),
    })
    for (let call = 0; call < 2; call++) {
      await expect(newer.findById('a')).rejects.toMatchObject({ code: 'STORAGE_BLOCKED' })
    }
    expect(onBlocked).toHaveBeenCalled()

    stubborn.close()
    expect((await newer.findById('a'))?.id).toBe('a')
    // The openings that were given up have succeeded meanwhile, and nobody uses what they gave.
    expect(late.length).toBe(3)
    for (const connection of late.slice(0, 2)) {
      expect(() => connection.transaction('properties')).toThrow('closing')
    }
    await newer.close()
    expect(await isFree(databaseName)).toBe(true)
  })
})

describe('a database that was deleted or evicted', () => {
  test('under a live service: an empty one takes its place, and that is told', async () => {
    const onReset = vi.fn()
    const { service, databaseName } = openService({ onReset })
    await service.create({ id: 'a' })
    await service.appendMessage('a', hello)
    expect(await isFree(databaseName)).toBe(true)

    await expect(service.getEvents('a')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(onReset).toHaveBeenCalledTimes(1)
    expect((await service.listSessions()).sessions).toEqual([])
    await service.create({ id: 'a' })
    expect((await service.appendMessage('a', hello)).seq).toBe(1)
    expect(onReset).toHaveBeenCalledTimes(1)
    await service.close()
  })

  test('also when another tab was faster to make a new one', async () => {
    const onReset = vi.fn()
    const { service, databaseName } = openService({ onReset })
    await service.create({ id: 'a' })
    await deleteDB(databaseName)
    const { service: faster } = openService({ databaseName })
    await faster.create({ id: 'b' })
    await faster.appendMessage('b', hello)

    // The new session has the number of the old one, which the service remembers.
    await expect(service.appendMessage('a', hello)).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    expect(onReset).toHaveBeenCalledTimes(1)
    expect((await service.getEvents('b')).length).toBe(1)
    await service.close()
    await faster.close()
  })

  test('a first opening and a reopening are no reset', async () => {
    const onReset = vi.fn()
    const { service, connections } = openService({ onReset })
    await service.create({ id: 'a' })
    connections[0]?.close()
    await service.findById('a')
    expect(connections.length).toBe(2)
    expect(onReset).not.toHaveBeenCalled()
    await service.close()
  })
})

describe('closing', () => {
  test('lets go of the database', async () => {
    const { service, databaseName } = openService()
    await service.create({ id: 'a' })
    await service.close()
    await service.close()
    await expect(service.findById('a')).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await isFree(databaseName)).toBe(true)
  })
})

describe('options', () => {
  test.for([
    ['databaseName', { databaseName: ' ' }],
    ['openTimeout', { openTimeout: 0 }],
    ['openTimeout', { openTimeout: Number.NaN }],
    ['durability', { durability: 'fast' as 'strict' }],
  ] as const)('a wrong %s is refused at once', ([field, options]) => {
    expect(() => createIndexedDBRepository(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { field } }),
    )
  })

  test('null and undefined mean the default', async () => {
    const databaseName = freshDatabaseName()
    const repository = createIndexedDBRepository({
      databaseName,
      indexedDB: null,
      openTimeout: null,
      durability: undefined,
      onReset: null,
      onBlocked: undefined,
    })
    expect(await repository.findSession('a', { now: 0 })).toBe(null)
    await repository.close()
  })
})
