// Distillation as a divergence: KL(teacher ‖ student) between the two distributions over the support, each a softmax
// of logits at a temperature of its own. The distillation part of `ppo-gae`.
import { at } from './surrogate.ts'

export interface DivergenceInput {
  /** M: columns per position. */
  readonly width: number
  /** ℓ_θ at the sample's temperature, [R, M]. */
  readonly logProbs: ArrayLike<number>
  /** ℓ_T at the same temperature, [R, M]. */
  readonly teacherLogProbs: ArrayLike<number>
  /** 1 where the column belongs to the position's support, else 0, [R, M]. */
  readonly support: ArrayLike<number>
  /** The sample's temperature over that of the divergence: ℓ times this are logits of the latter, up to a constant. */
  readonly scale: number
}

export interface DivergenceResult {
  readonly loss: number
  /** d loss / d ℓ_θ, [R, M]; 0 outside the support. */
  readonly gradient: Float32Array
}

/** A position with an empty support contributes 0 and still counts in the mean. */
export function divergenceLoss(input: DivergenceInput): DivergenceResult {
  const { width, scale } = input
  const length = input.logProbs.length / width
  const gradient = new Float32Array(input.logProbs.length) // [R, M]
  let loss = 0
  for (let t = 0; t < length; t++) {
    const indices = Array.from({ length: width }, (_, column) => t * width + column)
    const members = indices.filter((index) => at(input.support, index) === 1)
    const student = logSoftmax(members.map((index) => scale * at(input.logProbs, index)))
    const teacher = logSoftmax(members.map((index) => scale * at(input.teacherLogProbs, index)))
    members.forEach((index, place) => {
      const [ours, theirs] = [at(student, place), at(teacher, place)]
      const probability = Math.exp(theirs)
      loss += (probability * (theirs - ours)) / length
      gradient[index] = (scale * (Math.exp(ours) - probability)) / length
    })
  }
  return { loss, gradient }
}

function logSoftmax(values: readonly number[]): number[] {
  const highest = Math.max(...values)
  const total = values.reduce((sum, value) => sum + Math.exp(value - highest), 0)
  return values.map((value) => value - highest - Math.log(total))
}
