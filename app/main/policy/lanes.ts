// Turns between lanes: one holder at a time; the most urgent lane first, then first come, first served.
// node-llama-cpp has priorities only inside one context, and ggml's threads spin, so the whole policy
// decodes one step at a time behind one such queue.

import { AppError } from '../../shared/errors.ts'
import type { Lane } from './types.ts'

const urgency: Readonly<Record<Lane, number>> = { serve: 0, judge: 1, practise: 2, evaluate: 3 }

export interface TurnQueue {
  /** Runs `work` alone. A signal ends only the waiting; `work` itself watches its own signal. */
  run<T>(lane: Lane, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

interface Waiter {
  readonly lane: Lane
  readonly start: () => void
}

export function createTurnQueue(): TurnQueue {
  const waiting: Waiter[] = []
  let busy = false

  /** Waits until what the last holder wants next has been asked for, so that it keeps its rank between two steps. */
  function handOver(): void {
    busy = false
    if (waiting.length > 0) setImmediate(startNext)
  }

  function startNext(): void {
    if (busy) return
    const first = waiting.shift()
    if (first === undefined) return
    busy = true
    first.start()
  }

  function turn(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(cancelled())
    const first = waiting[0]
    if (!busy && (first === undefined || urgency[first.lane] > urgency[lane])) {
      busy = true
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        lane,
        start() {
          signal?.removeEventListener('abort', leave)
          resolve()
        },
      }
      function leave(): void {
        const place = waiting.indexOf(waiter)
        if (place >= 0) waiting.splice(place, 1)
        reject(cancelled())
      }
      signal?.addEventListener('abort', leave, { once: true })
      const place = waiting.findIndex((other) => urgency[other.lane] > urgency[lane])
      waiting.splice(place < 0 ? waiting.length : place, 0, waiter)
    })
  }

  return {
    async run(lane, work, signal) {
      await turn(lane, signal)
      try {
        return await work()
      } finally {
        handOver()
      }
    },
  }
}

export function cancelled(): AppError {
  return new AppError('cancelled', 'the request was stopped')
}
