// On-policy distillation over a small support of tokens per position (OpenClaw-RL v2): the teacher saw the hint and
// scores the same reply. A_v = w_v·d_v with w = softmax over the support of ℓ_old and d = ℓ_T − ℓ_old within ±C;
// the probabilities are those of the full vocabulary, only the weights are normalised over the support.
import { at, clamp, clippedSurrogate } from './surrogate.ts'
import type { ClipRange } from './surrogate.ts'

export interface DistillationInput {
  /** M: columns per position. */
  readonly width: number
  /** ℓ_θ, [R, M]. */
  readonly logProbs: ArrayLike<number>
  /** ℓ_old, [R, M]. */
  readonly oldLogProbs: ArrayLike<number>
  /** ℓ_T, [R, M]. */
  readonly teacherLogProbs: ArrayLike<number>
  /** 1 where the column belongs to the position's support, else 0, [R, M]. */
  readonly support: ArrayLike<number>
  /** C, nats. */
  readonly differenceClip: number
  readonly clip: ClipRange
}

export interface DistillationResult {
  readonly loss: number
  /** d loss / d ℓ_θ, [R, M]; 0 outside the support. */
  readonly gradient: Float32Array
  readonly stats: { readonly clippedShare: number; readonly emptyPositions: number }
}

/** A position with an empty support contributes 0 and still counts in the mean. */
export function distillationLoss(input: DistillationInput): DistillationResult {
  const { width } = input
  const length = input.logProbs.length / width
  const gradient = new Float32Array(input.logProbs.length) // [R, M]
  let loss = 0
  let clipped = 0
  let columns = 0
  let emptyPositions = 0
  for (let t = 0; t < length; t++) {
    const members = supportColumns(input, t)
    if (members.length === 0) emptyPositions++
    columns += members.length
    for (const { index, advantage } of members) {
      const logRatio = at(input.logProbs, index) - at(input.oldLogProbs, index)
      const value = clippedSurrogate(advantage, logRatio, input.clip)
      loss += value.loss / length
      gradient[index] = value.slope / length
      clipped += value.clipped ? 1 : 0
    }
  }
  const clippedShare = columns === 0 ? 0 : clipped / columns
  return { loss, gradient, stats: { clippedShare, emptyPositions } }
}

interface SupportColumn {
  /** Into the [R, M] arrays. */
  readonly index: number
  /** A_v. */
  readonly advantage: number
}

function supportColumns(input: DistillationInput, t: number): SupportColumn[] {
  const indices: number[] = []
  for (let column = 0; column < input.width; column++) {
    const index = t * input.width + column
    if (at(input.support, index) === 1) indices.push(index)
  }
  // The maximum is taken out before exp, so that a support of very unlikely tokens still has weights.
  const highest = Math.max(...indices.map((index) => at(input.oldLogProbs, index)))
  const shares = indices.map((index) => Math.exp(at(input.oldLogProbs, index) - highest))
  const total = shares.reduce((sum, share) => sum + share, 0)
  return indices.map((index, position) => {
    const difference = at(input.teacherLogProbs, index) - at(input.oldLogProbs, index)
    const bounded = clamp(difference, -input.differenceClip, input.differenceClip)
    return { index, advantage: (at(shares, position) / total) * bounded }
  })
}
