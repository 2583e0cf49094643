// Generalised advantage estimation (Schulman et al. 2016) for one reply: the reward stands at its last token, every
// token before it is worth what the value head expects. Pure.
import { at } from './surrogate.ts'

export interface AdvantageEstimate {
  /** A_t = δ_t + γλ·A_{t+1}, δ_t = r_t + γ·V_{t+1} − V_t, [R]. */
  readonly advantages: Float32Array
  /** What V_t should have been: A_t + V_t, [R]. */
  readonly returns: Float32Array
}

/**
 * `values`: V_t before each token of the reply, [R]; after the last one there is nothing more to expect. Advantages are
 * not normalised: in a batch of one reward that would take the sign away.
 */
export function estimateAdvantages(options: {
  readonly reward: number
  readonly values: ArrayLike<number>
  /** γ. */
  readonly discount: number
  /** λ. */
  readonly trace: number
}): AdvantageEstimate {
  const { reward, values, discount, trace } = options
  const length = values.length
  const advantages = new Float32Array(length) // [R]
  let later = 0
  for (let t = length - 1; t >= 0; t--) {
    const isLast = t === length - 1
    const next = isLast ? reward : discount * at(values, t + 1)
    later = next - at(values, t) + discount * trace * later
    advantages[t] = later
  }
  return { advantages, returns: advantages.map((advantage, t) => advantage + at(values, t)) }
}
