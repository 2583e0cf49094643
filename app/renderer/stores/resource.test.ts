import { expect, it } from 'vitest'
import { AppError } from '../../shared/errors.ts'
import { createResource } from './resource.ts'

it('answers any number of calls during a read with one more read', async () => {
  let reads = 0
  const store = createResource({ read: async () => ++reads, onStale: () => undefined })
  const { refresh } = store.getState()
  await Promise.all([refresh(), refresh(), refresh(), refresh()])
  expect(reads).toBe(2)
  expect(store.getState().data).toEqual({ status: 'ready', value: 2 })
})

it('fails when there is nothing to show, and keeps the old value when there is', async () => {
  let failure: AppError | null = new AppError('unavailable', 'not yet')
  const stale: AppError[] = []
  const store = createResource({
    read: async () => {
      if (failure !== null) throw failure
      return 'value'
    },
    onStale: (error) => stale.push(error),
  })
  await store.getState().refresh()
  expect(store.getState().data).toEqual({ status: 'failed', error: failure })
  failure = null
  await store.getState().refresh()
  failure = new AppError('timeout', 'too slow')
  await store.getState().refresh()
  expect(store.getState().data).toEqual({ status: 'ready', value: 'value' })
  expect(stale).toEqual([failure])
})
