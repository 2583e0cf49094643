import { describe, expect, it } from 'vitest'
import { AppError } from '../../shared/errors.ts'
import { backOffMs, connect, type ConnectionState } from './client.ts'
import { isConnectionLoss } from './errors.ts'
import type { Transport } from './transport.ts'

interface Side {
  transport: Transport
  drop: () => void
}

function fakeTransport(answer: () => Promise<unknown>): Side {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    transport: { link: { call: answer }, closed: promise, close: resolve },
    drop: resolve,
  }
}

/** Lets everything that is already due happen. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

describe('connect', () => {
  it('opens, says that it was lost, and comes back', async () => {
    const sides = [fakeTransport(async () => []), fakeTransport(async () => [])]
    let next = 0
    const connection = connect({
      open: async () => (sides[next++] as Side).transport,
      wait: settle,
    })
    const seen: ConnectionState[] = []
    connection.subscribe((state) => seen.push(state))
    await settle()
    sides[0]?.drop()
    await settle()
    await settle()
    expect(seen).toEqual(['connecting', 'open', 'lost', 'open'])
    connection.close()
  })

  it('stays quiet about the first failed tries, then says so', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let waits = 0
    const connection = connect({
      open: () => Promise.reject(new Error('refused')),
      wait: async () => {
        waits += 1
        if (waits === 3) {
          resolve()
          await new Promise(() => undefined)
        }
      },
    })
    const seen: ConnectionState[] = []
    connection.subscribe((state) => seen.push(state))
    await promise
    expect(seen).toEqual(['connecting', 'lost'])
    connection.close()
  })

  it('refuses calls without a connection in a way that can be told from other failures', async () => {
    const connection = connect({ open: () => new Promise(() => undefined) })
    const error = await connection.host.chats.list().catch((thrown: unknown) => thrown)
    expect(error instanceof AppError && isConnectionLoss(error)).toBe(true)
    connection.close()
  })

  it('translates what the host throws', async () => {
    const side = fakeTransport(() => Promise.reject(new AppError('busy', 'a run is going on')))
    const connection = connect({ open: async () => side.transport, wait: settle })
    await settle()
    await expect(connection.host.learning.trainNow()).rejects.toMatchObject({
      code: 'busy',
      message: 'a run is going on',
    })
    connection.close()
  })
})

describe('backOffMs', () => {
  it('grows from a quarter of a second to eight seconds', () => {
    expect([0, 1, 2, 5, 50].map(backOffMs)).toEqual([250, 500, 1000, 8000, 8000])
  })
})
