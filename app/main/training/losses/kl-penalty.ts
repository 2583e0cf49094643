// Distance to the base on the sampled tokens alone: Schulman's third estimator k3 = e^d − d − 1 with
// d = ℓ_base − ℓ_θ, which is never negative and in expectation over the policy's own samples is KL(θ ‖ base).
import { at, clamp } from './surrogate.ts'

/** Bound of d, nats: one token that the base finds impossible must not decide the step. */
const differenceBound = 10

export interface KlPenaltyResult {
  /** mean_t k3. */
  readonly loss: number
  /** d loss / d ℓ_θ, [R]. */
  readonly gradient: Float32Array
}

/** `logProbs`: ℓ_θ of the sampled tokens; `baseLogProbs`: ℓ_base of the same, both [R]. */
export function klPenalty(
  logProbs: ArrayLike<number>,
  baseLogProbs: ArrayLike<number>,
): KlPenaltyResult {
  const length = logProbs.length
  const gradient = new Float32Array(length) // [R]
  let loss = 0
  for (let t = 0; t < length; t++) {
    const difference = at(baseLogProbs, t) - at(logProbs, t)
    const d = clamp(difference, -differenceBound, differenceBound)
    loss += (Math.exp(d) - d - 1) / length
    // Where the bound holds, d no longer moves with θ.
    gradient[t] = d === difference ? (1 - Math.exp(d)) / length : 0
  }
  return { loss, gradient }
}
