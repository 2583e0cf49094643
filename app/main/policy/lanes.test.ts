import { describe, expect, it } from 'vitest'
import { createTurnQueue } from './lanes.ts'
import type { Lane } from './types.ts'

function open(): { readonly gate: Promise<void>; readonly pass: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { gate: promise, pass: resolve }
}

describe('createTurnQueue', () => {
  it('lets the most urgent lane go first and keeps the order within a lane', async () => {
    const queue = createTurnQueue()
    const { gate, pass } = open()
    const order: string[] = []
    const first = queue.run('evaluate', () => gate)
    const lanes: Lane[] = ['evaluate', 'practise', 'judge', 'serve', 'judge', 'serve']
    const rest = lanes.map((lane, i) =>
      queue.run(lane, async () => {
        order.push(`${lane}${i}`)
        await Promise.resolve()
      }),
    )
    pass()
    await Promise.all([first, ...rest])
    expect(order).toEqual(['serve3', 'serve5', 'judge2', 'judge4', 'practise1', 'evaluate0'])
  })

  it('never runs two at once', async () => {
    const queue = createTurnQueue()
    let inside = 0
    let most = 0
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    }
    await Promise.all(Array.from({ length: 20 }, () => queue.run('serve', work)))
    expect(most).toBe(1)
  })

  it('keeps the turn for urgent work that asks again as soon as its last step ended', async () => {
    const queue = createTurnQueue()
    const order: string[] = []
    const work = async (name: string, lane: Lane, steps: number): Promise<void> => {
      for (let step = 0; step < steps; step++)
        await queue.run(lane, async () => {
          order.push(name)
          await new Promise((resolve) => setImmediate(resolve))
        })
    }
    await Promise.all([
      work('chat', 'serve', 4),
      work('slow', 'evaluate', 2),
      work('b', 'serve', 1),
    ])
    expect(order).toEqual(['chat', 'b', 'chat', 'chat', 'chat', 'slow', 'slow'])
  })

  it('lets a stopped waiter leave at once and goes on after a failure', async () => {
    const queue = createTurnQueue()
    const { gate, pass } = open()
    const stop = new AbortController()
    const first = queue.run('serve', async () => {
      await gate
      throw new Error('planted')
    })
    const waiting = queue.run('serve', () => Promise.resolve(1), stop.signal)
    const after = queue.run('serve', () => Promise.resolve(2))
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
    pass()
    await expect(first).rejects.toThrow('planted')
    await expect(after).resolves.toBe(2)
  })

  it('refuses a request that was stopped before it asked', async () => {
    const queue = createTurnQueue()
    const work = (): Promise<void> => Promise.resolve()
    await expect(queue.run('serve', work, AbortSignal.abort())).rejects.toMatchObject({
      code: 'cancelled',
    })
    await expect(queue.run('serve', work)).resolves.toBeUndefined()
  })
})
