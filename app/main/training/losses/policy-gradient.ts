// Policy gradient over the sampled tokens, with the importance of the server's numbers against ours:
// mean_t c_t · max(−A ρ, −A clip(ρ)). Clip-higher as in the DAPO paper; no group baseline, no value head.
import { at, clamp, clippedSurrogate } from './surrogate.ts'
import type { ClipRange } from './surrogate.ts'

export interface PolicyGradientInput {
  /** ℓ_θ of the sampled tokens, [R]. */
  readonly logProbs: ArrayLike<number>
  /** ℓ_old: the trainer's own, before the first update of the run, [R]. */
  readonly oldLogProbs: ArrayLike<number>
  /** c_t, detached, [R]. */
  readonly importance: ArrayLike<number>
  /** A_t, [R]; 0 leaves a token out. */
  readonly advantages: ArrayLike<number>
  readonly clip: ClipRange
}

export interface PolicyGradientResult {
  readonly loss: number
  /** d loss / d ℓ_θ, [R]. */
  readonly gradient: Float32Array
  readonly stats: { readonly clippedShare: number; readonly meanRatio: number }
}

export function policyGradientLoss(input: PolicyGradientInput): PolicyGradientResult {
  const length = input.logProbs.length
  const gradient = new Float32Array(length) // [R]
  let loss = 0
  let clipped = 0
  let ratios = 0
  for (let t = 0; t < length; t++) {
    const logRatio = at(input.logProbs, t) - at(input.oldLogProbs, t)
    const value = clippedSurrogate(at(input.advantages, t), logRatio, input.clip)
    const weight = at(input.importance, t) / length
    loss += weight * value.loss
    gradient[t] = weight * value.slope
    clipped += value.clipped ? 1 : 0
    ratios += Math.exp(clamp(logRatio, -20, 20))
  }
  const stats = { clippedShare: clipped / length, meanRatio: ratios / length }
  return { loss, gradient, stats }
}

/** Pushing such a token further down moves nothing but the weights. */
const rarestPunished = Math.log(1e-3)

/**
 * A_t of a reward: +1 as it is; −1 times `negativeWeight`, and nothing for tokens that `leaveOut` leaves out (they still
 * count in the mean, so that no other token weighs more). [R]
 */
export function rewardAdvantages(options: {
  readonly reward: -1 | 1
  readonly negativeWeight: number
  readonly oldLogProbs: ArrayLike<number>
  /** Tokens that the reward is about; null = all. [R] */
  readonly mask?: readonly boolean[] | null
}): Float32Array {
  const advantage = options.reward === 1 ? 1 : -options.negativeWeight
  return leaveOut(new Float32Array(options.oldLogProbs.length).fill(advantage), options)
}

/** Nothing where the mask is false, and no blame for tokens that the old student gave less than 1e-3. [R] */
export function leaveOut(
  advantages: Float32Array,
  options: {
    readonly oldLogProbs: ArrayLike<number>
    readonly mask?: readonly boolean[] | null
  },
): Float32Array {
  return advantages.map((advantage, t) => {
    if (options.mask?.[t] === false) return 0
    return advantage < 0 && at(options.oldLogProbs, t) < rarestPunished ? 0 : advantage
  })
}

/** c_t = min(exp(ℓ_old − ℓ_sampler), 2); 1 where the server's numbers cannot be had. [R] */
export function importanceWeights(
  oldLogProbs: ArrayLike<number>,
  samplerLogProbs: ArrayLike<number> | null,
): Float32Array {
  return Float32Array.from(oldLogProbs, (old, t) =>
    samplerLogProbs === null ? 1 : Math.min(Math.exp(old - at(samplerLogProbs, t)), 2),
  )
}

/** A_t of token-level distillation: ℓ_T(a_t) − ℓ_old(a_t) within ±C, for `policyGradientLoss`. [R] */
export function teacherAdvantages(options: {
  readonly teacherLogProbs: ArrayLike<number>
  readonly oldLogProbs: ArrayLike<number>
  readonly differenceClip: number
}): Float32Array {
  const bound = options.differenceClip
  return Float32Array.from(options.oldLogProbs, (old, t) =>
    clamp(at(options.teacherLogProbs, t) - old, -bound, bound),
  )
}
