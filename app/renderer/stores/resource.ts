import { createStore, type StoreApi } from 'zustand/vanilla'
import type { AppError } from '../../shared/errors.ts'
import { toClientError } from '../rpc/errors.ts'

export type Loadable<T> =
  { status: 'loading' } | { status: 'failed'; error: AppError } | { status: 'ready'; value: T }

export interface Resource<T> {
  data: Loadable<T>
  /** Reads again. Calls that come while a read runs are answered by one more read. */
  refresh: () => Promise<void>
  set: (value: T) => void
}

export type ResourceStore<T> = StoreApi<Resource<T>>

export interface ResourceOptions<T> {
  read: () => Promise<T>
  /** A later read that failed while an older value stays on the screen. */
  onStale: (error: AppError) => void
}

export function createResource<T>(options: ResourceOptions<T>): ResourceStore<T> {
  let running: Promise<void> | null = null
  let again = false
  return createStore<Resource<T>>()((set, get) => {
    async function readOnce(): Promise<void> {
      try {
        set({ data: { status: 'ready', value: await options.read() } })
      } catch (thrown) {
        const error = toClientError(thrown)
        if (get().data.status === 'ready') options.onStale(error)
        else set({ data: { status: 'failed', error } })
      }
    }
    async function readUntilSettled(): Promise<void> {
      do {
        again = false
        await readOnce()
      } while (again)
      running = null
    }
    return {
      data: { status: 'loading' },
      refresh() {
        if (running === null) running = readUntilSettled()
        else again = true
        return running
      },
      set: (value) => set({ data: { status: 'ready', value } }),
    }
  })
}

/** The value if there is one; for parts of a page that can do without. */
export function valueOf<T>(data: Loadable<T>): T | null {
  return data.status === 'ready' ? data.value : null
}
