import type { Lane } from './types.ts'

export interface LoadCount {
  /** Returns the function that takes the request out again. */
  enter(lane: Lane): () => void
  counts(): Readonly<Record<Lane, number>>
  /** Returns the function that ends listening. */
  listen(listener: () => void): () => void
}

export function createLoadCount(): LoadCount {
  const counts: Record<Lane, number> = { serve: 0, judge: 0, practise: 0, evaluate: 0 }
  const listeners = new Set<() => void>()

  function change(lane: Lane, by: number): void {
    counts[lane] += by
    for (const listener of listeners) listener()
  }
  return {
    enter(lane) {
      change(lane, 1)
      return () => change(lane, -1)
    },
    counts: () => ({ ...counts }),
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
