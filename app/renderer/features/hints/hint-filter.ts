import type { Hint, HintState } from '../../../shared/domain/hint.ts'

export type HintFilter = HintState | 'all'

export const hintStates: readonly HintState[] = [
  'proposed',
  'approved',
  'edited',
  'vetoed',
  'expired',
]

/** Newest first. */
export function filterHints(hints: readonly Hint[], filter: HintFilter): Hint[] {
  return hints
    .filter((hint) => filter === 'all' || hint.state === filter)
    .toSorted((a, b) => b.createdAt - a.createdAt)
}
