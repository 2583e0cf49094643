import { createStore } from 'zustand/vanilla'
import type { AppError } from '../../shared/errors.ts'
import { isConnectionLoss, toClientError } from '../rpc/errors.ts'

export interface Notice {
  id: number
  body: { kind: 'error'; error: AppError } | { kind: 'deleted'; title: string; undo: () => void }
}

export interface NoticesState {
  list: Notice[]
  add: (body: Notice['body']) => void
  dismiss: (id: number) => void
}

/** More than this many at once is noise; the oldest goes. */
const mostShown = 4

export function createNotices() {
  let nextId = 1
  return createStore<NoticesState>()((set) => ({
    list: [],
    add(body) {
      if (body.kind === 'error' && isConnectionLoss(body.error)) return
      if (body.kind === 'error' && body.error.code === 'cancelled') return
      const notice = { id: nextId, body }
      nextId += 1
      set(({ list }) => ({ list: [...list, notice].slice(-mostShown) }))
    },
    dismiss: (id) => set(({ list }) => ({ list: list.filter((notice) => notice.id !== id) })),
  }))
}

/** Runs something the user asked for; a failure becomes a notice. True when it went well. */
export type Attempt = (action: () => Promise<unknown>) => Promise<boolean>

export function createAttempt(notices: ReturnType<typeof createNotices>): Attempt {
  return async (action) => {
    try {
      await action()
      return true
    } catch (thrown) {
      notices.getState().add({ kind: 'error', error: toClientError(thrown) })
      return false
    }
  }
}
