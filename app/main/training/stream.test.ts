import { expect, it } from 'vitest'
import { cancellable, streamOf } from './stream.ts'

it('yields every event in order and ends with the work', async () => {
  const events: number[] = []
  const work = async (emit: (event: number) => void) => {
    emit(1)
    emit(2)
    await Promise.resolve()
    emit(3)
  }
  for await (const event of streamOf(undefined, work)) events.push(event)
  expect(events).toEqual([1, 2, 3])
})

it('delivers what came before a failure, then the failure', async () => {
  const events: number[] = []
  const run = async () => {
    const stream = streamOf<number>(undefined, async (emit) => {
      emit(1)
      await Promise.resolve()
      throw new Error('broken')
    })
    for await (const event of stream) events.push(event)
  }
  await expect(run()).rejects.toThrow('broken')
  expect(events).toEqual([1])
})

it('stops the work when the reader leaves, and waits for it', async () => {
  let settled = false
  const stream = streamOf<number>(undefined, async (emit, ended) => {
    emit(1)
    await new Promise((resolve) => ended.addEventListener('abort', resolve, { once: true }))
    settled = true
  })
  for await (const event of stream) {
    expect(event).toBe(1)
    break
  }
  expect(settled).toBe(true)
})

it('gives up while the lease is withheld', async () => {
  const controller = new AbortController()
  const yieldPoint = cancellable(() => new Promise(() => undefined), [controller.signal])
  const waiting = yieldPoint()
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  await expect(yieldPoint()).rejects.toMatchObject({ code: 'cancelled' })
})
