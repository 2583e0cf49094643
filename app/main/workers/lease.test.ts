import { expect, it } from 'vitest'
import { leaseWords } from '../../shared/contract/trainer.ts'
import { leasedYieldPoint } from './lease.ts'

function lease() {
  const words = new Int32Array(new SharedArrayBuffer(4 * leaseWords.length))
  return { words, yieldPoint: leasedYieldPoint(words) }
}

it('grants the threads of the lease, at least one', async () => {
  const { words, yieldPoint } = lease()
  expect(await yieldPoint()).toEqual({ threads: 1 })
  Atomics.store(words, leaseWords.threads, 3)
  expect(await yieldPoint()).toEqual({ threads: 3 })
})

it('sleeps while stopped, with the event loop free, and goes on when told', async () => {
  const { words, yieldPoint } = lease()
  Atomics.store(words, leaseWords.stop, 1)
  let passed = false
  const waiting = yieldPoint().then(() => {
    passed = true
  })
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(passed).toBe(false)
  Atomics.store(words, leaseWords.stop, 0)
  Atomics.notify(words, leaseWords.stop)
  await waiting
  expect(passed).toBe(true)
})

it('ends a stopped trainer that is cancelled, even without being woken', async () => {
  const { words, yieldPoint } = lease()
  Atomics.store(words, leaseWords.stop, 1)
  const waiting = yieldPoint()
  Atomics.store(words, leaseWords.cancel, 1)
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
})
