// The clipped surrogate of PPO for one log-probability: max(−A·ρ, −A·clip(ρ, 1 − low, 1 + high)), ρ = exp(ℓ − ℓ_old).
// Shared by the policy gradient and both forms of distillation; it knows nothing of rewards or hints.

export interface ClipRange {
  /** ρ is held above 1 − low. */
  readonly low: number
  /** ρ is held below 1 + high. */
  readonly high: number
}

export interface SurrogateValue {
  readonly loss: number
  /** d loss / d ℓ. */
  readonly slope: number
  /** True when the clip took the gradient away. */
  readonly clipped: boolean
}

/** Bound of ℓ − ℓ_old: e^20 is far outside any clip and far inside a double. */
const logRatioBound = 20

/** Loss and slope for one advantage and one log-ratio ℓ − ℓ_old (nats). */
export function clippedSurrogate(
  advantage: number,
  logRatio: number,
  clip: ClipRange,
): SurrogateValue {
  const bounded = clamp(logRatio, -logRatioBound, logRatioBound)
  const ratio = Math.exp(bounded)
  const free = -advantage * ratio
  const held = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high)
  if (held > free) return { loss: held, slope: 0, clipped: true }
  // Outside ±20 the ratio is constant, so its slope is gone as well.
  return { loss: free, slope: bounded === logRatio ? free : 0, clipped: false }
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}

/** The number at `index`; a short array is a bug of the caller and says so. */
export function at(values: ArrayLike<number>, index: number): number {
  const value = values[index]
  if (value === undefined) throw new RangeError(`index ${index} of ${values.length} numbers`)
  return value
}
