// How far the teacher's log-probabilities lie from the old student's, counted per bin before any clip: it shows how
// much of the pull the clip at C takes away.
import type { Differences } from '../../shared/domain/training.ts'
import { differenceBins } from '../../shared/domain/difference-bins.ts'
import { at } from './losses/surrogate.ts'
import type { Support } from './overlap.ts'

/** ℓ_T − ℓ_old of every token that the support holds; `oldLogProbs` is [R, M] as the support. */
export function differencesOf(support: Support, oldLogProbs: ArrayLike<number>): number[] {
  return [...support.teacherLogProbs.entries()].flatMap(([index, teacher]) =>
    at(support.members, index) === 1 ? [teacher - at(oldLogProbs, index)] : [],
  )
}

/** `clip`: C, kept beside the counts so that a chart can mark it. What is not a number is in no bin. */
export function countDifferences(differences: readonly number[], clip: number): Differences {
  const { low, width, count } = differenceBins
  const counts = new Array<number>(count).fill(0)
  for (const difference of differences) {
    if (Number.isNaN(difference)) continue
    const bin = Math.floor((difference - low) / width) + 1
    const index = Math.min(Math.max(bin, 0), count - 1)
    counts[index] = at(counts, index) + 1
  }
  return { clip, counts }
}
