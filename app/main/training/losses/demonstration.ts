// Plain likelihood of a reply that was good as it stands: −mean_t ℓ_θ at temperature 1, end token included.
// No ratio and no clip: a clip at 1.28 would stop learning in the second epoch.

export interface DemonstrationResult {
  readonly loss: number
  /** d loss / d ℓ_θ, [R]. */
  readonly gradient: Float32Array
  readonly stats: { readonly perplexity: number }
}

/** `logProbs`: ℓ_θ of the given tokens, [R]. */
export function demonstrationLoss(logProbs: ArrayLike<number>): DemonstrationResult {
  const length = logProbs.length
  const loss = -Array.from(logProbs).reduce((sum, value) => sum + value, 0) / length
  const gradient = new Float32Array(length).fill(-1 / length) // [R]
  return { loss, gradient, stats: { perplexity: Math.exp(loss) } }
}
